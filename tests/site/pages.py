"""The pages of the site, from the sources: what the browser tests visit."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
# The five sections of the guide, whose pages have a budget.
CONCEPTS = ("parallelism/", "strategies/", "pipelines/", "heads/", "deployment/")


def addresses() -> list[str]:
    """Return the address of every page, relative to the home page, which is the empty string."""
    found = []
    for suffix in ("*.md", "*.ipynb"):
        for file in DOCS.rglob(suffix):
            name = file.relative_to(DOCS).with_suffix("").as_posix()
            stem = name.removesuffix("index") if name.split("/")[-1] == "index" else f"{name}/"
            found.append(stem)
    return sorted(found)


PAGES = addresses()
CONCEPT_PAGES = [page for page in PAGES if page.startswith(CONCEPTS)]
# What `hooks.publish.links` replaces in a finished page.
PLACEHOLDER = re.compile("/__(root|source|repository|program)__/")
# What stands in a page that only leads on to another address, and has nothing to look at.
LEADS_ON = 'http-equiv="refresh"'
# A page with questions, for the tests that answer one.
QUIZ_PAGE = "strategies/mirrored/"


def name(page: str) -> str:
    """Return a page's name for a test's id."""
    return page.strip("/").replace("/", "-") or "home"
