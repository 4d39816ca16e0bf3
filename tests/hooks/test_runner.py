"""The runner: what a program may do, what is reported of it, and that nothing outlives it.

Most tests use fresh interpreters without TensorFlow (`preload=()`); the code that runs a program is the same. The
last tests fork from a server that has TensorFlow imported.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

from hooks import devices, programs
from hooks.errors import ROOT
from hooks.runner import Block, Result, Runner
from tests.plugin_runner import runner_of

Make = Callable[..., programs.Program]
PATIENCE = 180
LONG = 300.0


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the temporary folders of the module's runner."""
    return tmp_path_factory.mktemp("runner")


@pytest.fixture(scope="module")
def runner(place: Path) -> Iterator[Runner]:
    with Runner(preload=(), limit=2, folder=place) as one:
        yield one


@pytest.fixture
def program(tmp_path: Path) -> Make:
    """Return a function that makes a program of a body."""
    made = 0

    def make(body: str, **options: object) -> programs.Program:
        nonlocal made
        made += 1
        keys = {"devices": 0, "seconds": 20, **options}
        table = "".join(f"# {key} = {json.dumps(value)}\n" for key, value in keys.items())
        if "env" in options:
            table = table.replace(json.dumps(options["env"]), '{ PLACE = "here" }')
        text = textwrap.dedent(body).strip()
        end = "" if "claims" in text else 'claims = {"ran": True}\n'
        about = f'# requires-python = ">=3.11"\n# dependencies = []\n#\n# [tool.guide]\n{table}'
        head = f'# /// script\n{about}# ///\n"""Show."""'
        (tmp_path / "t").mkdir(exist_ok=True)
        (tmp_path / f"t/p{made}.py").write_text(f"{head}\n\n{text}\n{end}")
        return programs.load(f"t/p{made}.py", root=tmp_path)

    return make


def run(runner: Runner, program: programs.Program) -> Result:
    return runner.submit_program(program).result(timeout=PATIENCE)


def line_of(program: programs.Program, needle: str) -> int:
    return program.source[: program.source.index(needle)].count("\n") + 1


def gone(*pids: int) -> bool:
    """Say whether these processes are gone; a moment may pass until the system has buried them."""
    until = time.monotonic() + 5
    while time.monotonic() < until:
        if not any(psutil.pid_exists(pid) and psutil.Process(pid).status() != psutil.STATUS_ZOMBIE for pid in pids):
            return True
        time.sleep(0.05)
    return False


def error_of(runner: Runner, program: programs.Program) -> str:
    result = run(runner, program)
    assert not result.ok
    assert result.record is None
    assert result.error
    return result.error


# What a program that does well gives.


def test_a_record_holds_what_it_printed_claimed_and_measured(runner: Runner, program: Make) -> None:
    one = program("""
        import math, sys
        measures = {"pi": math.pi, "n": 3, "word": "w"}
        errors = {"e": "ValueError: no"}
        figures = {"f": {"kind": "lines", "x": (1, 2), "series": {"a": [math.pi, 1e-9]}}}
        tables = {"t": {"columns": ["a"], "rows": [[1], [{"text": "x", "note": "y"}]]}}
        # --8<-- [start:say]
        print("hello")
        # --8<-- [end:say]
        claims = {"b": True, "a": False}
    """)
    result = run(runner, one)
    assert result.error is None
    record = result.record
    assert record is not None
    assert record.output == {"say": "hello\n"}
    assert record.claims == {"b": True, "a": False}
    assert record.measures == {"pi": 3.14159265, "n": 3, "word": "w"}
    assert record.errors == {"e": "ValueError: no"}
    assert record.figures["f"]["series"]["a"] == [3.14159, 1e-9]
    assert record.tables["t"]["rows"] == [[1], [{"text": "x", "note": "y"}]]
    assert (record.program, record.sha256, record.device) == (one.path, one.sha256, "cpu")
    assert {"python", "keras", "tensorflow"} <= record.versions.keys()
    assert result.executed == {"say"}
    assert result.peak_mib > 1


def test_output_belongs_to_the_section_whose_top_level_line_printed_it(runner: Runner, program: Make) -> None:
    result = run(
        runner,
        program("""
        import sys, threading

        # --8<-- [start:define]
        def say(word):
            print("say", word)

        print("defined")
        # --8<-- [end:define]

        print("between")

        # --8<-- [start:use]
        say("one")
        thread = threading.Thread(target=say, args=("two",))
        thread.start(); thread.join()
        list(map(print, [1, 2]))
        sys.stdout.buffer.write(b"bytes\\n")
        exec("print('exec')")
        # --8<-- [end:use]
        """),
    )
    assert result.error is None
    assert result.record is not None
    assert result.record.output == {
        "define": "defined\n",
        "": "between\n",
        "use": "say one\nsay two\n1\n2\nbytes\nexec\n",
    }


def test_it_runs_as_main_from_its_real_file_in_an_empty_folder(runner: Runner, program: Make) -> None:
    one = program("""
        import inspect, os, sys, tempfile
        def f(): pass
        claims = {
            "main": __name__ == "__main__" and sys.modules["__main__"].f is f,
            "file": os.path.samefile(__file__, sys.argv[0]) and "def f" in inspect.getsource(f),
            "empty": os.listdir() == [],
            "apart": os.getcwd() != os.path.dirname(__file__),
            "temporary": tempfile.gettempdir() != os.getcwd() and os.listdir(tempfile.gettempdir()) == [],
            "no_input": sys.stdin.read() == "",
            "own_session": os.getsid(0) == os.getpid(),
            "hash": os.environ["PYTHONHASHSEED"] == "0",
            "no_cluster": "TF_CONFIG" not in os.environ,
        }
        open("left.txt", "w").write("x")
    """)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TF_CONFIG", "{}")
        result = run(runner, one)
    assert result.record is not None, result.error
    assert result.record.claims == dict.fromkeys(result.record.claims, True)


def test_folders_are_removed(runner: Runner, program: Make, place: Path) -> None:
    run(runner, program("open('left.txt', 'w').write('x')"))
    run(runner, program("raise SystemError"))
    [base] = place.iterdir()
    assert [one.name for one in base.iterdir() if one.name.isdigit()] == []


def test_exit_functions_run(runner: Runner, program: Make, tmp_path: Path) -> None:
    run(runner, program(f"import atexit, pathlib; atexit.register(pathlib.Path({str(tmp_path / 'x')!r}).touch)"))
    assert (tmp_path / "x").exists()


def test_forked_children_work_and_their_output_is_not_the_programs(runner: Runner, program: Make) -> None:
    result = run(
        runner,
        program("""
        import multiprocessing
        fork = multiprocessing.get_context("fork")
        ear, mouth = fork.Pipe(duplex=False)
        def work():
            print("from the child")
            mouth.send(7)
        child = fork.Process(target=work); child.start(); child.join(10)
        claims = {"heard": ear.poll(5) and ear.recv() == 7, "ended": child.exitcode == 0}
        """),
    )
    assert result.record is not None, result.error
    assert result.record.claims == {"heard": True, "ended": True}
    assert result.record.output == {}


# What a program may not do.


def test_an_exception_names_the_programs_own_line(runner: Runner, program: Make) -> None:
    one = program("import json\n\ndef parse():\n    return json.loads('{')  # here\n\nparse()")
    error = error_of(runner, one)
    assert error.startswith(f"{one.path}:{line_of(one, 'return json')}: JSONDecodeError: ")
    assert "hooks/child.py" not in error, "the traceback starts in the program"


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("import sys\nsys.exit(0)", ":12: it left early with sys.exit(0)"),
        ("raise SystemExit", "left early"),
        ("import os\nos._exit(0)", "ended with os._exit(0) before its end"),
        ("import os\nos._exit(3)", "ended with os._exit(3) before its end"),
        ("import os\nos.kill(os.getpid(), 9)", "killed by signal 9 (out of memory?)"),
        ("import os\nos.kill(os.getpid(), 11)", "killed by signal 11"),
        ("raise KeyboardInterrupt", "KeyboardInterrupt"),
        ("import atexit, os\natexit.register(os._exit, 0)", "os._exit(0)"),
        ("raise RuntimeError('a\\nb')", "RuntimeError: a\n"),
        ("if False:\n    claims = {}", "ended without `claims`"),
        ("claims = {}", "`claims` is empty"),
        ("claims = [True]", "`claims` is a list"),
        ("claims = {'a': 1}", "claims['a'] is a int, it should be a plain bool"),
        ("import numpy\nclaims = {'a': numpy.bool_(True)}", "(write bool(...) around it)"),
        ("claims = {1: True}", "the key 1"),
        ("measures = {'m': float('nan')}", "measures['m'] is nan"),
        ("measures = {'m': [1]}", "measures['m'] is a list"),
        ("measures = {'m': True}", "measures['m'] is a bool"),
        ("figures = {'f': {'kind': 'lines', 'x': [1], 'series': {'a': [float('inf')]}}}", "['a'][0] is inf"),
        ("figures = {'f': {'kind': 'pie'}}", "its kind is 'pie'"),
        ("figures = {'f': {'kind': 'bars', 'categories': ['a'], 'series': {'s': object()}}}", "is a object"),
        ("tables = {'t': {'columns': ['a'], 'rows': [[1, 2]]}}", "table 't': row 0 has 2 cells for 1 columns"),
        ("errors = {'e': ValueError('no')}", "errors['e'] is a ValueError"),
    ],
)
def test_a_program_that_does_not_end_as_it_must(body: str, said: str, runner: Runner, program: Make) -> None:
    assert said in error_of(runner, program(body))


def test_numpy_numbers_are_converted_where_they_are_measured(runner: Runner, program: Make) -> None:
    one = program("""
        import numpy
        measures = {"a": numpy.float32(0.1), "b": numpy.int64(3)}
        figures = {"f": {"kind": "lines", "x": numpy.arange(2), "series": {"s": numpy.float32([0.1, 0.2])}}}
    """)
    result = run(runner, one)
    assert result.record is not None, result.error
    assert result.record.measures == {"a": 0.100000001, "b": 3}
    assert result.record.figures["f"]["series"] == {"s": [0.1, 0.2]}


def test_a_section_that_is_never_entered(runner: Runner, program: Make) -> None:
    one = program("""
        import os
        if os.environ.get("NEVER"):
            # --8<-- [start:never]
            print("never")
            # --8<-- [end:never]
        else:
            # --8<-- [start:always]
            print("always")
            # --8<-- [end:always]
    """)
    result = run(runner, one)
    line = line_of(one, 'print("never")')
    assert result.error == f"{one.path}:{line}: section 'never' was never executed"
    assert result.executed == {"always"}


def test_a_time_limit_kills_the_whole_tree_and_names_the_line(runner: Runner, program: Make, tmp_path: Path) -> None:
    one = program(
        f"""
        import os, signal, subprocess, sys, time
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        code = "import os, subprocess, sys, time; os.setsid(); p = subprocess.Popen([sys.executable, '-c', " \\
               "'import os, time; os.setsid(); time.sleep({LONG})']); print(os.getpid(), p.pid, flush=True); " \\
               "time.sleep({LONG})"
        child = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
        open({str(tmp_path / "pids")!r}, "w").write(child.stdout.readline())
        time.sleep({LONG})
        """,
        seconds=6,
    )
    started = time.monotonic()
    error = error_of(runner, one)
    assert time.monotonic() - started < 30
    assert error.startswith(f"{one.path}:{line_of(one, 'time.sleep(300.0)' + chr(10))}: it still ran after 6 s")
    assert gone(*map(int, (tmp_path / "pids").read_text().split()))


def test_a_process_left_behind_is_an_error_and_is_killed(runner: Runner, program: Make, tmp_path: Path) -> None:
    one = program(f"""
        import subprocess, sys
        code = "import time; time.sleep({LONG})  # the orphan"
        child = subprocess.Popen([sys.executable, "-c", code], start_new_session=True)
        open({str(tmp_path / "pid")!r}, "w").write(str(child.pid))
    """)
    error = error_of(runner, one)
    pid = int((tmp_path / "pid").read_text())
    assert "it left a process behind: " in error
    assert f"# the orphan (process {pid})" in error
    assert gone(pid)


def test_an_orphan_is_found_even_when_the_program_kills_itself(runner: Runner, program: Make, tmp_path: Path) -> None:
    one = program(f"""
        import os
        if os.fork() == 0:
            os.setsid()
            if os.fork() == 0:
                open({str(tmp_path / "pid")!r}, "w").write(str(os.getpid()))
                import time; time.sleep({LONG})
            os._exit(0)
        import time
        while not os.path.exists({str(tmp_path / "pid")!r}) or not open({str(tmp_path / "pid")!r}).read():
            time.sleep(0.01)
        os.kill(os.getpid(), 9)
    """)
    assert "killed by signal 9" in error_of(runner, one)
    assert gone(int((tmp_path / "pid").read_text()))


def test_what_children_and_native_code_print_is_shown_on_failure(runner: Runner, program: Make) -> None:
    error = error_of(
        runner,
        program("""
        import os, subprocess, sys
        subprocess.run(["echo", "from echo"], check=True)
        os.write(1, b"from the descriptor\\n")
        os.write(2, b"2026-11-20 10:00:00.000000: I tensorflow/core/x.cc:1] noise\\nto standard error\\n")
        raise ValueError("no")
        """),
    )
    assert "from echo\nfrom the descriptor" in error
    assert error.endswith("-- standard error, last lines --\nto standard error")


def test_env_is_there_before_anything_is_imported(runner: Runner, program: Make) -> None:
    one = program("import os\nclaims = {'set': os.environ['PLACE'] == 'here'}", env={"PLACE": "here"})
    result = run(runner, one)
    assert result.record is not None, result.error
    assert result.record.claims == {"set": True}


# Several at a time.

MEETING = """
import os, time
folder = {folder!r}
open(f"{{folder}}/{{os.getpid()}}", "w").close()
until = time.monotonic() + {wait}
met = False
while time.monotonic() < until and not met:
    met = len(os.listdir(folder)) > 1
    time.sleep(0.01)
os.remove(f"{{folder}}/{{os.getpid()}}") if {leave} else time.sleep(0.3)
claims = {{"met": met}}
"""


def test_two_run_at_a_time(runner: Runner, program: Make, tmp_path: Path) -> None:
    folder = tmp_path / "met"
    folder.mkdir()
    one = MEETING.format(folder=str(folder), wait=15, leave=False)
    futures = [runner.submit_program(program(one)) for _ in range(2)]
    records = [future.result(timeout=PATIENCE).record for future in futures]
    assert [record.claims["met"] for record in records if record] == [True, True]


@pytest.mark.parametrize("options", [{"alone": True}, {"processes": 2}])
def test_who_wants_the_machine_gets_it(
    options: dict[str, object], runner: Runner, program: Make, tmp_path: Path
) -> None:
    folder = tmp_path / "met"
    folder.mkdir()
    one = MEETING.format(folder=str(folder), wait=0.7, leave=True)
    futures = [runner.submit_program(program(one, **options)) for _ in range(3)]
    records = [future.result(timeout=PATIENCE).record for future in futures]
    assert [record.claims["met"] for record in records if record] == [False, False, False]


def test_the_longest_known_starts_first(program: Make, tmp_path: Path) -> None:
    log = tmp_path / "log"
    with Runner(preload=(), limit=1) as runner:
        futures = [runner.submit_program(program("import time; time.sleep(0.5)"))]  # holds the one place
        for seconds in (5, 30, 10):
            body = f"open({str(log)!r}, 'a').write('{seconds} ')"
            futures.append(runner.submit_program(program(body, seconds=seconds)))
        for future in futures:
            assert future.result(timeout=PATIENCE).ok
    assert log.read_text() == "30 10 5 "


# Pages.


def test_blocks_share_a_namespace_and_keep_their_own_output(runner: Runner) -> None:
    blocks = [
        Block("docs/p.md:3", "x = 1\nprint('one')", line=3),
        Block(
            "docs/p.md:9",
            "import inspect\ndef f():\n    return x + 1\nprint(f(), inspect.getsource(f).split()[0])",
            line=9,
        ),
    ]
    first, second = runner.submit_page("docs/p.md", blocks, devices_wanted=0).result(timeout=PATIENCE)
    assert (first.ok, first.output) == (True, "one\n")
    assert (second.ok, second.output, second.error) == (True, "2 def\n", None)


def test_a_failing_block_names_its_line_on_the_page_and_stops_the_rest(runner: Runner) -> None:
    blocks = [
        Block("docs/p.md:5", "def f():\n    raise ValueError('no')", line=5),
        Block("docs/p.md:20", "\nf()", line=20),
        Block("docs/p.md:30", "print('never')", line=30),
    ]
    first, second, third = runner.submit_page("docs/p.md", blocks, devices_wanted=0).result(timeout=PATIENCE)
    assert first.ok
    assert second.error is not None
    assert second.error.startswith("docs/p.md:21: ValueError: no\n"), "the line is the page's"
    assert 'File "docs/p.md", line 6, in f\n    raise ValueError' in second.error
    assert third.error == "docs/p.md:30: not run, because docs/p.md:20 failed before it"


def test_each_block_has_the_time_limit_and_a_page_can_time_out(runner: Runner) -> None:
    slow = [Block(f"b{at}", "import time; time.sleep(1.2)") for at in range(3)]
    results = runner.submit_page("p", slow, devices_wanted=0, seconds=2.5).result(timeout=PATIENCE)
    assert [one.ok for one in results] == [True, True, True]
    stuck = [Block("a", "1"), Block("b", "while True: pass"), Block("c", "1")]
    results = runner.submit_page("p", stuck, devices_wanted=0, seconds=1.5).result(timeout=PATIENCE)
    assert [one.ok for one in results] == [True, False, False]
    assert "b:1: it still ran after 1.5 s and was killed" in str(results[1].error)


@pytest.mark.parametrize(
    "source", ["import os; os._exit(0)", "import sys; sys.exit()", "x = ", "import os; os.kill(os.getpid(), 9)"]
)
def test_a_block_may_not_end_the_page(source: str, runner: Runner) -> None:
    results = runner.submit_page("p", [Block("a", "1"), Block("b", source)], devices_wanted=0).result(timeout=PATIENCE)
    assert [one.ok for one in results] == [True, False]


def test_a_page_may_not_leave_a_process_behind(runner: Runner) -> None:
    source = f"import subprocess; p = subprocess.Popen(['sleep', '{LONG:g}'])"
    [result] = runner.submit_page("p", [Block("a", source)], devices_wanted=0).result(timeout=PATIENCE)
    assert "it left a process behind: sleep 300" in str(result.error)


def test_a_page_without_blocks_has_no_results(runner: Runner) -> None:
    assert runner.submit_page("p", []).result(timeout=1) == []


# When the machine does not play along.


def test_a_folder_that_cannot_be_written_is_named(program: Make, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with Runner(preload=(), limit=1, folder=tmp_path / "file") as runner:
        assert "the runner could not start it (Not a directory)" in error_of(runner, program("print(1)"))


def test_a_full_disk_is_named(program: Make, tmp_path: Path) -> None:
    """A limit on the size of files stands for a full disk: the message is the system's."""
    body = """
        import resource, signal
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
        with open("big", "wb") as file:
            file.write(b"x" * 5000)
    """
    with Runner(preload=(), limit=1) as runner:
        assert "OSError: [Errno 27] File too large" in error_of(runner, program(body))


def test_closing_kills_what_runs(program: Make, tmp_path: Path) -> None:
    pid = tmp_path / "pid"
    runner = Runner(preload=(), limit=1)
    body = f"import os, time; open({str(pid)!r}, 'w').write(str(os.getpid())); time.sleep({LONG})"
    running, waiting = (runner.submit_program(program(body, seconds=100)) for _ in range(2))
    until = time.monotonic() + 30
    while not (pid.exists() and pid.read_text()) and time.monotonic() < until:
        time.sleep(0.02)
    runner.close()
    runner.close()
    assert gone(int(pid.read_text()))
    assert "the runner was closed" in str(running.result(timeout=5).error)
    assert waiting.cancelled()
    with pytest.raises(RuntimeError, match="closed"):
        runner.submit_page("p", [Block("a", "1")])


SESSION = """
import os, subprocess, sys, time
from tests.plugin_runner import SHARED, runner_of
from hooks.runner import Block, Runner

def test_long(request):
    request.config.stash[SHARED].runner = Runner(preload={preload!r})
    source = "import os, subprocess, time\\np = subprocess.Popen(['sleep', '300'], start_new_session=True)\\n" \\
             "open({pids!r}, 'w').write(f'{{os.getpid()}} {{p.pid}}')\\ntime.sleep(300)"
    runner_of(request.config).submit_page("p", [Block("b", source)], devices_wanted=0, seconds=250).result(240)
"""


@pytest.mark.parametrize("preload", [("json",), ()], ids=["forked", "fresh"])
@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL], ids=lambda one: one.name)
def test_a_session_that_is_interrupted_leaves_nothing(
    how: signal.Signals, preload: tuple[str, ...], tmp_path: Path
) -> None:
    """Ctrl-C, a polite kill and a rude one: the processes, their folders and the server go."""
    pids, temporary = tmp_path / "pids", tmp_path / "tmp"
    temporary.mkdir()
    (tmp_path / "test_it.py").write_text(SESSION.format(pids=str(pids), preload=preload))
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "tests.plugin_runner",
        "-p",
        "no:cacheprovider",
        "test_it.py",
    ]
    env = {**os.environ, "TMPDIR": str(temporary), "PYTHONPATH": str(ROOT)}
    session = subprocess.Popen(
        command, cwd=tmp_path, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True
    )
    try:
        until = time.monotonic() + 100
        while not (pids.exists() and len(pids.read_text().split()) == 2):
            assert session.poll() is None, session.stdout.read().decode() if session.stdout else ""
            assert time.monotonic() < until
            time.sleep(0.05)
        family = [one.pid for one in psutil.Process(session.pid).children(recursive=True)]
        assert set(map(int, pids.read_text().split())) <= set(family)
        os.kill(session.pid, how)
        session.wait(timeout=60)
        until = time.monotonic() + 20
        while any(temporary.glob("guide-*")) and time.monotonic() < until:
            time.sleep(0.05)
        assert gone(*family)
        assert list(temporary.glob("guide-*")) == []
    finally:
        for one in [session.pid, *map(int, pids.read_text().split() if pids.exists() else [])]:
            with contextlib.suppress(ProcessLookupError):
                os.kill(one, signal.SIGKILL)
        session.wait(timeout=10)
        if session.stdout:
            session.stdout.close()


# Devices: a table that a test can make up.


@pytest.mark.parametrize(
    ("device", "wanted", "physical", "memory", "expected"),
    [
        ("cpu", 4, 1, None, [(4, None)]),
        ("cpu", 0, 1, None, []),
        ("gpu", 4, 8, 1000, [(1, None)] * 4),
        ("gpu", 4, 1, 10_000, [(4, 2000)]),
        ("gpu", 4, 1, None, [(4, int(8192 * 0.8) // 4)]),
        ("gpu", 4, 3, 1000, [(2, 400), (1, 800), (1, 800)]),
        ("gpu", 4, 0, None, []),
        ("tpu", 4, 8, None, []),
    ],
)
def test_how_devices_are_split(
    device: str, wanted: int, physical: int, memory: int | None, expected: list[tuple[int, int | None]]
) -> None:
    assert devices.plan(devices.TABLE[device], wanted, physical, memory) == expected


def test_a_device_is_looked_for_in_a_process_of_its_own() -> None:
    says = 'import json, os; print("noise"); print(json.dumps({"hardware": [os.environ["NAME"]] * 2}))'
    table = {
        "there": devices.Device("there", "XPU", env={"NAME": "Big One"}, probe=says),
        "away": devices.Device("away", "XPU", probe='print("{}")'),
        "broken": devices.Device("broken", "XPU", probe="raise OSError('no driver')"),
    }
    assert devices.present("there", table=table) is None
    assert devices.hardware("there", table=table).startswith("2x Big One, ")
    assert devices.present("away", table=table) == "TensorFlow finds no XPU here"
    assert devices.present("broken", table=table) == "TensorFlow finds no XPU here (OSError: no driver)"
    assert devices.present("other", table=table) == "there is no device 'other'"
    assert devices.present("cpu") is None


def test_a_fake_device_reaches_the_program(runner: Runner, program: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(devices.TABLE, "cpu", devices.Device("cpu", "CPU", env={"WHERE": "fake"}))
    result = run(runner, program("import os\nclaims = {'fake': os.environ['WHERE'] == 'fake'}"))
    assert result.record is not None, result.error
    assert result.record.claims == {"fake": True}


# Forked from the process that has TensorFlow imported.


def test_a_forked_program_finds_tensorflow_imported_but_not_started(
    request: pytest.FixtureRequest, program: Make
) -> None:
    one = program(
        """
        import sys, time
        imported = "tensorflow" in sys.modules and "keras" in sys.modules
        import tensorflow as tf
        from tensorflow.python.eager import context
        started = context.context()._initialized
        cpus = len(tf.config.list_logical_devices("CPU"))
        total = float(tf.reduce_sum(tf.ones((300, 300)) @ tf.ones((300, 300))))
        step = tf.function(lambda x: tf.reduce_sum(x * 2))
        claims = {
            "imported": imported,
            "not_started": not started,
            "four_devices": cpus == 4,
            "multiplies": total == 300.0**3,
            "compiles": float(step(tf.ones(8))) == 16.0,
        }
        """,
        devices=4,
        seconds=60,
    )
    for _ in range(2):
        result = run(runner_of(request.config), one)
        assert result.record is not None, result.error
        assert result.record.claims == dict.fromkeys(result.record.claims, True)


def test_autograph_reads_the_source_of_a_block_not_of_the_runner(request: pytest.FixtureRequest) -> None:
    source = """
import tensorflow as tf

@tf.function
def count(n):
    total = 0
    while n > 0:
        total += n
        n -= 1
    return total

print(int(count(tf.constant(4))))
"""
    [result] = runner_of(request.config).submit_page("p", [Block("b", source)]).result(timeout=PATIENCE)
    assert (result.error, result.output) == (None, "10\n")


def test_a_program_forks_workers_quickly_from_where_it_was_forked(
    request: pytest.FixtureRequest, program: Make
) -> None:
    one = program(
        """
        import multiprocessing
        import tensorflow as tf
        fork = multiprocessing.get_context("fork")
        def work(queue, n):
            queue.put(float(tf.reduce_sum(tf.ones(n))))
        queue = fork.SimpleQueue()
        workers = [fork.Process(target=work, args=(queue, n)) for n in (3, 4)]
        for one in workers: one.start()
        for one in workers: one.join(30)
        claims = {"sums": sorted([queue.get(), queue.get()]) == [3.0, 4.0]}
        """,
        processes=3,
        seconds=60,
    )
    result = run(runner_of(request.config), one)
    assert result.record is not None, result.error


def test_a_preload_that_fails_is_named(program: Make) -> None:
    with Runner(preload=("no_such_module",), limit=1) as runner:
        error = error_of(runner, program("print(1)"))
    assert "importing no_such_module failed: ModuleNotFoundError" in error


def test_closing_does_not_wait_for_a_slow_import(
    program: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "slow_module.py").write_text(
        f"open({str(tmp_path / 'began')!r}, 'w').close()\nimport time\ntime.sleep({LONG})"
    )
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    runner = Runner(preload=("slow_module",), limit=1)
    future = runner.submit_program(program("print(1)"))
    until = time.monotonic() + 30
    while not (tmp_path / "began").exists() and time.monotonic() < until:
        time.sleep(0.02)
    started = time.monotonic()
    runner.close()
    assert time.monotonic() - started < 10
    assert not future.result(timeout=5).ok


def test_a_server_that_was_killed_is_started_again(program: Make) -> None:
    with Runner(preload=("json",), limit=1) as runner:
        assert run(runner, program("print(1)")).ok
        server = runner._launcher._server
        assert server is not None
        server.kill()
        server.wait(timeout=10)
        assert run(runner, program("print(2)")).ok


def test_the_tests_own_process_has_no_tensorflow() -> None:
    assert "tensorflow" not in sys.modules
    code = "import sys, hooks.runner, hooks.record, hooks.results; sys.exit('tensorflow' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=False).returncode == 0
