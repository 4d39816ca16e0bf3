"""What programs read: a Markdown copy of each page, llms.txt, structured data, a feed; and redirects, and the sources.

Each is made by a module of its own; the events here hand it the pages once `hooks/site.py` has finished them.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from mkdocs.plugins import event_priority
from mkdocs.structure.nav import Section
from mkdocs.structure.pages import Page
from mkdocs.utils import get_relative_url

from hooks import (
    contents,
    csp,
    feed,
    front,
    loud,
    markdown_copy,
    programs,
    publish,
    records,
    redirects,
    selfcheck,
    settings,
    sources,
    structured,
    used,
)
from hooks.markup import DEVICES

if TYPE_CHECKING:
    from jinja2 import Environment
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.files import Files
    from mkdocs.structure.nav import Navigation

    from hooks.used import Question

COPY = "index.md"
# The space means nothing to others; the theme takes a link without it for a translation and looks for its site map.
ALTERNATE = "alternate "
_pages: list[Page] = []
_written: dict[str, str] = {}
_recorded: feed.Runs = {}


def on_nav(nav: Navigation, config: MkDocsConfig, files: Files) -> None:
    """Keep the pages in the order of reading and the records of all programs, and check redirects and sources."""
    _pages[:] = nav.pages
    _written.clear()
    _recorded.clear()
    _recorded.update(_runs())
    redirects.check(_redirects(config), {page.url for page in nav.pages})
    sources.check(_sources(config))


def on_page_content(html: str, page: Page, config: MkDocsConfig, files: Files) -> None:
    """Keep what an author wrote: what the build gathers on a page later cites nothing of its own."""
    _written[page.url] = html


@event_priority(-50)
def on_env(env: Environment, config: MkDocsConfig, files: Files) -> None:
    """Fill in the sources, and put old anchors beside new ones."""
    said = [(page.url, front.title_of(page), _written.get(page.url, "")) for page in _pages]
    listed = _sources(config)
    for page in _pages:
        content = sources.fill(page.content or "", said, listed.get("kinds", []), listed.get("own", []))
        file = settings.name_of(page, config)
        if sources.MARK in (page.content or ""):
            contents.complete(page.toc, content, file)
        content = publish.links(content, url=page.url, file=file, repository=config.extra["repository"], cards={})
        page.content = redirects.anchors(content, page.url, _redirects(config))


def on_post_page(output: str, page: Page, config: MkDocsConfig) -> str:
    """Tell what the page is, and where its Markdown and the feed are."""
    head = structured.block(_described(page, config))
    head += f'<link rel="{ALTERNATE}" type="text/markdown" href="{COPY}">'
    if _recorded:
        address = get_relative_url(feed.FILE, page.url)
        head += f'<link rel="{ALTERNATE}" type="application/atom+xml" title="What was run" href="{address}">'
    return output.replace("</head>", f"{head}</head>", 1)


def on_post_build(config: MkDocsConfig) -> None:
    """Write the files; a preview is for people, who wait for it."""
    if loud.serving():
        return
    site, address = Path(config.site_dir), settings.address_of(config)
    made = {}
    for page in _pages:
        made[f"{page.url}{COPY}"] = markdown_copy.convert(page.content or "", address + page.url)
    made["llms.txt"] = _llms(config)
    if _recorded:
        made[feed.FILE] = feed.atom(_recorded, name=config.site_name, site=address, pages=_shown(config))
    made |= {path: csp.add_policy(text) for path, text in redirects.stubs(_redirects(config), address).items()}
    for path, text in made.items():
        (site / path).parent.mkdir(parents=True, exist_ok=True)
        (site / path).write_text(text, "utf8")


def _llms(config: MkDocsConfig) -> str:
    """Return the list of all pages with their descriptions.

    Source: https://llmstxt.org/
    """
    lines = [f"# {config.site_name}", "", f"> {config.site_description}", ""]
    section = ""
    for page in _pages:
        part = next((str(item.title) for item in reversed(list(page.ancestors))), "")
        if part != section:
            lines += ["", f"## {part}", ""]
            section = part
        about = page.meta.get("description", "")
        lines.append(
            f"- [{front.title_of(page)}]({settings.address_of(config)}{page.url}{COPY})"
            + (f": {about}" if about else "")
        )
    return "\n".join(lines) + "\n"


def _described(page: Page, config: MkDocsConfig) -> dict[str, Any]:
    address = settings.address_of(config)
    return structured.describe(
        url=address + page.url,
        title=front.title_of(page),
        description=page.meta.get("description", config.site_description or ""),
        changed=str(page.update_date or ""),
        site=(config.site_name, address),
        path=[(title, address + url) for title, url in _parts(page)],
        questions=_questions(config) if selfcheck.MARK in _written.get(page.url, "") else [],
    )


def _parts(page: Page) -> list[tuple[str, str]]:
    """Return the parts of the site above a page that have a page of their own: title and address, from the top."""
    found = []
    for part in reversed([*page.ancestors]):
        first = part.children[0] if isinstance(part, Section) else None
        if isinstance(first, Page) and first.is_index and first is not page:
            found.append((str(part.title), first.url))
    return found


def _questions(config: MkDocsConfig) -> list[tuple[str, Question]]:
    """Return all questions with their addresses: one page has their data, for it would weigh on every other."""
    return [
        (f"{settings.address_of(config)}{page.url}#quiz-{question.id}", question)
        for page in _pages
        for question in used.of_page(settings.name_of(page, config)).questions
    ]


def _runs() -> feed.Runs:
    """Return the records of all programs by day and device."""
    every = (records.load(program, device) for program in programs.all_programs() for device in DEVICES)
    return feed.runs(record for record in every if record)


def _shown(config: MkDocsConfig) -> dict[str, list[tuple[str, str]]]:
    """Return for each program the pages that show it."""
    found: dict[str, list[tuple[str, str]]] = {}
    for page in _pages:
        for program in used.of_page(settings.name_of(page, config)).programs:
            found.setdefault(program, []).append((page.url, front.title_of(page)))
    return found


def _redirects(config: MkDocsConfig) -> dict[str, str]:
    return config.extra.get("redirects") or {}


def _sources(config: MkDocsConfig) -> dict[str, Any]:
    return config.extra.get("sources") or {}
