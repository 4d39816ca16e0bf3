"""What a program reaches beyond its own folder: files of the project, files elsewhere, other machines.

Python's audit events tell of what Python itself does in this process (https://docs.python.org/3/library/audit_events.html).
Native code, such as TensorFlow's own files and gRPC, and other processes are not seen. Nor is what a descriptor stands
for: one in place of a path is left out, and a path below a `dir_fd` counts as one below the working folder.

Nothing but the standard library is loaded with it: this runs in the program's own process.
"""

from __future__ import annotations

import ipaddress
import os
import socket
import sys
from typing import Any

from hooks import interpreter

PROJECT = str(interpreter.ROOT)
# Which arguments of an event are the paths that change.
CHANGED = {
    "os.chmod": (0,),
    "os.chown": (0,),
    "os.link": (1,),
    "os.mkdir": (0,),
    "os.remove": (0,),
    "os.rename": (0, 1),
    "os.rmdir": (0,),
    "os.symlink": (1,),
    "os.truncate": (0,),
    "os.utime": (0,),
}
WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC
# Where the system keeps devices and processes, and what tools keep in a folder of sources.
SYSTEM = ("/dev/", "/proc/")
PASSING = {"__pycache__", "node_modules"}


def watch(path: str, named: list[str]) -> list[str]:
    """Return a list to which each reach is added from now on, as a cause and its fix.

    Args:
        path: the program; the working folder and the home folder are those that were made for its run.
        named: the files beside it that it may open.
    """
    beside, allowed, found = os.path.dirname(path) + os.sep, {path, *named}, []
    # The folder of all runs, where Keras and Matplotlib keep theirs too; by both its names where one is a link.
    runs = {os.path.dirname(os.path.dirname(folder)) + os.sep for folder in (os.getcwd(), os.environ["TMPDIR"])}
    own, home = [*runs, *SYSTEM], os.environ["HOME"] + os.sep

    def note(event: str, values: tuple[Any, ...]) -> None:
        if event == "socket.connect":
            if _is_far(*values):
                found.append(f"it connected to {values[1][0]!r}: let it run without a network")
            return
        if event in ("tempfile.mkdtemp", "tempfile.mkstemp"):  # told before it is made, wherever that is
            own.append(os.fsdecode(values[0]))
        changed = event in CHANGED or (event == "open" and bool(values[2] & WRITES))
        for at in CHANGED.get(event, (0,)) if changed or event == "open" else ():
            if isinstance(values[at], (str, bytes, os.PathLike)):
                look(event, values[at], changed=changed)

    def look(event: str, value: str | bytes | os.PathLike[Any], *, changed: bool) -> None:
        try:
            file = os.path.abspath(os.fsdecode(value))
        except OSError:  # the working folder is gone
            return
        if file.startswith(beside) or (not changed and _is_of_project(file)):
            inside = os.path.relpath(file, os.path.dirname(path))
            if file not in allowed and not PASSING & set(inside.split(os.sep)):
                cure = "write it into files of [tool.guide], or keep it in a temporary folder"
                where = "beside it" if file.startswith(beside) else "of the project"
                found.append(f"it opened {inside!r}, a file {where} that it does not name: {cure}")
        elif not changed or (event == "os.mkdir" and os.path.isdir(file)):
            return
        elif file.startswith(home):  # empty here; at a reader's home it may be something of theirs
            named = "~" + file[len(home) - 1 :]
            found.append(f"it wrote {named!r}, in the home folder: write into a temporary folder, made by tempfile")
        elif not file.startswith(tuple(own)):
            found.append(f"it wrote {file!r}, outside its folder: write into a temporary folder, made by tempfile")

    sys.addaudithook(note)
    return found


def _is_of_project(file: str) -> bool:
    """Tell whether a file is a source of the project; not what runs the program, nor what stands in hidden folders."""
    if not file.startswith(PROJECT + os.sep) or file.startswith(sys.prefix + os.sep):
        return False
    first = file[len(PROJECT) + 1 :].split(os.sep, maxsplit=1)[0]
    return first != "hooks" and not first.startswith(".")


def _is_far(connection: socket.socket, address: Any) -> bool:
    """Tell whether a connection leaves this machine; a datagram is none, as it asks only for the machine's address."""
    if connection.family not in (socket.AF_INET, socket.AF_INET6) or connection.type != socket.SOCK_STREAM:
        return False
    try:
        at = ipaddress.ip_address(str(address[0]))
    except ValueError:
        return address[0] not in ("", "localhost", socket.gethostname())
    return not (at.is_loopback or at.is_unspecified or _is_own(connection.family, str(at)))


def _is_own(family: int, address: str) -> bool:
    """Tell whether an address is this machine's: a socket can be bound to no other."""
    with socket.socket(family, socket.SOCK_DGRAM) as probe:
        try:
            probe.bind((address, 0))
        except OSError:
            return False
    return True
