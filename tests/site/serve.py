"""Serve the built site on this machine, under a path and compressed, as a static host does."""

from __future__ import annotations

import gzip
import mimetypes
import socket
import sys
import time
from contextlib import contextmanager, suppress
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from types import MappingProxyType
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

# The site's address ends in a folder on GitHub Pages, so links that start at the root are caught.
FOLDER = "/guide/"
_COMPRESSED = ("text/", "application/javascript", "application/json", "application/xml", "image/svg+xml")


@contextmanager
def reserved() -> Iterator[int]:
    """Hold a port inside the `with` block and yield it: nobody else is given it, and `serving` still gets it.

    On Linux two sockets may be bound to one address where both allow it and none listens yet (SO_REUSEADDR in
    `man 7 socket`). On other systems they may not, and the port is only one that was free.
    """
    with socket.socket() as holder:
        holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        holder.bind(("127.0.0.1", 0))
        port = int(holder.getsockname()[1])
        if sys.platform != "linux":
            holder.close()
        yield port


def address(port: int) -> str:
    """Return the site's address on a port: what SITE_URL must be when the site is built."""
    return f"http://127.0.0.1:{port}{FOLDER}"


def handler(root: Path, late: Mapping[str, float]) -> type[BaseHTTPRequestHandler]:
    """Return a handler that answers with the files under `root`, some of them so many seconds late."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            path = unquote(urlsplit(self.path).path)
            time.sleep(late.get(path.removeprefix(FOLDER), 0))
            file = root / path.removeprefix(FOLDER)
            if file.is_dir():
                file /= "index.html"
            found = path.startswith(FOLDER) and file.is_file() and file.resolve().is_relative_to(root.resolve())
            if not found:
                file = root / "404.html"
            kind = mimetypes.guess_type(file.name)[0] or "application/octet-stream"
            kind = "application/javascript" if kind == "text/javascript" else kind
            body = file.read_bytes() if file.is_file() else b"no such page"
            self.send_response(HTTPStatus.OK if found else HTTPStatus.NOT_FOUND)
            self.send_header("Content-Type", f"{kind}; charset=utf-8" if kind.startswith(_COMPRESSED) else kind)
            if kind.startswith(_COMPRESSED) and "gzip" in self.headers.get("Accept-Encoding", ""):
                body = gzip.compress(body, 6)
                self.send_header("Content-Encoding", "gzip")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            with suppress(ConnectionError):  # the reader has gone on
                self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Say nothing: the tests look at the browser's side."""

    return Handler


@contextmanager
def serving(root: Path, port: int = 0, late: Mapping[str, float] = MappingProxyType({})) -> Iterator[str]:
    """Serve `root` inside the `with` block.

    Args:
        root: the built site.
        port: where to listen, on this machine only; without one, where nobody does.
        late: how many seconds the answers to some paths, relative to the home page, wait.

    Yields:
        The address of the home page.
    """
    server = ThreadingHTTPServer(("127.0.0.1", port), handler(root, late))
    server.daemon_threads = True
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    try:
        yield address(server.server_port)
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
