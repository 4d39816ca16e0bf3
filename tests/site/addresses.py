"""The addresses that readers may have kept: every page, and every heading, question, error and program on it.

`python -m tests.site.addresses SITE` adds those of a built site to `addresses.txt`. What is listed has been
published, and the tests miss it when it is gone; what a build has and the list does not, they miss too.
"""

from __future__ import annotations

import argparse
import re
from pathlib import Path
from urllib.parse import urljoin

from hooks import atomic, tree

LIST = Path(__file__).with_suffix(".txt")
# Ids that mean something to a reader; others are the page's own, such as those of notes, captions and arrow heads.
KEPT = re.compile(r"(?:quiz|error|program|table|figure|fig)-(?!.*-(?:caption|a\d|(?:note|ref)-\d+)$)")
MOVED = re.compile(r'<meta http-equiv="refresh" content="0; url=(?P<to>[^"]*)">')
HEADINGS = re.compile(r"h[1-6]")


def published(site: Path) -> set[str]:
    """Return the addresses of a built site, below its root: `a/b/` and `a/b/#heading`."""
    found, moved = set(), {}
    for file in site.rglob("index.html"):
        text = file.read_text("utf-8")
        folder = file.parent.relative_to(site).as_posix()
        page = "" if folder == "." else f"{folder}/"
        found.add(page)
        if led := MOVED.search(text):
            moved[page] = urljoin(f"/{page}", led["to"]).partition("#")[0].removeprefix("/")
        article = next(tree.read(text).named(["article"]), None)
        for element in article.walk() if article else ():
            ident = element.attributes.get("id")
            # Where a heading was: beside its new name, or a link to its new page.
            old = element.name == "span" or (element.name == "a" and "hidden" in element.attributes)
            if ident and (HEADINGS.fullmatch(element.name) or KEPT.match(ident) or old):
                found.add(f"{page}#{ident}")
    # A page that has moved leads to the same headings elsewhere.
    return found | {
        old + one.removeprefix(new) for old, new in moved.items() for one in found if one.startswith(f"{new}#")
    }


def listed() -> set[str]:
    """Return the addresses that were published before."""
    return set(LIST.read_text("utf-8").splitlines())


def main() -> None:
    """Add what a built site publishes."""
    parser = argparse.ArgumentParser(prog="python -m tests.site.addresses")
    parser.add_argument("site", type=Path, help="the folder of the built site")
    site = parser.parse_args().site
    if not (site / "index.html").is_file():
        parser.error(f"{site} holds no built site: run `make site`")
    every = published(site) | (listed() if LIST.is_file() else set())
    atomic.write(LIST, "\n".join(sorted(every)) + "\n")
    print(f"{len(every)} addresses")


if __name__ == "__main__":
    main()
