"""Turn what a program leaves behind (claims, measures, errors, figures, tables) into plain JSON data, or say why not.

Nothing but the standard library is imported: this runs in the program's own process. NumPy's scalars and arrays are
recognised by their `tolist`.
"""

from __future__ import annotations

import math
import re
import sys
from typing import Any

NAMES = ("claims", "measures", "errors", "figures", "tables")
DIGITS = {"measures": 9, "tables": 9, "figures": 6}


class NotPlainError(Exception):
    """A value that a record cannot hold; the message names it."""


def collect(namespace: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Return the five dictionaries of a program as plain data.

    Raises:
        NotPlainError: one of them is missing, of the wrong type, or holds something that is no plain data.
    """
    if "claims" not in namespace:
        raise NotPlainError("it ended without `claims`: assign them at its end")
    found = {name: namespace.get(name, {}) for name in NAMES}
    for name, table in found.items():
        if not isinstance(table, dict):
            raise NotPlainError(f"`{name}` is a {_type(table)}, it should be a dict")
        for key in table:
            if not isinstance(key, str) or not key:
                raise NotPlainError(f"`{name}` has the key {key!r}, it should be text")
    if not found["claims"]:
        raise NotPlainError("`claims` is empty: a program shows something")
    for key, value in found["claims"].items():
        if type(value) is not bool:
            cure = " (write bool(...) around it)" if _type(value).endswith(("bool", "bool_")) else ""
            raise NotPlainError(f"claims['{key}'] is a {_type(value)}, it should be a plain bool{cure}")
    for key, value in found["errors"].items():
        if type(value) is not str:
            raise NotPlainError(f"errors['{key}'] is a {_type(value)}, it should be text")
        if re.fullmatch(r"([\w.]+:)?\s*", value):
            raise NotPlainError(f"errors['{key}'] is {value!r}: its text was cut away")
    for name, digits in DIGITS.items():
        found[name] = _plain(found[name], name, digits)
    for key, value in found["measures"].items():
        if not is_number(value) and not isinstance(value, str):
            raise NotPlainError(f"measures['{key}'] is a {_type(value)}, it should be a number or text")
    return found


def is_number(value: Any) -> bool:
    """Tell whether plain data is a number: Python takes true and false for numbers too."""
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _plain(value: Any, where: str, digits: int) -> Any:
    if not isinstance(value, (bool, int, float, str)) and hasattr(value, "tolist") and hasattr(value, "dtype"):
        value = value.tolist()
    if value is None or isinstance(value, (bool, str)):
        return str(value) if isinstance(value, str) else value
    if isinstance(value, float):
        if not math.isfinite(value):
            raise NotPlainError(f"{where} is {value}, a record cannot hold that")
        return float(f"{value:.{digits}g}")
    if isinstance(value, int):
        if abs(value) > sys.float_info.max:
            raise NotPlainError(f"{where} is larger than any float, nothing can compare or draw it")
        return int(value)
    if isinstance(value, (list, tuple)):
        return [_plain(item, f"{where}[{at}]", digits) for at, item in enumerate(value)]
    if isinstance(value, dict):
        for key in value:
            if not isinstance(key, str):
                raise NotPlainError(f"{where} has the key {key!r}, it should be text")
        return {key: _plain(item, f"{where}['{key}']", digits) for key, item in value.items()}
    raise NotPlainError(f"{where} is a {_type(value)}, a record holds text, numbers, true and false")


def _type(value: Any) -> str:
    kind = type(value)
    return (
        kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__.split('.')[0]}.{kind.__qualname__}"
    )
