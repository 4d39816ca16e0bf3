"""A mistake in a template of the theme: its file and line, where MkDocs would print a traceback."""

from __future__ import annotations

import traceback
from pathlib import Path

from jinja2 import TemplateSyntaxError
from mkdocs.exceptions import MkDocsException

from hooks.errors import GuideError

CURE = "correct what stands there, as https://jinja.palletsprojects.com/en/stable/templates/ says"
FOLDER = Path(__file__).with_name("theme")


def mistake(error: Exception, folder: Path = FOLDER) -> GuideError | None:
    """Return what stopped a build as a message about a template; None where no template of ours did.

    Args:
        error: what was raised while a page was put into its template.
        folder: of our templates.
    """
    if isinstance(error, MkDocsException):
        return None
    # Jinja puts the lines of templates into the traceback, as frames of these files (`jinja2.debug`).
    frames = [(frame.filename, frame.lineno or 0) for frame in traceback.extract_tb(error.__traceback__)]
    if isinstance(error, TemplateSyntaxError) and error.filename:
        frames.append((error.filename, error.lineno))
    ours = [(Path(file), line) for file, line in frames if Path(file).is_relative_to(folder)]
    if not ours:
        return None
    said = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    return GuideError(*ours[-1], f"this template cannot be rendered ({said.splitlines()[0].rstrip('.')})", CURE)
