"""Links to Python files of TensorFlow, Keras and tf_keras lead to files, and to lines, that the locked packages have.

Nothing is asked of the network: what a wheel holds, its repository holds too, at the same place or, for tf_keras, one
folder higher.
"""

from __future__ import annotations

import re
from importlib.metadata import files, version
from typing import NamedTuple

import pytest

from hooks.errors import ROOT

LINK = re.compile(
    r"https://github\.com/(?:keras-team|tensorflow)/(keras|tf-keras|tensorflow)/blob/([^/\s)]+)"
    r"/((?:keras|tf_keras|tensorflow/python)/[^\s)#\"]+\.py)(?:#L(\d+)(?:-L(\d+))?)?"
)


class Link(NamedTuple):
    """A link on a page: where it stands, the package, branch or tag, the file, and the last line that it names."""

    place: str
    package: str
    ref: str
    path: str
    last: int


def links() -> list[Link]:
    found = []
    for page in sorted((ROOT / "docs").rglob("*.md")):
        for number, line in enumerate(page.read_text("utf8").splitlines(), 1):
            for package, ref, path, first, last in LINK.findall(line):
                place = f"{page.relative_to(ROOT)}:{number}"
                found.append(Link(place, package, ref, path, int(last or first or 0)))
    return found


@pytest.mark.parametrize("package", ["keras", "tf-keras", "tensorflow"])
def test_they_lead_somewhere(package: str) -> None:
    held = {file.as_posix(): file for file in files(package) or ()}
    asked = [link for link in links() if link.package == package and not re.search(r"_tests?[/.]", link.path)]
    assert len(asked) > 3
    wrong = []
    for link in asked:
        file = held.get(link.path.replace("tf_keras/", "tf_keras/src/") if package == "tf-keras" else link.path)
        if file is None:
            wrong.append(f"{link.place}: {package} {version(package)} has no {link.path}")
        elif link.ref == f"v{version(package)}" and link.last > len(file.read_text("utf8").splitlines()):
            wrong.append(f"{link.place}: {link.path} has no line {link.last}")
        elif link.ref.startswith("v") and link.ref != f"v{version(package)}":
            wrong.append(f"{link.place}: {link.ref} of {package}, while {version(package)} is locked")
    assert wrong == [], "\n".join(wrong)
