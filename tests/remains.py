"""What the live objects of a process still hold: texts and bytes that should be gone.

Workers import this module to search themselves, so it must not know what it looks for: that is sent masked.
"""

import gc
import struct
from types import BuiltinFunctionType, CodeType, FrameType, FunctionType, GetSetDescriptorType, ModuleType

import numpy as np
import pyarrow as pa

_MASK = 0x5A
#: Integers from here on may be hashes.
_A_HASH = 1 << 48
_SKIPPED = (type, ModuleType, CodeType, BuiltinFunctionType)


def masked(needles):
    """Return what is looked for, by name, in a form in which nobody finds it."""
    return {name: [bytes(byte ^ _MASK for byte in form) for form in forms] for name, forms in needles.items()}


def remains_here(hidden):
    """Return what is found among all live objects of this process: name, and the types that lead to it."""
    return _Search(hidden).among(gc.get_objects())


def remains_in(roots, hidden):
    """Return what is found among what some objects lead to."""
    return _Search(hidden).among(list(roots))


class _Search:
    def __init__(self, hidden):
        self.needles = {
            name: [bytes(byte ^ _MASK for byte in form) for form in forms] for name, forms in hidden.items()
        }
        self.texts = {name: _text(forms[0]) for name, forms in self.needles.items()}
        self.found = {}

    def among(self, roots):
        """Look at all objects that some lead to, each once."""
        own = {id(item) for item in (self, vars(self), self.needles, self.texts, self.found, roots)}
        own.update(id(item) for item in (*self.needles.values(), *self.texts.values()))
        seen, kept, waiting = set(own), [], [(item, ()) for item in roots]
        own.update(map(id, (seen, kept, waiting)))
        seen.update(own)
        while waiting:
            item, way = waiting.pop()
            if id(item) in seen or self._is_ours(item):
                continue
            seen.add(id(item))
            kept.append(item)  # so that nothing else gets its address meanwhile
            self._look_at(item, way)
            way = (*way[-8:], type(item).__name__)
            waiting.extend((other, way) for other in _led_to(item) if id(other) not in seen)
        return self.found

    @staticmethod
    def _is_ours(item):
        return isinstance(item, FrameType) and item.f_code.co_filename == __file__

    def _look_at(self, item, way):
        if isinstance(item, str):
            held = [name for name, text in self.texts.items() if text and text in item]
        elif isinstance(item, float):
            held = self._in_bytes(struct.pack("<d", item))
        elif isinstance(item, int):
            held = self._in_bytes(struct.pack("<Q", item)) if _A_HASH <= item < 1 << 64 else []
        else:
            content = _content(item)
            held = self._in_bytes(content) if content else []
        for name in held:
            self.found.setdefault(name, " > ".join((*way, type(item).__name__)))

    def _in_bytes(self, content):
        return [name for name, forms in self.needles.items() if any(form in content for form in forms)]


def _text(form):
    """Return what bytes say if they are a text."""
    try:
        return form.decode()
    except UnicodeDecodeError:
        return None


def _content(item):
    """Return the bytes of something that is made of bytes."""
    if isinstance(item, bytes | bytearray):
        return item
    if isinstance(item, np.ndarray | np.generic):
        return b"" if item.dtype.hasobject else np.asarray(item).tobytes()
    if isinstance(item, pa.Buffer):
        return item.to_pybytes()
    if isinstance(item, memoryview):
        try:
            return item.tobytes()
        except (ValueError, NotImplementedError):  # released, or of objects
            return b""
    return b""


def _led_to(item):
    """Return what an object refers to, as far as anybody can see."""
    if isinstance(item, _SKIPPED):
        return []
    if isinstance(item, FunctionType):
        return [item.__closure__, item.__defaults__, item.__kwdefaults__, item.__dict__]
    if isinstance(item, np.ndarray):
        return [item.base, *(np.asarray(item).ravel().tolist() if item.dtype.kind == "O" else [])]
    if isinstance(item, pa.ChunkedArray):
        return item.chunks
    if isinstance(item, pa.Array):
        return [item.buffers(), *([item.dictionary] if isinstance(item, pa.DictionaryArray) else [])]
    if isinstance(item, pa.Table | pa.RecordBatch):
        return item.columns
    if gc.is_tracked(item) or isinstance(item, tuple | dict):
        return gc.get_referents(item)
    return _attributes(item) if type(item).__module__.startswith("unlearnspn") else []


def _attributes(item):
    """Return what a compiled object refers to that the collector of garbage does not look at."""
    descriptors = [
        one for kind in type(item).__mro__ for one in vars(kind).values() if isinstance(one, GetSetDescriptorType)
    ]
    return [*(one.__get__(item) for one in descriptors if one.__name__ != "__dict__"), item.__reduce__()]
