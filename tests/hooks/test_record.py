"""The command that writes records: which programs it runs, what it says, what it leaves alone."""

from __future__ import annotations

import io
from collections.abc import Iterator
from concurrent.futures import Future
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from hooks import programs, record, records
from hooks.errors import ROOT
from hooks.outcome import Result
from hooks.runner import Runner
from tests.hooks import house

SOURCE = '''# /// script
# requires-python = ">=3.11,<3.14"
# dependencies = []
#
# [tool.guide]
# devices = 0
# seconds = 20
# ///
"""Show one thing."""

import time

print("it takes", f"{time.time():.3f} s")
claims = {"holds": True}
'''


@pytest.fixture(scope="module")
def runner() -> Iterator[Runner]:
    with Runner(preload=(), limit=2) as one:
        yield one


@pytest.fixture
def snippets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, runner: Runner) -> Path:
    monkeypatch.setattr(programs, "SNIPPETS", tmp_path)
    monkeypatch.setattr(record, "Runner", lambda: _Lent(runner))
    monkeypatch.setattr(record.labs, "scripts", list)
    for name in ("a/one.py", "a/two.py", "b/one.py"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(SOURCE)
    return tmp_path


class _Lent:
    """The module's runner, which the command may not close."""

    def __init__(self, runner: Runner) -> None:
        self.submit_program = runner.submit_program

    def close(self) -> None:
        pass


def names(patterns: list[str]) -> list[str]:
    return [program.path for program in record.chosen(patterns, "cpu")]


def words(capsys: pytest.CaptureFixture[str]) -> dict[str, str]:
    lines = [line.split() for line in capsys.readouterr().out.splitlines() if ".py " in line]
    return {parts[0]: parts[-1] for parts in lines}


def test_patterns(snippets: Path) -> None:
    assert names([]) == ["a/one.py", "a/two.py", "b/one.py"], "no program has a record"
    assert names(["a/one.py"]) == names(["snippets/a/one.py"]) == ["a/one.py"]
    assert names(["a/*"]) == names(["snippets/a/*"]) == names(["snippets/a"]) == ["a/one.py", "a/two.py"]
    assert names(["one"]) == ["a/one.py", "b/one.py"]


def test_only_what_is_asked_for_can_stop_it(snippets: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (snippets / "a/two.py").write_text(SOURCE.replace("claims", "claim"))
    assert record.main(["a/one.py"]) == 0
    assert words(capsys) == {"a/one.py": "new"}
    assert record.main(["a"]) == 1
    assert "never assigns `claims`" in capsys.readouterr().err


def test_a_dependency_that_is_not_locked_fails_alone(snippets: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (snippets / "a/two.py").write_text(SOURCE.replace("[]", '["no-such-package"]'))
    record.main(["a"])
    capsys.readouterr()
    assert record.main(["--check", "a"]) == 1
    said = capsys.readouterr().out
    assert "a/two.py:3: the program depends on no-such-package, which uv.lock does not hold" in said
    assert "unchanged" in said


def test_a_broken_lock_stops_only_what_is_about_locks(
    snippets: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(record.locks, "FOLDER", tmp_path / "locks")
    for name in ("one", "two"):
        (tmp_path / "locks" / name).mkdir(parents=True)
        (tmp_path / "locks" / name / "requirements.txt").write_text("tensorflow\n")
    assert record.main(["a/one.py"]) == 0
    assert record.main(["--lock", "one", "a/one.py"]) == 1
    assert "'tensorflow' is not a package with its version" in capsys.readouterr().err
    (tmp_path / "locks" / "one" / "requirements.txt").write_text("tensorflow==1\n")
    (tmp_path / "locks" / "two" / "requirements.txt").unlink()
    assert record.main(["--lock", "three", "a/one.py"]) == 1
    assert "there is no lock 'three'. Fix: name one of one." in capsys.readouterr().err


def test_a_pattern_that_matches_nothing_is_refused(snippets: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert record.main(["one", "three"]) == 1
    assert "no program and no lab matches 'three'" in capsys.readouterr().err
    assert not list(snippets.rglob("*.json")), "nothing runs before all patterns are known to be right"


def test_with_a_lock_a_lab_is_refused(
    snippets: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Labs do not run with other versions: asked for one, it would check nothing and say that all is current."""
    monkeypatch.setattr(record.labs, "scripts", lambda: [ROOT / "docs/labs/one.py"])
    monkeypatch.setattr(record, "_refuse_unknown_lock", lambda _lock: None)
    monkeypatch.setattr(record.locks, "refuse_other_versions", lambda _lock: None)
    assert record.main(["--lock", "next", "--check", "docs/labs"]) == 1
    said = (
        "no program matches 'docs/labs'. Fix: name a path below snippets/ (labs run with the versions of uv.lock only)"
    )
    assert said in capsys.readouterr().err


def test_new_then_nothing_to_do_then_unchanged_then_changed(snippets: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert record.main([]) == 0
    assert words(capsys) == dict.fromkeys(["a/one.py", "a/two.py", "b/one.py"], "new")
    before = (snippets / "a/one.cpu.json").read_text()
    assert record.main([]) == 0
    assert "every record is current" in capsys.readouterr().out
    assert (snippets / "a/one.cpu.json").read_text() == before
    assert record.main(["a/one.py"]) == 0
    assert words(capsys) == {"a/one.py": "unchanged"}
    assert (snippets / "a/one.cpu.json").read_text() != before, "who is named is written, for its time and date"
    (snippets / "a/one.py").write_text(SOURCE.replace('"holds": True', '"holds": False'))
    assert record.main([]) == 0
    assert words(capsys) == {"a/one.py": "changed"}
    assert record.main(["--missing"]) == 0
    assert "every record is current" in capsys.readouterr().out


@pytest.mark.parametrize("load", [0.0, 99.0])
def test_a_busy_machine_makes_no_seconds_more(
    load: float, snippets: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(record, "busy", SimpleNamespace(stretched=lambda seconds: seconds * max(1.0, load)))
    said = "the machine was busy: the seconds in this record may be too many"
    assert record.main(["a/one.py"]) == 0
    assert (said in capsys.readouterr().out) == (load > 0), "there is no other record to take them from"
    before = records.load(programs.load("a/one.py"))
    assert before
    for older, newer in ((-1.0, -1.0), (999.0, None)):  # fewer than any run takes, and more
        records.write(replace(before, seconds=older))
        assert record.main(["a/one.py"]) == 0
        assert words(capsys) == {"a/one.py": "unchanged"}
        now = records.load(programs.load("a/one.py"))
        assert now
        assert (now.seconds == newer) if newer and load else (0 <= now.seconds < 999)
    (snippets / "a/one.py").write_text(SOURCE.replace("Show one", "Show another"))
    records.write(replace(before, seconds=-1.0))
    assert record.main(["a/one.py"]) == 0
    now = records.load(programs.load("a/one.py"))
    assert now
    assert now.seconds >= 0, "those are of another program"


def test_a_run_that_took_longer_than_its_limit_was_on_a_busy_machine(
    snippets: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(record, "busy", SimpleNamespace(stretched=float))
    program, out = programs.load("a/one.py"), io.StringIO()
    ended: Future[Result] = Future()
    fresh = house.record_of(program)
    ended.set_result(Result(True, None, program.options.seconds + 1, replace(fresh, seconds=21.0)))
    record.record([program], "cpu", runner=SimpleNamespace(submit_program=lambda *_: ended), out=out)  # type: ignore[arg-type]
    assert "the machine was busy" in out.getvalue()


def test_check_compares_and_writes_nothing(snippets: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert record.main(["--check", "a/one.py"]) == 1
    assert "has no record for cpu" in capsys.readouterr().out
    assert not (snippets / "a/one.cpu.json").exists()
    record.main(["a/one.py"])
    assert record.main(["--check", "a/one.py"]) == 0
    file = snippets / "a/one.cpu.json"
    file.write_text(file.read_text().replace("it takes", "it took"))
    changed = file.read_text()
    assert record.main(["--check", "a/one.py"]) == 1
    assert "output outside all sections, line 1" in capsys.readouterr().out
    assert file.read_text() == changed


def test_a_failure_is_listed_and_keeps_the_old_record(snippets: Path, capsys: pytest.CaptureFixture[str]) -> None:
    record.main(["a"])
    before = (snippets / "a/one.cpu.json").read_text()
    (snippets / "a/one.py").write_text(SOURCE.replace("import time", "import time\n\nraise ValueError('no')"))
    assert record.main([]) == 1
    said = capsys.readouterr()
    assert "ValueError: no" in said.out
    assert "failed: a/one.py" in said.err
    assert (snippets / "a/one.cpu.json").read_text() == before


def test_a_failure_that_no_encoding_has_is_printed(snippets: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (snippets / "a/one.py").write_text(SOURCE.replace("import time", r"raise ValueError('\ud800')"))
    assert record.main(["a/one.py"]) == 1
    assert r"ValueError: \ud800" in capsys.readouterr().out


@pytest.mark.parametrize("place", ["sys.executable", "tempfile.mkdtemp()"], ids=["project", "temporary"])
def test_a_record_names_no_place_of_this_machine(
    place: str, snippets: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """It would differ in every other checkout."""
    source = SOURCE.replace("import time", f"import sys\nimport tempfile\nimport time\n\nprint('at', {place})")
    (snippets / "a/one.py").write_text(source)
    assert record.main(["a/one.py"]) == 1
    said = capsys.readouterr().out
    assert "its record would name a place of this machine (/" in said
    assert not (snippets / "a/one.cpu.json").exists()


def test_a_broken_record_is_made_anew(snippets: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (snippets / "a/one.cpu.json").write_text("{")
    assert record.main(["a/one.py"]) == 0
    assert records.state(programs.load("a/one.py")) != "missing"


def test_a_device_that_is_not_there_is_said(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(record.devices, "present", lambda name: f"TensorFlow finds no {name.upper()} here")
    assert record.main(["--device", "gpu"]) == 1
    assert "finds no GPU here" in capsys.readouterr().err


def test_a_program_that_leaves_the_gpu_alone_gets_no_record(
    snippets: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(record.devices, "present", lambda name: None)
    monkeypatch.setattr(record.devices, "hardware", lambda name: "a GPU")
    assert record.main(["--device", "gpu", "b/one.py"]) == 0
    assert words(capsys)["b/one.py"] == "idle"
    assert not (snippets / "b" / "one.gpu.json").exists()


def test_a_lab_is_recorded_where_it_is_named_or_outdated(
    monkeypatch: pytest.MonkeyPatch, snippets: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    script, done = ROOT / "docs" / "labs" / "made-up.py", []
    monkeypatch.setattr(record.labs, "scripts", lambda: [script])
    monkeypatch.setattr(record.lab_runs, "record", lambda one, device, hardware: done.append((one, device, hardware)))
    assert record.main(["labs/made-up"]) == 0
    assert words(capsys) == {"docs/labs/made-up.py": "written"}
    assert done == [(script, "cpu", record.devices.hardware("cpu"))]
    assert record.chosen_labs([], "cpu") == [script], "it has no record"
    assert record.chosen_labs([], "gpu") == []
    assert record.chosen_labs(["snippets/"], "gpu") == [], "a lab is no program"
    monkeypatch.setattr(record.lab_runs, "record", lambda one, device, hardware: 1 / 0)
    assert record.main(["labs/made-up"]) == 1
    assert "division by zero" in capsys.readouterr().out


def test_others_may_record_with_their_own_runner(snippets: Path, runner: Runner) -> None:
    out = io.StringIO()
    [done] = record.record([programs.load("b/one.py")], "cpu", runner=runner, out=out)
    assert (done.word, out.getvalue().split()[0]) == ("new", "b/one.py")
