"""Reading options that several commands have."""

from __future__ import annotations

import typer


def read_numbers(text: str, option: str, least: int, rule: str) -> list[int]:
    """Read different numbers, in increasing order; `rule` says in words what the least one is.

    >>> read_numbers("1e5, 10000", "--sizes", 1000, "a table has at least 1,000 rows")
    [10000, 100000]
    """
    try:
        numbers = sorted({int(float(part)) for part in text.split(",")})
    except (ValueError, OverflowError) as error:
        raise typer.BadParameter(f"{text!r} is no list of numbers, as in 1e4,1e5", param_hint=option) from error
    if numbers[0] < least:
        raise typer.BadParameter(rule, param_hint=option)
    return numbers
