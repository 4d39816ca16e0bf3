"""The port of the site is held from when the site is built for it until the last test."""

from __future__ import annotations

import socket
import sys
import urllib.request
from typing import TYPE_CHECKING

import pytest

from hooks import busy
from tests.site.serve import reserved, serving

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux lets two sockets have one address in this way")
def test_a_port_that_is_held_is_given_to_nobody_else_and_serves(tmp_path: Path) -> None:
    (tmp_path / "index.html").write_text("here")
    with reserved() as port:
        with socket.socket() as other, pytest.raises(OSError, match="in use"):
            other.bind(("127.0.0.1", port))
        for _ in range(2):
            with serving(tmp_path, port) as home, urllib.request.urlopen(home, timeout=busy.stretched(10)) as answer:
                assert answer.read() == b"here"
