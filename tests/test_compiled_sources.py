"""What compiled modules must not do: without `wraparound`, an index from the end is passed on as it is."""

import ast
from pathlib import Path

SOURCES = Path(__file__).parents[1] / "src"


def indices_from_the_end(text):
    """Return the lines with a negative index; slices are not meant."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Subscript):
            parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
            if any(isinstance(part, ast.UnaryOp) and isinstance(part.op, ast.USub) for part in parts):
                yield node.lineno


def test_nothing_is_indexed_from_the_end():
    texts = {str(path): path.read_text(encoding="utf-8") for path in SOURCES.rglob("*.py")}
    compiled = {name: text for name, text in texts.items() if "\nimport cython\n" in text}
    assert len(compiled) > 50
    assert [(name, line) for name, text in compiled.items() for line in indices_from_the_end(text)] == []
