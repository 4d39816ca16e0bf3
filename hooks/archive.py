"""Zip archives that are the same bytes each time."""

from __future__ import annotations

import io
import time
import zipfile
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping


def zipped(files: Mapping[str, bytes], when: int) -> bytes:
    """Return an archive of the files, in the order given, each with the same time.

    Args:
        files: contents by path.
        when: the time, in seconds since 1970; a zip archive keeps it as UTC without saying so.
    """
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as out:
        for name, content in files.items():
            info = zipfile.ZipInfo(name, time.gmtime(when)[:6])
            info.external_attr = 0o644 << 16
            info.create_system = 3  # Unix, wherever it is made
            out.writestr(info, content, zipfile.ZIP_DEFLATED)
    return buffer.getvalue()
