"""Parse a protobuf text from standard input as the message it claims to be: `python -m hooks.messages NAME PACKAGE...`.

It runs in a process of its own because the modules that define the messages import TensorFlow.
"""

from __future__ import annotations

import importlib
import importlib.util
import sys
from pathlib import Path


def message(name: str, packages: list[str]) -> type:
    """Return the class of a message by its full name.

    Args:
        name: for example `tensorflow.serving.ModelServerConfig`.
        packages: where to look for generated modules (`*_pb2.py`) that define it.

    Raises:
        LookupError: when none of them defines it.
    """
    from google.protobuf import message_factory, symbol_database  # type: ignore[import-untyped]  # noqa: PLC0415

    short = name.rpartition(".")[2]
    for package in packages:
        found = importlib.util.find_spec(package)
        for folder in found.submodule_search_locations or [] if found else []:
            for file in sorted(Path(folder).rglob("*_pb2.py")):
                if short not in file.read_text("utf8"):
                    continue
                importlib.import_module(".".join([package, *file.relative_to(folder).with_suffix("").parts]))
                try:
                    descriptor = symbol_database.Default().pool.FindMessageTypeByName(name)
                except KeyError:
                    continue
                return message_factory.GetMessageClass(descriptor)
    raise LookupError(f"no package of {', '.join(packages)} defines the message {name}")


def main() -> None:
    """Exit with the parser's message when the text is not such a message."""
    from google.protobuf import text_format  # noqa: PLC0415

    try:
        text_format.Parse(sys.stdin.read(), message(sys.argv[1], sys.argv[2:])())
    except (LookupError, text_format.ParseError) as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main()
