"""The files that a benchmark writes: results as JSON, and a picture of them."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path

from matplotlib.figure import Figure as Picture

from benchmarks.reports import Report


@dataclass(frozen=True)
class Files:
    """Where results and their picture go; None: nowhere."""

    json: Path | None
    plot: Path | None

    @classmethod
    def chosen(cls, benchmark: str, json: Path | None, plot: Path | None, by_default: bool) -> Files:
        """Return the files that were named, and those in the current folder for what was not, if they are wanted.

        >>> Files.chosen("scale", Path("mine.json"), None, by_default=True)
        Files(json=...Path('mine.json'), plot=...Path('bench-scale.png'))
        """
        if not by_default:
            return cls(json, plot)
        return cls(json or Path(f"bench-{benchmark}.json"), plot or Path(f"bench-{benchmark}.png"))

    def require_writable(self) -> None:
        """Raise if a file cannot be written, which is to be known before anything is measured; change none."""
        for path in self._named():
            is_new = not path.exists()
            with path.open("ab"):
                pass
            if is_new:
                path.unlink()
        if self.plot is not None:
            _draw_into(BytesIO(), Picture(), self.plot)

    def keep(self, report: Report) -> None:
        """Write the results so far, for the case of an interruption."""
        # What cannot be written now is no reason to measure no more; the end will tell.
        with suppress(OSError):
            self._write_results(report)

    def write(self, report: Report, picture: Callable[[], Picture]) -> str:
        """Write all files, and return a line that names them."""
        self._write_results(report)
        if self.plot is not None:
            drawn = BytesIO()
            _draw_into(drawn, picture(), self.plot)
            _write_bytes(self.plot, drawn.getvalue())
        return ", ".join(map(str, self._named()))

    def _write_results(self, report: Report) -> None:
        if self.json is not None:
            _write_bytes(self.json, report.as_text().encode())

    def _named(self) -> list[Path]:
        return [path for path in (self.json, self.plot) if path is not None]


def _draw_into(file: BytesIO, picture: Picture, path: Path) -> None:
    """Draw a picture in the format that a file's name asks for."""
    picture.savefig(file, format=path.suffix.removeprefix(".") or "png")


def _write_bytes(path: Path, content: bytes) -> None:
    """Write a file; if that fails, say which: a full disk does not."""
    try:
        path.write_bytes(content)
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(path)) from error
