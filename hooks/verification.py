"""What the site verifies: every block, question and program, what checked it and on which device.

The build writes it to `verification.json` at the site's root; `verification.schema.json` says what it holds. Pages show
it where they have `<!-- guide:totals -->` or `<!-- guide:verification -->`.
"""

from __future__ import annotations

import html
import json
import re
from collections import Counter
from typing import TYPE_CHECKING, Any

from markdown.extensions.toc import slugify

from hooks import locks, programs, quiz_key, records
from hooks.errors import GuideError
from hooks.languages import LANGUAGES
from hooks.markup import DEVICES, NAMES, tag

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hooks.blocks import Block
    from hooks.programs import Program
    from hooks.used import Question

TOTALS = "<!-- guide:totals -->"
WHOLE = "<!-- guide:verification -->"
DAY = re.compile(r"\b\d{4}-\d\d-\d\d\b")
CHECKS = {
    "run": "run, as part of a program or by the tests",
    "lab": "run, as part of a lab",
    "parsed": "read by a parser for its language",
    "shown": "plain text, checked to be no code",
    "not run": "not run; the reason stands below the block",
}

# What a program does under another lock, against its record.
LOCKS = {"same": "The same", "differs": "Differ", "fails": "Fail", "stale": "Changed since", "missing": "Not yet run"}
RAN = ("same", "differs", "fails")


def collect(*, blocks: list[Block], questions: list[Question], labs: list[dict[str, Any]]) -> dict[str, Any]:
    """Return what `verification.json` holds; the same input gives the same bytes.

    Args:
        blocks: the blocks of every page.
        questions: the questions of every page.
        labs: the blocks of the labs, as `hooks.lab_pages.Lab.entries` holds them.
    """
    known = {program.path: program for program in programs.all_programs()}
    devices = {path: _devices(program) for path, program in known.items()}
    others = locks.names()
    entries = sorted([_block(block, devices) for block in blocks] + labs, key=lambda b: (b["page"], b["line"]))
    asked = [_question(question) for question in sorted(questions, key=lambda q: q.id)]
    shown = [_program(program, blocks, devices[path], others) for path, program in known.items()]
    locked = records.locked_versions()
    named = sorted({name for program in known.values() for name in records.packages_of(program)})
    return {
        "environment": {name: locked[name] for name in named if name in locked},
        "locks": {
            lock: {name: held[name] for name in named if name in (held := locks.versions(lock))} for lock in others
        },
        "blocks": entries,
        "questions": asked,
        "programs": shown,
        "totals": _totals(entries, asked, shown, others),
    }


def check_ids(questions: list[Question]) -> None:
    """Raise where two pages give a question the same id: readers' progress hangs on it.

    Raises:
        GuideError: at the second of the two.
    """
    seen: dict[str, Question] = {}
    for question in questions:
        if question.id in seen:
            first = seen[question.id]
            cause = f"the question id {question.id!r} is also used at {first.page}:{first.line}"
            raise GuideError(question.page, question.line, cause, "give each question of the site its own id")
        seen[question.id] = question


def to_text(data: dict[str, Any]) -> str:
    """Return the text of `verification.json`."""
    return json.dumps(data, indent=1, ensure_ascii=False) + "\n"


def fill(page: str, data: dict[str, Any]) -> str:
    """Return the HTML of a page with the totals and the tables in place of their marks."""
    if TOTALS in page:
        page = page.replace(TOTALS, totals(data))
    return page.replace(WHOLE, tables(data)) if WHOLE in page else page


def totals(data: dict[str, Any]) -> str:
    """Return the totals as a list in HTML."""
    total = data["totals"]
    checks = total["checks"]
    kinds = {"run": checks.get("run", 0) + checks.get("lab", 0)}
    kinds |= {name: checks[name] for name in ("parsed", "shown", "not run") if name in checks}
    options = total["options"]
    keyed = {name: options[kind] for kind, name in (("claims", "claims"), ("source", "a source")) if kind in options}
    rows = [
        (locks.named(data["environment"]), _elsewhere(data)),
        (f"{total['blocks']:,} blocks of code", ", ".join(f"{count:,} {name}" for name, count in kinds.items())),
        (f"{total['programs']:,} programs", _on_devices(total["devices"])),
        (f"{total['claims']:,} claims", "computed by those programs"),
        (f"{total['questions']:,} questions", ", ".join(f"{n:,} options keyed by {kind}" for kind, n in keyed.items())),
    ]
    items = "".join(
        f"<div><dt>{html.escape(what)}</dt><dd>{html.escape(more)}</dd></div>" for what, more in rows if what
    )
    return f'<dl class="guide-totals">{items}</dl>'


def tables(data: dict[str, Any]) -> str:
    """Return what was verified as tables in HTML: by check, by language, each program, what did not run."""
    total = data["totals"]
    checks = [(CHECKS[name], f"{count:,}") for name, count in total["checks"].items()]
    languages = [
        (name, f"{sum(checks.values()):,}", ", ".join(f"{count:,} {check}" for check, count in checks.items()))
        for name, checks in _by_language(data["blocks"]).items()
    ]
    others = {lock: locks.named(held) for lock, held in data["locks"].items()}
    shown = [
        (
            program["program"],
            str(program["claims"]),
            *(_cell(program["devices"].get(device)) for device in DEVICES),
            *(_lock_cell(program["locks"].get(lock)) for lock in others),
        )
        for program in data["programs"]
    ]
    counts = [(others[lock], *(f"{of.get(word, 0):,}" for word in LOCKS)) for lock, of in total["locks"].items()]
    said = [
        (program["program"], others[lock], text)
        for lock in others
        for program in data["programs"]
        for text in program["locks"].get(lock, {}).get("said", ())
    ]
    versions = [
        (NAMES.get(name, name), version, *(held.get(name, "-") for held in data["locks"].values()))
        for name, version in data["environment"].items()
    ]
    unrun = [
        (f"{b['page']}, line {b['line']}", b["language"], b["why"]) for b in data["blocks"] if b["check"] == "not run"
    ]
    return "\n".join(
        [
            totals(data),
            _table("Blocks by what checked them", ("Check", "Blocks"), checks),
            _table("Blocks by language", ("Language", "Blocks", "How"), languages),
            _table("Programs with other versions", ("Versions", *LOCKS.values()), counts),
            _table(
                "Programs and the day of their record",
                ("Program", "Claims", *DEVICES.values(), *others.values()),
                shown,
            ),
            # A search for an error text leads to its cure, not here.
            _table(
                "What programs do otherwise with other versions", ("Program", "Versions", "What"), said, found=False
            ),
            _table("Blocks that do not run, and why", ("Block", "Language", "Why"), unrun),
            _table("Versions", ("Package", "Locked version", *data["locks"]), versions),
        ]
    )


def _table(title: str, heads: tuple[str, ...], rows: Sequence[tuple[str, ...]], *, found: bool = True) -> str:
    """Return a table below a heading, which the contents list of the page then has; the first cell names its row."""
    if not rows:
        return ""
    head = "".join(f'<th scope="col">{html.escape(text)}</th>' for text in heads)
    cells = [[DAY.sub(r"<time>\g<0></time>", html.escape(cell)) for cell in row] for row in rows]
    body = "".join(
        f'<tr><th scope="row">{row[0]}</th>{"".join(f"<td>{cell}</td>" for cell in row[1:])}</tr>' for row in cells
    )
    search = "" if found else ' data-search-exclude=""'
    ident = slugify(title, "-")
    table = f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody>"
    return f'{tag("h2", html.escape(title), id=ident)}<table aria-labelledby="{ident}"{search}>{table}</table>'


def _cell(entry: dict[str, Any] | None) -> str:
    if entry is None:
        return "not yet verified"
    return (
        f"{entry['recorded'][:10]}, {entry['seconds']:.0f} s"
        if entry["status"] == "verified"
        else "not yet verified again"
    )


def _lock_cell(entry: dict[str, Any] | None) -> str:
    if entry is None or entry["status"] == "stale":
        return "not yet verified" if entry is None else "not yet verified again"
    return f"{entry['status']}, {entry['recorded']}"


def _by_language(blocks: list[dict[str, Any]]) -> dict[str, dict[str, int]]:
    """Return how many blocks of each language were checked in which way; a cell of a lab ran."""
    found: dict[str, Counter[str]] = {}
    for block in blocks:
        check = "run" if block["check"] == "lab" else block["check"]
        found.setdefault(block["language"], Counter())[check] += 1
    return {name: dict(sorted(found[name].items(), key=lambda one: one[0] == "not run")) for name in sorted(found)}


def _elsewhere(data: dict[str, Any]) -> str:
    """Return what the versions of the records are, and how many programs were tried with which others."""
    tried = [
        f"{count:,} with TensorFlow {held['tensorflow']}"
        for lock, held in data["locks"].items()
        if (count := sum(data["totals"]["locks"][lock].get(word, 0) for word in RAN)) and "tensorflow" in held
    ]
    return "the versions of the records" + (f"; also tried: {', '.join(tried)}" if tried else "")


def _on_devices(devices: dict[str, int]) -> str:
    said = [f"{count} verified on {DEVICES[device]}" for device, count in devices.items() if count]
    none = [DEVICES[device] for device, count in devices.items() if not count]
    return ", ".join([*said, *([f"none yet on {' or '.join(none)}"] if said and none else [])]) or "not yet verified"


def _devices(program: Program) -> dict[str, Any]:
    found = {}
    for device in DEVICES:
        record = records.load(program, device)
        if record is not None:
            status = "verified" if records.state(program, device) == "current" else "stale"
            found[device] = {"status": status, "seconds": round(record.seconds, 1), "recorded": str(record.recorded)}
    return found


def _block(block: Block, devices: dict[str, dict[str, Any]]) -> dict[str, Any]:
    entry: dict[str, Any] = {"page": block.page, "line": block.line, "language": block.language, "sha256": block.sha256}
    entry["check"] = "not run" if block.run == "no" else LANGUAGES[block.language].how
    if block.origin:
        entry["origin"] = block.origin
    if block.why:
        entry["why"] = block.why
    return {**entry, "devices": devices.get(block.program, {})}


def _question(question: Question) -> dict[str, Any]:
    proof = [_proof(text) for text in question.proof]
    return {"id": question.id, "page": question.page, "covers": question.covers, "key": question.key, "proof": proof}


def _proof(text: str) -> dict[str, Any]:
    key = quiz_key.parse(text)
    if key.source:
        return {"source": key.source}
    claims = [(claim.reference, claim.wanted) for claim in key.claims]
    return {"claims": [{"program": ref.program, "claim": ref.name, "wanted": wanted} for ref, wanted in claims]}


def _program(program: Program, blocks: list[Block], devices: dict[str, Any], others: list[str]) -> dict[str, Any]:
    record = next((found for device in DEVICES if (found := records.load(program, device))), None)
    pages = sorted({block.page for block in blocks if block.program == program.path})
    claims = len(record.claims) if record else 0
    entry = {"program": program.path, "sha256": program.sha256, "pages": pages, "claims": claims, "devices": devices}
    return {**entry, "locks": {lock: under for lock in others if (under := _under(program, lock))}}


def _under(program: Program, lock: str) -> dict[str, Any]:
    """Return what a program did under another lock; nothing where it never ran there."""
    state, found = locks.find(program, lock)
    if found is None:
        return {}
    status = found.outcome if state == "current" else "stale"
    return {"status": status, "recorded": found.recorded, "said": found.said if state == "current" else []}


def _totals(
    blocks: list[dict[str, Any]], questions: list[dict[str, Any]], shown: list[dict[str, Any]], others: list[str]
) -> dict[str, Any]:
    def count(names: Any) -> dict[str, int]:
        return dict(sorted(Counter(names).items()))

    return {
        "pages": len({block["page"] for block in blocks} | {question["page"] for question in questions}),
        "blocks": len(blocks),
        "checks": count(block["check"] for block in blocks),
        "languages": count(block["language"] for block in blocks),
        "programs": len(shown),
        "claims": sum(program["claims"] for program in shown),
        "questions": len(questions),
        "options": count(next(iter(proof)) for question in questions for proof in question["proof"]),
        "devices": {
            device: sum(program["devices"].get(device, {}).get("status") == "verified" for program in shown)
            for device in DEVICES
        },
        "locks": {
            lock: count(program["locks"].get(lock, {}).get("status", "missing") for program in shown) for lock in others
        },
    }
