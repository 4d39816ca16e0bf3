"""Turn every warning of a build into an error, also with `-q`, which hides warnings before strict mode counts them.

A preview (`mkdocs serve`) shows them and goes on.
"""

from __future__ import annotations

import logging

from mkdocs.exceptions import PluginError
from mkdocs.utils import CountHandler

from hooks.errors import GuideError

LOGGER = logging.getLogger("mkdocs")


class _Collector(logging.Handler):
    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.messages: list[str] = []
        self.serving = False

    def emit(self, record: logging.LogRecord) -> None:
        self.messages.append(record.getMessage())


_collector = _Collector()


def start(*, serving: bool) -> None:
    """Listen to what MkDocs and its plugins log.

    Args:
        serving: whether this is a preview, where warnings stay warnings.
    """
    _collector.serving = serving
    if _collector not in LOGGER.handlers:
        LOGGER.addHandler(_collector)
    if LOGGER.level > logging.WARNING:
        # `-q` raises the level of the logger, so that no warning exists; the stream alone is to be quiet.
        for handler in LOGGER.handlers:
            if isinstance(handler, logging.StreamHandler):
                handler.setLevel(LOGGER.level)
        LOGGER.setLevel(logging.WARNING)


def serving() -> bool:
    """Tell whether this is a preview."""
    return _collector.serving


def logged() -> int:
    """Return how many warnings there have been since the build started."""
    return len(_collector.messages)


def forget() -> None:
    """Start a build: forget what the one before it logged. In a preview, strict mode counts nothing."""
    _collector.messages.clear()
    if _collector.serving:
        for handler in [one for one in LOGGER.handlers if isinstance(one, CountHandler)]:
            LOGGER.removeHandler(handler)


def report(errors: list[GuideError]) -> None:
    """Stop the build with all the errors in one message; in a preview log them.

    Raises:
        GuideError: when there is one.
        PluginError: when there are several.
    """
    if not errors:
        return
    if serving():
        for error in errors:
            LOGGER.warning(str(error))
        return
    if len(errors) == 1:
        raise errors[0]
    raise PluginError("\n".join(str(error) for error in errors))


def stop_on_warnings() -> None:
    """End a build: stop it if anything was logged as a warning or an error.

    Raises:
        PluginError: with all the messages.
    """
    if _collector.messages and not serving():
        raise PluginError("this build logged warnings:\n" + "\n".join(_collector.messages))
