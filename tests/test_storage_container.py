"""The file format: canonical, readable by any tool for safetensors, and strict about everything else."""

import json
import pickle
from hashlib import blake2b

import numpy as np
import pytest
import safetensors
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from unlearnspn.storage import StorageError
from unlearnspn.storage.container import VERSION, Container, pack, unpack

TYPES = ["<f8", "<i8", "<u8", "<i4", "<u4", "<u2", "u1"]
SMALL = Container("model", {"text": "é\udc80", "n": [1, None]}, {"x": np.arange(6.0).reshape(2, 3), "y": np.arange(3)})


def packed(container):
    return b"".join(pack(container))


def resealed(header, data):
    """Return a file with a header of one's own and a seal that fits."""
    text = header if isinstance(header, bytes) else json.dumps(header, separators=(",", ":")).encode()
    head = len(text).to_bytes(8, "little") + text
    return head + data[: len(data) - 32] + blake2b(head, digest_size=32).digest()


def parts_of(file):
    end = 8 + int.from_bytes(file[:8], "little")
    return json.loads(file[8:end]), file[end:]


def edited(change):
    """Return a file whose header was changed, with a seal that fits."""
    header, data = parts_of(packed(SMALL))
    change(header)
    return resealed(header, data)


@given(
    st.dictionaries(
        st.text(st.characters(codec="ascii", categories=["L", "N"]), min_size=1, max_size=5),
        st.sampled_from(TYPES).flatmap(lambda t: hnp.arrays(t, hnp.array_shapes(min_dims=0, max_dims=3, min_side=0))),
        max_size=4,
    )
)
def test_arrays_come_back_as_they_were(arrays):
    arrays = {f"a{name}": array for name, array in arrays.items()}
    read = unpack(packed(Container("model", {}, arrays)), "model").arrays
    assert read.keys() == arrays.keys()
    for name, array in arrays.items():
        assert (read[name].dtype, read[name].shape) == (array.dtype, array.shape)
        assert read[name].tobytes() == array.tobytes()


def test_the_bytes_depend_on_the_content_alone():
    arrays = SMALL.arrays
    turned = {"y": arrays["y"].astype(">i8"), "x": np.asfortranarray(arrays["x"])}
    assert packed(Container("model", SMALL.document, turned)) == packed(SMALL)


def test_tools_for_safetensors_can_read_it():
    entries = dict(safetensors.deserialize(packed(SMALL)))
    assert entries.keys() == {"x", "y", "document", "seal"}
    assert entries["x"]["dtype"] == "F64"
    assert entries["x"]["shape"] == [2, 3]
    assert np.frombuffer(entries["x"]["data"]).tolist() == list(range(6))
    assert json.loads(bytes(entries["document"]["data"])) == SMALL.document


def test_arrays_are_aligned_to_their_items():
    mixed = {"a": np.zeros(3, np.uint8), "b": np.zeros(1), "c": np.zeros(5, np.int32), "d": np.zeros(1, np.uint16)}
    file = packed(Container("model", {}, mixed))
    header, data = parts_of(file)
    start = len(file) - len(data)
    for name, array in mixed.items():
        assert (start + header[name]["data_offsets"][0]) % array.itemsize == 0


def test_a_flipped_bit_is_noticed_wherever_it_is():
    file = packed(SMALL)
    header, data = parts_of(file)
    start = len(file) - len(data)
    for place in range(len(file)):
        damaged = [n for n, e in header.items() if n != "__metadata__" and place - start in range(*e["data_offsets"])]
        for bit in range(8):
            changed = bytearray(file)
            changed[place] ^= 1 << bit
            with pytest.raises(StorageError) as error:
                unpack(bytes(changed), "model")
            if damaged and damaged != ["seal"]:
                assert f"entry {damaged[0]!r} is damaged" in str(error.value)


def test_a_file_that_is_cut_off_or_goes_on_is_noticed():
    file = packed(SMALL)
    for length in range(len(file)):
        with pytest.raises(StorageError):
            unpack(file[:length], "model")
    for more in (b"\0", b"x" * 100, file):
        with pytest.raises(StorageError):
            unpack(file + more, "model")


@settings(max_examples=120)
@given(st.binary(max_size=300), st.booleans())
def test_random_bytes_are_refused(noise, with_start):
    start = packed(SMALL)[:40] if with_start else b""
    with pytest.raises(StorageError):
        unpack(start + noise, "model")


@pytest.mark.parametrize(
    ("file", "message"),
    [
        (b"", "the file is empty"),
        (pickle.dumps({"a": 1}), "no file of unlearnspn.*a pickle, which is never loaded"),
        (b"PK\x03\x04 a zip file", "no file of unlearnspn"),
        (b"id,value\n1,2\n", "no file of unlearnspn"),
    ],
)
def test_foreign_files_are_told_from_damaged_ones(file, message):
    with pytest.raises(StorageError, match=message):
        unpack(file, "model")


def test_a_newer_file_says_what_to_install():
    def change(header):
        header["__metadata__"].update(version=str(VERSION + 1), library="7.8.9")

    with pytest.raises(StorageError, match=rf"format version {VERSION + 1}.*install unlearnspn 7\.8\.9.*or newer"):
        unpack(edited(change), "model")


def test_a_file_of_another_kind_is_refused():
    with pytest.raises(StorageError, match="holds a 'model', not a 'circuit'"):
        unpack(packed(SMALL), "circuit")


def _x(**changes):
    return lambda header: header["x"].update(changes)


HOSTILE_HEADERS = {
    "unknown type": (_x(dtype="PYTHON"), "unknown type"),
    "type that is no text": (_x(dtype=["F64"]), "unknown type"),
    "negative shape": (_x(shape=[-2, -3]), "no shape"),
    "float shape": (_x(shape=[2.0, 3]), "no shape"),
    "boolean shape": (_x(shape=[True, 6]), "no shape"),
    "shape as text": (_x(shape="23"), "no shape"),
    "many dimensions": (_x(shape=[1] * 60 + [6]), "no shape"),
    "huge and empty": (_x(shape=[2**61, 2**61, 0]), "no shape"),
    "huge": (_x(shape=[2**40]), "does not fit"),
    "other shape": (_x(shape=[7]), "does not fit"),
    "offsets the wrong way": (_x(data_offsets=[48, 0]), "does not fit|does not follow"),
    "negative offsets": (_x(data_offsets=[-48, 0]), "no place"),
    "offsets too many": (_x(data_offsets=[0, 48, 48]), "no place"),
    "overlapping": (lambda header: header["y"].update(data_offsets=[0, 24]), "does not follow"),
    "unknown field": (_x(code="import os"), "not described"),
    "no field": (lambda header: header["x"].pop("shape"), "not described"),
    "entry that is none": (lambda header: header.update(x=3), "not described"),
    "left out": (lambda header: header.pop("x"), "does not follow"),
    "no seal": (lambda header: header.pop("seal"), "takes|take"),
    "no checksum": (lambda header: header["__metadata__"].pop("blake2b x"), "entry 'x' is damaged"),
    "metadata that are none": (lambda header: header["__metadata__"].update(kind=["model"]), "no strings"),
    "no version": (lambda header: header["__metadata__"].update(version="one"), "no format version"),
    "version 0": (lambda header: header["__metadata__"].update(version="0"), "never existed"),
    "version of many digits": (lambda header: header["__metadata__"].update(version="9" * 5000), "no format version"),
}


@pytest.mark.parametrize(("change", "message"), HOSTILE_HEADERS.values(), ids=HOSTILE_HEADERS)
def test_hostile_headers_are_refused_though_their_seal_fits(change, message):
    with pytest.raises(StorageError, match=message):
        unpack(edited(change), "model")


START = b'{"__metadata__":{"format":"unlearnspn","version":"1"'


@pytest.mark.parametrize(
    ("header", "message"),
    [
        (START + b"}", "no valid JSON"),
        (START + b'},"x":' + b"[" * 100_000 + b"]" * 100_000 + b"}", "no valid JSON"),
        (START + b'},"x":1,"x":2}', "a key occurs twice"),
        (START + b'},"x":NaN}', "NaN is not JSON"),
        (START + b'},"x":' + b"9" * 10_000 + b"}", "no valid JSON"),
        (START + b'},"\xc3\xa9":1}', "no valid JSON"),
        (START + b" " * (1 << 20), "claims to be"),
    ],
)
def test_hostile_json_is_refused(header, message):
    with pytest.raises(StorageError, match=message):
        unpack(resealed(header, bytes(100)), "model")


def test_a_header_that_claims_to_be_huge_is_refused_before_anything_is_read():
    for length in (2**63, 2**40, 2**20 + 1):
        with pytest.raises(StorageError, match="claims to be"):
            unpack(length.to_bytes(8, "little") + START + bytes(100), "model")


def test_a_document_is_needed():
    header, data = parts_of(packed(SMALL))
    first, last = header.pop("document")["data_offsets"]
    header["seal"]["data_offsets"] = [first, first + 32]
    with pytest.raises(StorageError, match="no document"):
        unpack(resealed(header, data[:first] + data[last:]), "model")
