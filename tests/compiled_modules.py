"""Compiled modules that lie beside their sources, as in an editable install: are they what the sources say?"""

from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path


def compiled_file(source: Path) -> Path | None:
    """Return the compiled module beside a source, if there is one."""
    found = [source.with_name(source.stem + suffix) for suffix in EXTENSION_SUFFIXES]
    return next((path for path in found if path.exists()), None)


def stale_modules(directory: Path) -> list[str]:
    """Return the modules that were changed after they were compiled."""
    stale = []
    for source in directory.rglob("*.py"):
        compiled = compiled_file(source)
        header = source.with_suffix(".pxd")
        changed = max(path.stat().st_mtime for path in (source, header) if path.exists())
        if compiled is not None and compiled.stat().st_mtime < changed:
            stale.append(str(source.relative_to(directory)))
    return stale
