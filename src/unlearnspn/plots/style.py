"""What all pictures look alike in: colours that everyone can tell apart, sizes of text, numbers in words."""

from __future__ import annotations

# Okabe and Ito's palette, made for all kinds of colour vision.
BLUE, GREEN, ORANGE, VERMILION, PURPLE = "#0072B2", "#009E73", "#E69F00", "#D55E00", "#CC79A7"
INK, GREY, FADED, PALE = "#222222", "#767676", "#B0B0B0", "#D4D4D4"
MODEL_COLOUR, DATA_COLOUR = BLUE, PALE

#: What mixtures and products are known by.
PLUS, TIMES = "+", "×"  # noqa: RUF001

#: In points.
TEXT_SIZE, SMALL_TEXT_SIZE = 8.0, 7.0


def tint(colour: str, strength: float = 0.22) -> tuple[float, float, float]:
    """Return a light shade of a colour, on which black text can be read."""
    parts = (int(colour[start : start + 2], 16) / 255 for start in (1, 3, 5))
    red, green, blue = (1 - strength * (1 - part) for part in parts)
    return red, green, blue


def count(number: int, noun: str, plural: str | None = None) -> str:
    """Write a number of things.

    >>> count(1, "node"), count(1200, "node"), count(2, "leaf", "leaves")
    ('1 node', '1,200 nodes', '2 leaves')
    """
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"


def percent(share: float) -> str:
    """Write a share, with digits where they tell something.

    >>> percent(0.237), percent(0.012), percent(0.0004), percent(0.0)
    ('24 %', '1.2 %', '<0.1 %', '0 %')
    """
    if 0 < share < 0.001:
        return "<0.1 %"
    return f"{100 * share:.1f} %" if 0 < share < 0.0995 else f"{100 * share:.0f} %"
