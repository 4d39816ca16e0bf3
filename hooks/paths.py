"""Write the paths of a drawing relative to the point before: small numbers, much alike, pack to a third less."""

from __future__ import annotations

import re

# What hooks/plot_svg.py writes: absolute commands, coordinates in tenths. Other drawings are left alone.
_DATA = re.compile(r' d="(M[MLHVCQz\d\s.-]*)"')
_TOKEN = re.compile(r"[MLHVCQz]|-?(?:\d+\.?\d*|\.\d+)")
_FINER = re.compile(r"\.\d\d")
# How many numbers a command takes.
_TAKES = {"M": 2, "L": 2, "H": 1, "V": 1, "C": 6, "Q": 4}
_COMMANDS = {*_TAKES, "z"}


def _number(tenths: int) -> str:
    sign, whole, tenth = "-" if tenths < 0 else "", abs(tenths) // 10, abs(tenths) % 10
    text = (str(whole) if whole or not tenth else "") + (f".{tenth}" if tenth else "")
    return sign + text


def _numbers(values: list[int]) -> str:
    text = ""
    for value in map(_number, values):
        text += value if not text or value.startswith("-") else f" {value}"
    return text


def relative(data: str) -> str:
    """Return the `d` of a path with relative commands, as it is where a number lacks, or has no command.

    Counting in tenths adds up no error: each point lies where it lay.

    Args:
        data: absolute commands `MLHVCQ` and `z`, each coordinate with at most one decimal.
    """
    tokens = _TOKEN.findall(data)
    at, x, y, start, out = 0, 0, 0, (0, 0), []
    command = ""
    while at < len(tokens):
        if tokens[at] in _COMMANDS:
            command = tokens[at]
            at += 1
        if command == "z":
            x, y = start
            out.append("z")
            command = ""  # numbers after it have none
            continue
        given = tokens[at : at + _TAKES.get(command, 0)]
        if len(given) < _TAKES.get(command, 1) or not _COMMANDS.isdisjoint(given):
            return data
        values = [round(float(token) * 10) for token in given]
        at += len(values)
        if command in "HV":
            moved = [values[0] - (x if command == "H" else y)]
            x, y = (values[0], y) if command == "H" else (x, values[0])
        else:
            moved = [value - (y if odd % 2 else x) for odd, value in enumerate(values)]
            x, y = values[-2:]
        out.append(command.lower() + _numbers(moved))
        if command == "M":
            start = (x, y)
            command = "L"  # what numbers after those of a move mean: https://www.w3.org/TR/SVG2/paths.html
    return "".join(out)


def shorter(html: str) -> str:
    """Return a page whose drawings have relative paths."""
    return _DATA.sub(lambda found: found[0] if _FINER.search(found[1]) else f' d="{relative(found[1])}"', html)
