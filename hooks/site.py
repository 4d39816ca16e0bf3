"""The events of a MkDocs build: each hands text to the module that knows what to do with it."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mkdocs.plugins import CombinedEvent, event_priority

from hooks import (
    active,
    bank,
    contents,
    csp,
    decks,
    error_index,
    errors,
    flashcards,
    front,
    glossary,
    kept,
    lab_pages,
    labs,
    last_verified,
    leave,
    leftovers,
    links,
    loud,
    moment,
    notebooks,
    origins,
    outside_links,
    pages,
    place,
    preview,
    programs,
    publish,
    records,
    reference,
    selfcheck,
    settings,
    social,
    templates,
    used,
    verification,
)
from hooks.blocks import Block, blocks_of
from hooks.nav import check_addresses, wrong_address, wrong_nav

if TYPE_CHECKING:
    from collections.abc import Callable

    from jinja2 import Environment
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.livereload import LiveReloadServer
    from mkdocs.structure.files import Files
    from mkdocs.structure.nav import Navigation
    from mkdocs.structure.pages import Page

ID = re.compile(r'\sid="([^"]+)"')


class _Build:
    """What the events of one build hand to each other."""

    def __init__(self) -> None:
        self.blocks: dict[str, list[Block]] = {}
        self.sources: dict[str, Path] = {}
        self.files: dict[Path, str | bytes] = {}
        self.labs: list[dict[str, Any]] = []
        self.data: dict[str, Any] = {}
        self.order: dict[str, int] = {}
        self.day = ""
        # What has been rendered and waits for what needs all pages.
        self.fresh: set[str] = set()
        self.programs: list[str] = []
        self.nav: Navigation
        self.env: Environment
        self.found: Files


_build = _Build()


def on_startup(command: str, dirty: bool) -> None:
    """Listen to warnings, also with `-q`; a preview that SIGTERM ends takes its pages along."""
    loud.start(serving=command == "serve")
    if command == "serve":
        leave.at_sigterm()


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Start a build; snippets are looked up from the project, wherever the command runs."""
    global _build  # noqa: PLW0603 - MkDocs' hooks are functions and have nowhere else to keep a build
    _build = _Build()
    _build.day = datetime.fromtimestamp(moment.of_sources(settings.root_of(config)), UTC).strftime("%Y-%m-%d")
    loud.forget()
    kept.forget()
    if loud.serving():
        preview.refuse_taken_port(config)
    elif reference.preview():
        cause, cure = "GUIDE_PREVIEW lets pages without current records through", "unset it: it is for `make serve`"
        raise errors.GuideError(settings.FILE, 0, cause, cure)
    settings.check(config)
    check_addresses(config.nav)
    snippets = config.mdx_configs["pymdownx.snippets"]
    snippets["base_path"] = [str(settings.root_of(config) / path) for path in snippets["base_path"]]
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Stop for a page that is not made here, and for a lab that none can be made of; a preview goes on without it."""
    root = settings.root_of(config)
    # A page in Markdown is not published as it is.
    written = [Path(file.abs_src_path) for file in files if file.abs_src_path and not file.is_documentation_page()]
    ours = [path for path in written if path.is_relative_to(config.docs_dir)]
    loud.report([found for path in ours if (found := active.wrong(path, Path(config.docs_dir)))])
    wrong = labs.unreadable(root)
    loud.report(list(wrong.values()))
    for file in [file for file in files if Path(file.abs_src_path or "") in wrong]:
        files.remove(file)
    return files


def on_nav(nav: Navigation, config: MkDocsConfig, files: Files) -> Navigation:
    """Stop for a page that no reader can find."""
    _build.nav = nav
    _build.order = {page.url: at for at, page in enumerate(nav.pages)}
    docs = Path(config.docs_dir).relative_to(settings.root_of(config)).as_posix()
    paths = [file.src_uri for file in files.documentation_pages()]
    loud.report([wrong for path in paths if (wrong := wrong_address(f"{docs}/{path}", path))])
    loud.report(wrong_nav(nav, files, docs))
    return nav


def on_page_read_source(page: Page, config: MkDocsConfig) -> str | None:
    """Read a page and check its front matter before MkDocs does; a lab is read by its plugin."""
    if _is_lab(page):
        return None
    source = errors.read(Path(page.file.abs_src_path or ""))
    front.check(source, settings.name_of(page, config))
    return source


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Name the page to the Markdown extensions and check what must be right before it is rendered."""
    page.update_date = _build.day  # MkDocs would write the day of the build into the site map
    if _is_lab(page):
        return markdown
    file, source = settings.name_of(page, config), page.file.content_string
    place.enter(file, source)
    origins.check(source, file)
    kept.attach(page, file, settings.root_of(config))
    return markdown


def on_page_content(html: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Check what the page shows, collect its blocks and add what belongs to it."""
    _build.fresh.add(page.url)
    _build.sources[page.file.dest_uri] = Path(page.file.abs_src_path or "")
    file = settings.name_of(page, config)
    if _is_lab(page):
        site, folder = _addresses(page, config)
        lab = lab_pages.show(html, file=file, base=site + folder, page=site + page.url, root=settings.root_of(config))
        # Its notebook is a record: what a writer edits is the script beside it.
        page.edit_url = page.edit_url and f"{page.edit_url.removesuffix('.ipynb')}.py"
        _build.labs += lab.entries
        _build.files.update({Path(page.file.dest_uri).parent / name: text for name, text in lab.files.items()})
        return _with_notebook(lab.html, page, config)
    source = page.file.content_string
    leftovers.check(html, source, file)
    front.check_title(html, source, file)
    _build.blocks[file] = blocks = blocks_of(html=html, source=source, file=file)
    # MkDocs looks for anchors before the fences are in the page.
    page.present_anchor_ids = (page.present_anchor_ids or set()) | set(ID.findall(html))
    return _with_notebook(html, page, config) if notebooks.wanted(blocks) else html


def on_env(env: Environment, config: MkDocsConfig, files: Files) -> Environment:
    """Fill in what needs all pages, on those rendered since: the totals, and links to the cards of programs."""
    _build.env, _build.found = env, files
    shown = [file.page for file in files.documentation_pages() if file.page]
    fresh = [page for page in shown if page.url in _build.fresh]
    whole = len(fresh) == len(shown)
    # A preview renders a page alone; the pages that gather from others follow when they are asked for.
    gathering = whole or any(preview.GATHERS in (page.content or "") for page in fresh)
    uses = [(page.url, front.title_of(page), used.of_page(settings.name_of(page, config))) for page in shown]
    questions = [question for _, _, use in uses for question in use.questions]
    verification.check_ids(questions)
    if gathering:
        _build.data = verification.collect(blocks=_blocks(config), questions=questions, labs=_build.labs)
    rendered = {page.url: page.content or "" for page in shown}
    cards = {program: url for url, _, use in reversed(uses) for program in use.programs}
    for page in fresh:
        file = settings.name_of(page, config)
        content = error_index.fill(verification.fill(page.content or "", _build.data), uses, file, rendered)
        if error_index.MARK.search(page.content or "") or verification.WHOLE in (page.content or ""):
            contents.complete(page.toc, content, file)
        real = partial(publish.links, url=page.url, file=file, repository=config.extra["repository"], cards=cards)
        page.content = real(content)
        if notebooks.wanted(_build.blocks.get(file, [])):
            _build.files[Path(page.file.dest_uri).parent / _notebook(page)] = _notebook_of(page, config, real)
        page.meta.update(verified=_verified(page, config), social=_social(page, config))
    cards_of_fresh = {path for page in fresh for path in used.of_page(settings.name_of(page, config)).programs}
    _build.programs = programs.paths() if whole else sorted(cards_of_fresh)
    if not loud.serving():
        loud.report([wrong for path in sorted(cards) if (wrong := records.outdated(reference.program_of(path)))])
    if gathering:
        _take_away(shown, config)
    _build.fresh.clear()
    return env


def _blocks(config: MkDocsConfig) -> list[Block]:
    """Return the blocks of all pages, also of those outside the site."""
    for name in pages.OUTSIDE:
        file = settings.root_of(config) / name
        if file.is_file():
            _build.blocks[name] = pages.outside(config, file, name)
    return [block for found in _build.blocks.values() for block in found]


def _take_away(shown: list[Page], config: MkDocsConfig) -> None:
    """Make what is drawn from the finished pages: the self-check, the flashcards and the decks."""
    ordered = sorted(shown, key=lambda page: _build.order.get(page.url, 0))
    use = {page.url: used.of_page(settings.name_of(page, config)) for page in shown}
    asked = bank.gather(
        bank.PageHtml(p.url, front.title_of(p), _section(p), p.content or "", use[p.url].questions) for p in ordered
    )
    words = []
    for page in shown:
        if settings.name_of(page, config) == glossary.PAGE:
            words = flashcards.words(glossary.terms(settings.root_of(config)), page.content or "", page.url)
    for page in shown:
        content = page.content or ""
        if selfcheck.MARK in content:
            _build.files.update({Path(path): text for path, text in selfcheck.files(asked, page.url).items()})
        page.content = flashcards.fill(selfcheck.fill(content, asked, page.url), words, page.url)
    cards = decks.cards(asked, words, settings.address_of(config))
    found = decks.files(cards, name=config.site_name, when=moment.of_sources(settings.root_of(config)))
    _build.files.update({Path(path): content for path, content in found.items()})


def on_post_page(output: str, page: Page, config: MkDocsConfig) -> str:
    """Give the page its security policy; a preview's live reload would break it."""
    return output if loud.serving() else csp.add_policy(output)


def on_post_template(output_content: str, template_name: str, config: MkDocsConfig) -> str:
    """Give the page for wrong addresses its policy too; a site map is no page."""
    return csp.add_policy(output_content) if template_name.endswith(".html") and not loud.serving() else output_content


def _write(config: MkDocsConfig) -> None:
    """Write what stands beside the pages."""
    site = Path(config.site_dir)
    codes = {path: code for use in used.PAGES.values() for path, code in use.codes.items()}
    publish.copy_programs(site, _build.programs, codes)
    for path, content in _build.files.items():
        (site / path).parent.mkdir(parents=True, exist_ok=True)
        (site / path).write_bytes(content if isinstance(content, bytes) else content.encode())
    (site / "verification.json").write_text(verification.to_text(_build.data), "utf8")
    _build.files.clear()


@event_priority(-100)
def _check(config: MkDocsConfig) -> None:
    """Check the site as a browser will get it, when every other hook has done its part."""
    site, root = Path(config.site_dir), settings.root_of(config)
    # A preview lacks the files that a build makes last; the links between pages MkDocs checks itself.
    if not loud.serving():
        # A page at an old address comes from the table of redirects.
        table = {f"{old}index.html": root / settings.FILE for old in config.extra.get("redirects") or {}}
        wrong = links.check(site, site_url=config.site_url or "", sources=table | _build.sources, root=root)
        loud.report(wrong + outside_links.check(root, site))
    loud.stop_on_warnings()
    if loud.serving():
        preview.keep(preview.Built(config, _build.found, _build.nav, _build.env, _write))


def on_build_error(error: Exception) -> None:
    """Say where a template is wrong."""
    if wrong := templates.mistake(error):
        raise wrong from error


def on_serve(server: LiveReloadServer, config: MkDocsConfig, builder: Any) -> LiveReloadServer:
    """Look at sources only, and render only what an edit can change."""
    preview.pass_over_ignored(server, config)
    preview.attach(server, config)
    return server


on_post_build = CombinedEvent(_write, _check)


def _section(page: Page) -> str:
    """Return the title of the part of the site that a page belongs to: the top of the path to it."""
    above = [*page.ancestors]
    return str(above[-1].title) if above else front.title_of(page)


def _verified(page: Page, config: MkDocsConfig) -> dict[str, str]:
    """Return what the foot of a page says of its last run."""
    file = settings.name_of(page, config)
    if _is_lab(page):
        lab = labs.said((settings.root_of(config) / file).with_suffix(".py"))
        return last_verified.said([(lab["recorded"], lab["versions"])])
    return last_verified.of_page(used.of_page(file), _build.blocks.get(file, []))


def _social(page: Page, config: MkDocsConfig) -> str:
    """Draw the picture that links to a page show, and return where it will lie."""
    path = social.path(page.url)
    _build.files[Path(path)] = social.card(
        site=str(config.site_name),
        section="" if page.is_homepage else _section(page),
        title=social.title_of(page.content or "", front.title_of(page)),
        text=str(page.meta.get("description", "")),
    )
    return path


def _is_lab(page: Page) -> bool:
    return page.file.src_uri.endswith(".ipynb")


def _addresses(page: Page, config: MkDocsConfig) -> tuple[str, str]:
    """Return the address of the site, and the folder of a page's source below it, empty for `docs/` itself."""
    folder = Path(page.file.src_uri).parent.as_posix()
    return settings.address_of(config), "" if folder == "." else f"{folder}/"


def _notebook_of(page: Page, config: MkDocsConfig, real: Callable[[str], str]) -> str:
    site, folder = _addresses(page, config)
    return notebooks.notebook(
        source=page.file.content_string,
        blocks=_build.blocks[settings.name_of(page, config)],
        title=front.title_of(page),
        site=site,
        folder=folder,
        url=page.url,
        real=real,
    )


def _notebook(page: Page) -> str:
    return f"{Path(page.file.src_uri).stem}.ipynb"


def _with_notebook(html: str, page: Page, config: MkDocsConfig) -> str:
    path = (Path(page.file.dest_uri).parent / _notebook(page)).as_posix()
    markup = notebooks.links(path=path, repository=config.extra["repository"])
    return publish.under_title(html, markup)
