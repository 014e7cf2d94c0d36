"""Text that fits: how wide it is drawn, and what is left of it where there is little room."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence

ELLIPSIS = "…"
#: No name takes more characters than this.
LONGEST_NAME = 22


def shorten(name: str, longest: int = LONGEST_NAME) -> str:
    """Shorten a name; its end stays, because it often tells names apart.

    >>> shorten("mean fractal dimension of the nucleus")
    'mean fractal…nucleus'
    >>> shorten("age")
    'age'
    """
    if len(name) <= longest:
        return name
    tail = (longest - 1) * 2 // 5
    return name[: longest - 1 - tail].rstrip() + ELLIPSIS + name[len(name) - tail :].lstrip()


def text_width(text: str, size: float) -> float:
    """Return how wide a text is drawn, in points."""
    from matplotlib.font_manager import FontProperties  # noqa: PLC0415
    from matplotlib.textpath import text_to_path  # noqa: PLC0415

    return float(text_to_path.get_text_width_height_descent(text, FontProperties(size=size), ismath=False)[0])


def list_names(names: Sequence[str], width: Callable[[str], float], room: float) -> str:
    """List as many names as there is room for; nothing if there is none for a single one.

    >>> list_names(["age", "education", "sex"], width=len, room=20)
    'age, education, sex'
    >>> list_names(["age", "education", "sex"], width=len, room=17)
    'age, education, …'
    >>> list_names(["education", "sex"], width=len, room=6)
    ''
    """
    short = [shorten(name) for name in names]
    if width(everything := ", ".join(short)) <= room:
        return everything
    lists = [", ".join([*short[:shown], ELLIPSIS]) for shown in range(1, len(short))]
    shown = bisect_right(lists, room, key=width)
    return lists[shown - 1] if shown else ""


def cut(text: str, width: Callable[[str], float], room: float) -> str:
    """Cut a text off where there is no more room.

    >>> cut("education", width=len, room=6)
    'educa…'
    """
    if width(text) <= room:
        return text
    length = bisect_right(range(1, len(text)), room, key=lambda length: width(text[:length] + ELLIPSIS))
    return text[:length] + ELLIPSIS
