"""Other locks: what is read, what counts as current, what a table says of each, and what is refused."""

from __future__ import annotations

import dataclasses
import os
import re
import subprocess
import threading
from concurrent.futures import Future
from typing import TYPE_CHECKING, Any

import pytest
from bs4 import BeautifulSoup
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from hooks import atomic, busy, leftovers, lock_outcomes, locks, programs, record, records, verification
from hooks.errors import ROOT, GuideError
from hooks.lock_outcomes import Outcome
from hooks.outcome import Result
from tests.hooks import house

if TYPE_CHECKING:
    from pathlib import Path

    from hooks.programs import Program

DAY = "2026-11-20"
LOCKED = """\
keras-nightly==9.1.0.dev1 \\
    --hash=sha256:00
# a remark
other==1.0 ; python_version < "3"
other==2.0 ; python_version >= "3"
tensorflow==9.0.0rc0 \\
    --hash=sha256:11
"""
TABLE = """\
/// table | strategies/mirrored.py:matrix
    versions: true

What trains.
///
"""


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Program:
    """Return the small program of the house, with one other lock, `next`, and no outcome."""
    built = house.build(tmp_path / "snippets", monkeypatch)
    (locks.FOLDER / "next").mkdir(parents=True)
    (locks.FOLDER / "next" / "requirements.txt").write_text(LOCKED)
    return built


def run(program: Program, **changes: Any) -> Outcome:
    """Return the outcome of a run that gave the record, with some of it changed."""
    return locks.outcome_of(program, "next", Result(True, None, 1.0, house.record_of(program, **changes)), DAY)


def failed(program: Program, error: str) -> Outcome:
    return locks.outcome_of(program, "next", Result(False, error, 1.0), DAY)


def rows(**changes: Any) -> dict[str, Any]:
    """Return the tables of the record with cells of the table `matrix` changed: `r2=True` in its second row."""
    lines = [["inside", True, 0.5], ["outside", False, 1.25], [{"text": "other", "note": "rare"}, True, 3]]
    for name, value in changes.items():
        lines[int(name[1:]) - 1][1] = value
    return {"tables": {"matrix": {"columns": ["where", "trains", "loss"], "rows": lines}}}


def last_column() -> tuple[str, list[str], list[str]]:
    """Return the heading of the table's last column, its cells, and the notes below the table."""
    soup = BeautifulSoup(house.render(TABLE)[0], "html.parser")
    for sup in soup.select("sup"):
        sup.decompose()
    cells = [line.select("th, td")[-1].text for line in soup.select("tr")]
    return cells[0], cells[1:], [note.text.removesuffix(" ↩") for note in soup.select(".guide-notes li")]


def test_versions_are_those_of_this_machine_and_a_nightly_is_its_package(program: Program) -> None:
    held = locks.versions("next")
    assert (held["tensorflow"], held["keras"], held["other"]) == ("9.0.0rc0", "9.1.0.dev1", "2.0")
    assert locks.title("next") == "TensorFlow 9.0.0rc0, Keras 9.1.0.dev1"
    assert locks.names() == ["next"]


@pytest.mark.usefixtures("program")
def test_the_nightly_of_tensorflow_has_a_name_of_its_own() -> None:
    (locks.FOLDER / "next" / "requirements.txt").write_text("keras==3.20\ntf-nightly==9.1.0.dev1\n")
    assert locks.heading("next") == "TF 9.1.0.dev1"
    assert locks.title("next") == "TensorFlow 9.1.0.dev1, Keras 3.20"


@pytest.mark.usefixtures("program")
def test_a_lock_that_heads_no_column_is_named() -> None:
    (locks.FOLDER / "next" / "requirements.txt").write_text("keras==3.20\ntensorflow-cpu==9.1.0\n")
    with pytest.raises(GuideError, match=r"requirements\.txt.*: it holds no 'tensorflow'"):
        locks.heading("next")


@pytest.mark.parametrize("line", ["keras>=3,<4", "keras>=3", "keras==3.*", "keras", "--index-url x", "<<<<<<< HEAD"])
def test_a_line_that_pins_nothing_is_refused(program: Program, line: str) -> None:
    (locks.FOLDER / "next" / "requirements.txt").write_text(f"{LOCKED}{line}\n")
    with pytest.raises(
        GuideError, match=f"requirements\\.txt:8: '{re.escape(line)}' is not a package with its version"
    ):
        locks.versions("next")


def test_what_is_written_is_read_again(program: Program) -> None:
    for outcome in (
        run(program),
        run(program, claims={}),
        run(program, errors={}, **rows(r2=True)),
        failed(program, "a.py:1: ValueError: ünd\ntraceback"),
    ):
        locks.write("next", {program.path: outcome})
        assert locks.load("next") == {program.path: outcome}
        assert lock_outcomes.to_text(locks.load("next")) == locks.file_of("next").read_text()


def test_outcomes_of_programs_that_are_gone_are_left_out(program: Program) -> None:
    locks.write("next", {"gone/away.py": run(program), program.path: run(program)})
    assert list(locks.load("next")) == [program.path]


def test_what_an_outcome_says(program: Program) -> None:
    same = run(program)
    assert (same.outcome, same.said, same.recorded) == ("same", [], DAY)
    assert same.versions == {"keras": "9.1.0.dev1", "tensorflow": "9.0.0rc0"}
    assert same.record == {name: records.locked_versions()[name] for name in ("keras", "tensorflow")}
    other = run(program, claims={"weights_equal": False, "weights_differ": False})
    assert (other.outcome, other.said) == ("differs", ["claim 'weights_equal' is False, the record says True"])
    bad = failed(program, "snippets/a.py:3: ValueError: no\nTraceback\n-- standard error --\n0x7f")
    assert (bad.outcome, bad.said) == ("fails", ["snippets/a.py:3: ValueError: no"])


def test_a_program_without_a_current_record_has_nothing_to_be_compared_with(program: Program) -> None:
    result = Result(True, None, 1.0, house.record_of(program))
    records.file_of(program, "cpu").unlink()
    with pytest.raises(GuideError, match="has no record for cpu"):
        locks.outcome_of(program, "next", result, DAY)


def test_an_outcome_is_current_only_for_its_program_its_lock_and_its_record(program: Program) -> None:
    good = run(program)
    cases: dict[str, dict[str, Any]] = {
        "changed after it ran with TensorFlow 9.0.0rc0": {"sha256": "0" * 64},
        "ran with keras 3.0.0, locks/next now holds 9.1.0.dev1": {"versions": {**good.versions, "keras": "3.0.0"}},
        "ran with other 1.0, locks/next now holds None": {"versions": {**good.versions, "other": "1.0"}},
        "was compared with a record of keras 3.0.0, uv.lock": {"record": {**good.record, "keras": "3.0.0"}},
        "was compared with a record of tensorflow (unknown)": {"record": {"keras": good.record["keras"]}},
    }
    locks.write("next", {program.path: good})
    assert locks.find(program, "next") == ("current", good)
    for why, change in cases.items():
        old = dataclasses.replace(good, **change)
        locks.write("next", {program.path: old})
        assert locks.find(program, "next") == ("stale", old), why
        assert why in locks.why_stale(program, "next")
        assert last_column()[1] == ["not yet verified"] * 3, "it is never shown as current"
        assert "make record LOCK=next" in locks.unexpected(program, "next", good)[0]
    locks.file_of("next").unlink()
    assert locks.find(program, "next") == ("missing", None)
    assert "has not run with TensorFlow 9.0.0rc0" in locks.unexpected(program, "next", good)[0]


def test_a_run_is_compared_with_what_is_on_file(program: Program) -> None:
    locks.write("next", {program.path: run(program, measures={"speedup_x": 1.0, "steps": 12, "device": "CPU:1"})})
    assert (
        locks.unexpected(program, "next", run(program, measures={"speedup_x": 9.0, "steps": 12, "device": "CPU:1"}))
        == []
    )
    (said,) = locks.unexpected(program, "next", run(program))
    assert said.startswith(
        "with TensorFlow 9.0.0rc0, Keras 9.1.0.dev1: the same as the record; locks/next/outcomes.json"
    )
    assert "measure 'device' is 'CPU:1', the record says 'CPU:0'" in said
    for other in (failed(program, "it ended"), run(program, claims={})):
        assert locks.unexpected(program, "next", other)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda text: text.replace('"same"', '"same'), r"outcomes\.json:7: .* this is not JSON \(.*\)\. Fix: correct"),
        (lambda text: "[]", r"outcomes\.json:1: .* they are not an object"),
        (lambda text: text.replace('"same"', '"fine"'), r"outcomes\.json:2: .*'outcome' is not one of same, differs"),
        (lambda text: text.replace('"recorded"', '"made"'), r":2: .*mirrored\.py: 'recorded' is missing"),
        (lambda text: text.replace(DAY, "yesterday"), r":2: .*'recorded' is not a date"),
        (lambda text: text.replace('"same"', '"same", "by": "hand"'), r":2: .*'by' is unknown"),
        (lambda text: text.replace('"same"', '"same", "error": "x"'), r":2: .*'error' belongs to the outcome 'fails'"),
        (lambda text: text.replace('"same"', '"fails"'), r":2: .*'error' belongs to the outcome 'fails'"),
        (lambda text: text.replace('"same"', '"differs"'), r":2: .*'differences' belongs to the outcome 'differs'"),
        (
            lambda text: text.replace('"same"', '"differs", "differences": [{"part": "x"}]'),
            r"not a list of differences",
        ),
        (lambda text: text.replace('"keras": "9', '"keras": 9, "x": "9'), r":2: .*'versions' is not a table of text"),
        (lambda text: text.replace('"recorded": "2', '"recorded": "9x'), r":2: .*'recorded' is not a date"),
    ],
)
def test_a_broken_file_is_refused_with_its_line(program: Program, change: Any, says: str) -> None:
    good = lock_outcomes.to_text({program.path: run(program)})
    broken = change(good)
    assert broken != good
    locks.file_of("next").write_text(broken)
    with pytest.raises(GuideError, match=says) as caught:
        locks.load("next")
    assert "run make record LOCK=next" in caught.value.cure


def test_a_file_that_is_not_utf8_is_refused(program: Program) -> None:
    locks.file_of("next").write_bytes(lock_outcomes.to_text({program.path: run(program)}).encode() + b"\xe9")
    with pytest.raises(GuideError, match=r"outcomes\.json:\d+: a character here is not UTF-8"):
        locks.load("next")


def test_an_outcome_names_no_place_of_this_machine(program: Program) -> None:
    said = f"a.py:3: OSError: {ROOT}/.venv/bin/python and '/var/tmp/guide-1ab2cd3_/31/tmp/tmpx/digits'"
    assert failed(program, said).error == "a.py:3: OSError: .venv/bin/python and 'tmpx/digits'"


def test_a_table_gets_a_column_for_each_lock(program: Program) -> None:
    head, cells, notes = last_column()
    assert head == "TF 9.0.0rc0"
    assert cells == ["not yet verified"] * 3
    assert any("make record LOCK=next ARGS=strategies/mirrored.py" in note for note in notes)
    cases: list[tuple[Outcome, list[str], str]] = [
        (run(program), ["same"] * 3, ""),
        (run(program, **rows(r2=True)), ["same", "differs", "same"], "column 'trains': True"),
        (run(program, tables={}), ["differs"] * 3, "is missing, the record has it"),
        (failed(program, "a.py:3: ValueError: no\nmore"), ["fails"] * 3, "ended with: a.py:3: ValueError: no"),
    ]
    for outcome, cells, note in cases:
        locks.write("next", {program.path: outcome})
        _, shown, notes = last_column()
        assert shown == cells
        assert any(note in one for one in notes), notes


def test_other_tables_and_the_stamp_stay_as_they_are(program: Program) -> None:
    main = records.locked_versions()
    wide, plain = (
        BeautifulSoup(house.render(text)[0], "html.parser") for text in (TABLE, TABLE.replace("true", "false"))
    )
    stamps = [one.select_one(".guide-stamp").text for one in (wide, plain)]  # type: ignore[union-attr]
    assert stamps[0] == stamps[1]
    assert f"TensorFlow {main['tensorflow']} · Keras {main['keras']}" in stamps[0]
    assert [len(one.select("thead th")) for one in (wide, plain)] == [4, 3]


def test_what_a_run_said_is_not_read_as_markup_of_the_page(program: Program) -> None:
    said = "NotFoundError: {{function_node f}} [^1] | ==="
    page = f"{TABLE}\n/// error | strategies/mirrored.py:outside\nMade outside.\n///\n"
    for outcome in (failed(program, f"a.py:3: {said}"), run(program, errors={"outside": said})):
        locks.write("next", {program.path: outcome})
        html, _ = house.render(page)
        assert "{{function_node f}}" in html
        leftovers.check(html, page, "docs/page.md")


def test_below_a_table_stand_the_versions_and_the_day_of_each_column(program: Program) -> None:
    def last_line() -> str:
        return BeautifulSoup(house.render(TABLE)[0], "html.parser").select(".guide-stamp")[-1].text

    said = "TF 9.0.0rc0 · TensorFlow 9.0.0rc0, Keras 9.1.0.dev1"
    assert last_line() == f"{said} · not yet verified"
    locks.write("next", {program.path: run(program)})
    assert last_line() == f"{said} · {DAY}"


def test_an_error_says_where_it_does_not_occur_or_reads_otherwise(program: Program) -> None:
    def below() -> list[str]:
        text = "/// error | strategies/mirrored.py:outside\nMade outside. Compile inside.\n///\n"
        return [one.text for one in BeautifulSoup(house.render(text)[0], "html.parser").select(".guide-stamp")][1:]

    assert below() == []
    name = "With TensorFlow 9.0.0rc0, Keras 9.1.0.dev1"
    (known,) = house.record_of(program).errors
    cases: list[tuple[Outcome, list[str]]] = [
        (run(program), []),
        (run(program, claims={}), []),
        (run(program, errors={}), [f"{name} it does not occur · {DAY}"]),
        (run(program, errors={known: "E: <b>"}), [f"{name} it reads 'E: <b>' · {DAY}"]),
        (run(program, errors={known: "E: " + "long " * 30}), [f"{name} it reads otherwise · {DAY}"]),
        (failed(program, "a.py:3: ValueError: no"), []),
    ]
    for outcome, said in cases:
        locks.write("next", {program.path: outcome})
        assert below() == said


def test_a_card_says_what_its_program_does_there(program: Program) -> None:
    def last_row() -> str:
        soup = BeautifulSoup(house.render("/// program | strategies/mirrored.py\n///\n")[0], "html.parser")
        return soup.select("tbody tr")[-1].get_text(" ", strip=True)

    name = "CPU, TensorFlow 9.0.0rc0, Keras 9.1.0.dev1"
    assert last_row() == f"{name} not yet verified: make record LOCK=next ARGS=strategies/mirrored.py does it"
    locks.write("next", {program.path: run(program)})
    assert last_row() == f"{name} {DAY} does the same"
    locks.write("next", {program.path: run(program, claims={})})
    assert last_row() == f"{name} {DAY} differs: claim 'weights_differ' is missing, the record has it (and 1 more)"
    locks.write("next", {program.path: failed(program, "a.py:3: ValueError: <b>")})
    assert last_row() == f"{name} {DAY} fails: a.py:3: ValueError: <b>"


def test_what_the_page_about_verification_says(program: Program) -> None:
    locks.write("next", {program.path: run(program, claims={})})
    data = verification.collect(blocks=[], questions=[], labs=[])
    assert data["locks"] == {"next": {"keras": "9.1.0.dev1", "tensorflow": "9.0.0rc0"}}
    assert data["programs"][0]["locks"]["next"]["status"] == "differs"
    assert data["totals"]["locks"] == {"next": {"differs": 1}}
    shown = verification.tables(data)
    assert f"<td>differs, <time>{DAY}</time></td>" in shown
    assert "claim &#x27;weights_equal&#x27; is missing, the record has it" in shown
    stale = dataclasses.replace(run(program, claims={}), sha256="0" * 64)
    locks.write("next", {program.path: stale})
    data = verification.collect(blocks=[], questions=[], labs=[])
    assert data["programs"][0]["locks"]["next"] == {"status": "stale", "recorded": DAY, "said": []}


def test_what_the_machine_ended_is_no_outcome(
    program: Program, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    results = iter([Result(False, "a.py: it was killed by signal 9", 1.0, broken=True)])
    monkeypatch.setattr(record, "Runner", lambda: _Gives(results))
    monkeypatch.setattr(locks, "refuse_other_versions", lambda lock: None)
    assert record.main(["--lock", "next"]) == 1
    assert f"failed: {program.path}" in capsys.readouterr().err
    assert locks.load("next") == {}


def test_the_command_writes_outcomes_and_no_record(
    program: Program, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    results = iter([Result(True, None, 1.0, house.record_of(program, claims={}))] * 3 + [Result(False, "no", 1.0)])
    before = records.file_of(program, "cpu").read_text()
    monkeypatch.setattr(record, "Runner", lambda: _Gives(results))
    monkeypatch.setattr(locks, "refuse_other_versions", lambda lock: None)
    assert record.main(["--lock", "next", "--check"]) == 1, "there is nothing on file yet"
    assert not locks.file_of("next").exists()
    assert record.main(["--lock", "next"]) == 0
    assert locks.load("next")[program.path].outcome == "differs"
    (one,) = locks.load("next").values()
    locks.file_of("next").write_text(locks.to_text({program.path: one, "strategies/gone.py": one}))
    assert record.main(["--lock", "next"]) == 0, "nothing runs: every outcome is current"
    assert list(locks.load("next")) == [program.path], "a program that is gone has no outcome"
    assert "every outcome is current" in capsys.readouterr().out
    assert record.main(["--lock", "next", "--check"]) == 0, "it differs as it did"
    assert record.main(["--lock", "next", "--check"]) == 1, "now it fails"
    assert "it fails\n  no; locks/next/outcomes.json says: it differs" in capsys.readouterr().out
    assert records.file_of(program, "cpu").read_text() == before


def test_two_that_record_at_once_lose_nothing(program: Program) -> None:
    """The second waits for the first, and adds to what that wrote."""
    one, other = run(program), "strategies/other.py"
    later = dataclasses.replace(one, recorded="2026-11-22")
    (programs.SNIPPETS / other).write_text(house.SOURCE)
    locks.write("next", {program.path: one})
    begun = threading.Event()

    def others() -> None:
        begun.set()
        locks.write("next", {program.path: later})

    second = threading.Thread(target=others)
    with atomic.alone(locks.file_of("next")):
        second.start()
        assert begun.wait(busy.stretched(20))
        second.join(0.2)
        assert second.is_alive()
        # What the first writes meanwhile, which holds the others off.
        atomic.write(locks.file_of("next"), lock_outcomes.to_text({program.path: one, other: one}))
    second.join(busy.stretched(20))
    assert locks.load("next") == {program.path: later, other: one}


def test_an_outcome_that_differs_names_no_place_of_this_machine(
    program: Program, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    made = house.record_of(program, output={"setup": "/tmp/guide-a1b2c3d4/3/home\n"})
    monkeypatch.setattr(record, "Runner", lambda: _Gives(iter([Result(True, None, 1.0, made)])))
    monkeypatch.setattr(locks, "refuse_other_versions", lambda lock: None)
    assert record.main(["--lock", "next"]) == 1
    assert "its outcome would name a place of this machine (/tmp/guide-a1b2c3d4/3/home)" in capsys.readouterr().out
    assert not locks.file_of("next").exists()


class _Gives:
    """A runner whose programs give what was made up for them, in order."""

    def __init__(self, results: Any) -> None:
        self.results = results

    def submit_program(self, program: Program, device: str) -> Any:
        future: Future[Result] = Future()
        future.set_result(next(self.results))
        return future

    def close(self) -> None:
        pass


def test_another_environment_is_refused(program: Program, capsys: pytest.CaptureFixture[str]) -> None:
    """An outcome made with the versions of uv.lock would say nothing of the other lock."""
    assert record.main(["--lock", "next"]) == 1
    said = capsys.readouterr().err
    assert "the lock holds 9.0.0rc0. Fix: run make with LOCK=next." in said
    assert not locks.file_of("next").exists()


def make(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Run make as from a shell: one around these tests hands its own settings on in the environment."""
    settings = ("MAKE", "MFLAGS", "DEVICE", "ARGS", "LOCK", "PORT", "PYTHON3")
    env = {name: value for name, value in os.environ.items() if not name.startswith(settings)}
    env["LC_ALL"] = "C"  # it speaks many languages
    command = ["make", *arguments]
    return subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, timeout=busy.stretched(60), env=env, check=False
    )


FAILS = """\
for name; do last=$file; file=$name; [ "$last" = --output-file ] && echo cut > "$name"; done
echo "$1" >> asked
[ "$1" = export ]
"""


def test_a_lock_that_cannot_be_made_again_stays_as_it_was(tmp_path: Path) -> None:
    folder = tmp_path / "locks" / "next"
    folder.mkdir(parents=True)
    (folder / "requirements.in").write_text("tf-nightly\n")
    (folder / "requirements.txt").write_text("old\n")
    (tmp_path / "uv").write_text(FAILS)
    done = make("-f", str(ROOT / "Makefile"), "-C", str(tmp_path), "lock", "LOCK=next", "UV=sh uv")
    assert done.returncode
    assert (tmp_path / "asked").read_text() == "export\npip\n", "it came to the second command"
    assert (folder / "requirements.txt").read_text() == "old\n"
    assert not (folder / "requirements.txt.part").exists()


def test_make_refuses_an_unknown_device() -> None:
    """It comes from a form of the workflow, and goes into a command."""
    for word in ("npu", "cpu gpu", "cpu; id"):
        done = make("--dry-run", "test", f"DEVICE={word}")
        assert done.returncode == 2
        assert f"DEVICE={word}: name cpu, gpu or tpu" in done.stderr
    assert "--device=tpu" in make("--dry-run", "test", "DEVICE=tpu").stdout


def test_make_refuses_an_unknown_lock() -> None:
    for word in ("nosuch", "previous next", "../locks/next"):
        done = make("--dry-run", "test", f"LOCK={word}")
        assert done.returncode == 2
        known, _, cure = done.stderr.partition(f"LOCK={word}: locks/ has ")[2].partition(". To add one, write ")
        assert set(known.split()) == set(locks.names())
        assert cure.startswith(f"locks/{word}/requirements.in ")
    assert "pytest" in make("--dry-run", "test", "LOCK=").stdout
    done = make("--dry-run", "test", "LOCK=next", "ARGS=strategies")
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == (
        ".venv-next/bin/python -m hooks.record --device=cpu --lock=next --check strategies"
    )


def test_the_libraries_of_a_gpu_are_installed_where_one_is_asked_for_alone() -> None:
    for target in ("test", "record"):
        assert "--group cuda" in make("--dry-run", "--always-make", target, "DEVICE=gpu").stdout
        for device in ("cpu", "tpu"):
            assert "cuda" not in make("--dry-run", "--always-make", target, f"DEVICE={device}").stdout


@pytest.mark.parametrize("lock", locks.names())
def test_a_lock_differs_from_the_main_one_only_where_it_says_so(lock: str) -> None:
    """What a program does otherwise there is then TensorFlow's doing, or Keras's."""
    lines = (locks.FOLDER / lock / "requirements.in").read_text("utf8").splitlines()
    asked = [Requirement(line) for line in lines if line and not line.startswith("#")]
    named = {canonicalize_name(one.name) for one in asked}
    held, main = locks.versions(lock), records.locked_versions()
    for one in asked:
        if one.marker is None or one.marker.evaluate():
            version = held[canonicalize_name(one.name)]
            assert one.specifier.contains(version, prereleases=True), f"{one}, run make lock LOCK={lock}"
    nightly = {name for name in held if locks.nightly_of(name) in held}
    others = {name for name, version in held.items() if name in main and main[name] != version} - named - nightly
    assert others == set(), f"run make lock LOCK={lock}"
    for name in ("tensorflow", "keras", "tf-keras"):
        assert held[name] != main[name], "another lock is another TensorFlow, and the companions that go with it"


@pytest.mark.parametrize("lock", locks.names())
def test_every_package_of_a_lock_has_its_hash(lock: str) -> None:
    entries = (locks.FOLDER / lock / "requirements.txt").read_text("utf8").replace("\\\n", " ").splitlines()
    assert [entry for entry in entries if entry and "--hash=sha256:" not in entry] == []
    assert len(entries) > 100


@pytest.mark.parametrize("lock", locks.names())
def test_every_outcome_has_its_program(lock: str) -> None:
    found, file = locks.load(lock), locks.file_of(lock)
    assert set(found) <= set(programs.paths())
    assert not file.exists() or lock_outcomes.to_text(found) == file.read_text("utf8"), "only the command writes it"


def test_another_python_makes_an_environment_anew(tmp_path: Path) -> None:
    environments = {".venv": ".site", ".venv-next": ".run"}
    for name, version in {**dict.fromkeys(environments, "3.12.1"), "same": "3.12.1", "other": "3.13.2"}.items():
        python = tmp_path / name / "bin" / "python"
        python.parent.mkdir(parents=True)
        python.write_text(f"#!/bin/sh\necho Python {version}\n")
        python.chmod(0o755)
    for file in ("uv.lock", "pyproject.toml", "locks/next/requirements.in", "locks/next/requirements.txt"):
        (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / file).touch()
    for environment, stamp in environments.items():
        (tmp_path / environment / stamp).touch()
        target = ("-f", str(ROOT / "Makefile"), "-C", str(tmp_path), "-n", "LOCK=next", f"{environment}/{stamp}")
        assert "up to date" in make(*target).stdout, "none is named"
        assert "up to date" in make(*target, f"PYTHON3={tmp_path}/same/bin/python").stdout
        assert f"--python {tmp_path}/other/bin/python" in make(*target, f"PYTHON3={tmp_path}/other/bin/python").stdout
