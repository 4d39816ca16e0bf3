"""What a program may do, and what is reported of it; what it may not do."""

from __future__ import annotations

import os
import re
import textwrap
import time
from pathlib import Path

import pytest

from hooks.errors import ROOT
from hooks.runner import Runner
from tests.hooks.runner.kit import Make, error_of, line_of, run, until_gone
from tests.until import LONG


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
            "as_it_was": "SET_LATER" not in os.environ,
        }
        open("left.txt", "w").write("x")
    """)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TF_CONFIG", "{}")
        patch.setenv("SET_LATER", "by a test while other programs start")
        result = run(runner, one)
    assert result.record is not None, result.error
    assert result.record.claims == dict.fromkeys(result.record.claims, True)


def test_it_imports_the_file_that_it_names_beside_it(runner: Runner, program: Make, tmp_path: Path) -> None:
    folder = tmp_path / "t"
    folder.mkdir()
    (folder / "beside.py").write_text("print('said while imported')\nwhere = __file__\nmain = __name__\n")
    one = program(
        """
        import os
        # --8<-- [start:import]
        import beside
        # --8<-- [end:import]
        claims = {
            "the_real_file": os.path.dirname(beside.where) == os.path.dirname(__file__),
            "not_main": beside.main == "beside",
        }
        """,
        files=["beside.py"],
    )
    result = run(runner, one)
    assert result.record is not None, result.error
    assert result.record.claims == dict.fromkeys(result.record.claims, True)
    assert result.record.output == {"import": "said while imported\n"}
    assert sorted(file.name for file in folder.iterdir()) == ["beside.py", "p1.py"], "nothing is left beside it"


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
        child = fork.Process(target=work); child.start(); child.join()
        claims = {"heard": ear.recv() == 7, "ended": child.exitcode == 0}
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
        ("import os\nos._exit(0)", "ended with os._exit(0) before its end: let it run to its last line"),
        ("import os\nos._exit(3)", "ended with os._exit(3) before its end"),
        ("import os\nos.kill(os.getpid(), 9)", "killed by signal 9 (out of memory?): make it hold less"),
        ("import os\nos.kill(os.getpid(), 11)", "killed by signal 11: native code stopped it"),
        ("raise OSError(28, 'No space left on device')", "No space left on device: free space, or set TMPDIR"),
        ("raise KeyboardInterrupt", "KeyboardInterrupt"),
        ("import atexit, os\natexit.register(os._exit, 0)", "os._exit(0)"),
        ("raise RuntimeError('a\\nb')", "RuntimeError: a\n"),
        ("if False:\n    claims = {}", "ended without `claims`"),
        ("claims = {}", "`claims` is empty"),
        ("claims = [True]", "`claims` is a list"),
        ("claims = {'a': 1}", "claims['a'] is a int, it should be a plain bool"),
        ("claims = {'a': True}; measures = {'b': 10**400}", "measures['b'] is larger than any float"),
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
        ("errors = {'e': 'TypeError: '}", "errors['e'] is 'TypeError: ': its text was cut away"),
        ("errors = {'e': 'tf.errors.NotFoundError: '}", "NotFoundError: ': its text was cut away"),
        ("print('10%\\r20%')", "it printed the control character '\\r', which a page cannot show: print plain text"),
        ("print('\\x1b[1mbold')", "the control character '\\x1b'"),
        ("import os\nprint(os.fsdecode(b'caf\\xe9'))", "the control character '\\udce9'"),
        ("errors = {'e': 'E: \\x1b[1mno'}", "errors['e'] holds the control character '\\x1b', which a page"),
        ("measures = {'m': '\\udce9'}", "measures['m'] holds the control character '\\udce9'"),
        ("tables = {'t': {'columns': ['a'], 'rows': [['\\x00']]}}", "tables['t'] holds the control character '\\x00'"),
        ("while True:\n    print('x' * 10000)", "RuntimeError: more than 1 MiB was printed"),
        ("open(__file__ + '.txt', 'w').close()", ".py.txt', a file beside it that it does not name: write it into"),
        ("import os\nif os.fork():\n    os.wait()\n    raise ValueError('the parent')", "ValueError: the parent"),
    ],
)
def test_a_program_that_does_not_end_as_it_must(body: str, said: str, runner: Runner, program: Make) -> None:
    assert said in error_of(runner, program(body))


@pytest.mark.parametrize(
    ("body", "broken"),
    [
        ("raise OSError(28, 'No space left on device')", True),
        ("raise OSError(122, 'Disk quota exceeded')", True),
        ("import os\nos.kill(os.getpid(), 9)", True),
        ("raise OSError(2, 'No such file or directory')", False),
    ],
)
def test_what_the_machine_ended_says_nothing_about_a_program(
    body: str, broken: bool, runner: Runner, program: Make
) -> None:
    result = run(runner, program(body))
    assert (result.ok, result.broken) == (False, broken)


@pytest.mark.parametrize(
    "body",
    [
        "open(PLACE, 'w').close()",
        "import os\nos.close(os.open(PLACE, os.O_CREAT | os.O_RDWR))",
        "import pathlib\npathlib.Path(PLACE).mkdir()",
        "import os\nopen('one', 'w').close()\nos.replace('one', PLACE)",
        "import threading\nthread = threading.Thread(target=lambda: open(PLACE, 'a').close())\nthread.start()",
    ],
)
def test_a_program_writes_in_its_own_folder_alone(body: str, runner: Runner, program: Make, tmp_path: Path) -> None:
    place = tmp_path / "else" / "where"
    place.parent.mkdir()
    said = f"it wrote {str(place)!r}, outside its folder: write into a temporary folder"
    assert said in error_of(runner, program(f"PLACE = {str(place)!r}\n{body}"))


@pytest.mark.parametrize(
    "call",
    [
        "rename(PLACE, 'here')",
        "truncate(PLACE, 0)",
        "chmod(PLACE, 0o600)",
        "chown(PLACE, -1, -1)",
        "utime(PLACE)",
    ],
)
def test_a_program_changes_no_file_elsewhere(call: str, runner: Runner, program: Make, tmp_path: Path) -> None:
    place = tmp_path / "there"
    place.write_text("x")
    said = f"it wrote {str(place)!r}, outside its folder: write into a temporary folder"
    assert said in error_of(runner, program(f"import os\nPLACE = {str(place)!r}\nos.{call}"))


def test_a_program_finds_an_empty_home_and_leaves_it_so(runner: Runner, program: Make) -> None:
    body = """
        from pathlib import Path
        assert list(Path.home().iterdir()) == []
        Path.home().mkdir(exist_ok=True)
    """
    assert run(runner, program(body)).ok
    body += """
        Path("~/.token").expanduser().write_text("secret")
    """
    assert "it wrote '~/.token', in the home folder: write into" in error_of(runner, program(body))


def test_a_program_reads_no_file_of_the_project(runner: Runner, program: Make) -> None:
    body = f"open({str(ROOT / 'README.md')!r}).close()"
    assert "README.md', a file of the project that it does not name: write it into files" in error_of(
        runner, program(body)
    )


def test_a_program_connects_to_no_other_machine(runner: Runner, program: Make) -> None:
    body = """
        import socket
        near = socket.create_server(("127.0.0.1", 0))
        socket.create_connection(near.getsockname()).close()
        asks = socket.socket(type=socket.SOCK_DGRAM)
        try:
            asks.connect(("198.51.100.1", 9))  # sends nothing
            own = socket.create_server((asks.getsockname()[0], 0))
            socket.create_connection(own.getsockname()).close()
        except OSError:
            pass  # a machine without a network
    """
    assert run(runner, program(body)).ok
    body += """
        far = socket.socket()
        far.setblocking(False)
        far.connect_ex(("198.51.100.1", 9))
    """
    assert "it connected to '198.51.100.1': let it run without a network" in error_of(runner, program(body))


def test_what_a_program_may_open(runner: Runner, program: Make, tmp_path: Path) -> None:
    """Its folder and the temporary one, devices, installed packages, and to read what is no part of the project."""
    (tmp_path / "data").write_text("x")
    body = f"""
        import inspect, os, shutil, tempfile
        with tempfile.TemporaryDirectory() as folder:
            os.makedirs(folder + "/a/b")
            open(folder + "/a/b/c", "w").close()
            shutil.move(folder + "/a", folder + "/d")
        with tempfile.TemporaryDirectory(dir="/tmp") as folder:  # a short path, for sockets
            open(folder + "/a", "w").close()
        with open("here", "w") as file:
            os.chmod(file.fileno(), 0o600)
            os.truncate(file.fileno(), 0)
        os.utime("here")
        os.makedirs({str(tmp_path)!r}, exist_ok=True)
        open(os.environ["MPLCONFIGDIR"] + ".json", "w").close()
        open(os.devnull, "w").close()
        open(os.__file__).close()
        open(pytest.__file__).close()
        open({str(tmp_path / "data")!r}).close()
        inspect.stack(context=3)
    """
    result = run(runner, program(f"import pytest\n{textwrap.dedent(body)}"))
    assert result.ok, result.error


def test_what_changes_while_it_waits_is_an_error(runner: Runner, program: Make) -> None:
    """What is on disk when the process starts must be what the record will be kept under."""
    one = program("print(1)")
    one.file.write_text(one.source + "print(2)\n")
    assert "RuntimeError: it, or a file that it names, changed while it waited: run it again" in error_of(runner, one)
    one.file.write_text(one.source)
    assert run(runner, one).ok
    beside = one.file.with_name("beside.txt")
    beside.write_text("first")
    needs = program("print(open(__file__.rpartition('/')[0] + '/beside.txt').read())", files=["beside.txt"])
    assert run(runner, needs).ok
    beside.write_text("second")
    assert "changed while it waited" in error_of(runner, needs)


def test_the_users_settings_do_not_reach_it(program: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (
        "PYTHONOPTIMIZE",
        "PYTHONWARNINGS",
        "LC_ALL",
        "TF_DETERMINISTIC_OPS",
        "GRPC_VERBOSITY",
        "RAY_ADDRESS",
        "GUNICORN_CMD_ARGS",
    ):
        monkeypatch.setenv(name, "1")
    body = """
        import os, sys
        claims = {"asserts_count": not sys.flags.optimize}
        for name in os.environ:
            assert not name.startswith(("LC_", "TF_DET", "GRPC_", "PYTHONOPT", "PYTHONWARN", "RAY_", "GUNICORN_")), name
    """
    with Runner(preload=(), limit=1) as runner:
        result = run(runner, program(body))
    assert result.error is None
    assert result.record
    assert result.record.claims == {"asserts_count": True}


def test_a_model_server_of_the_machine_is_hidden_from_it(
    program: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What a program would take in place of the stand-in of its record is not found; the commands beside it are."""
    for name in ("tensorflow_model_server", "beside_it"):
        file = tmp_path / "bin" / name
        file.parent.mkdir(exist_ok=True)
        file.write_text("#!/bin/sh\necho here\n")
        file.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{os.environ['PATH']}")
    body = """
        import shutil, subprocess
        print(subprocess.check_output("beside_it", text=True))
        claims = {"hidden": shutil.which("tensorflow_model_server") is None}
    """
    with Runner(preload=(), limit=1) as runner:
        result = run(runner, program(body))
    assert result.error is None
    assert result.record
    assert result.record.claims == {"hidden": True}
    assert result.record.output == {"": "here\n\n"}


def test_it_asks_its_own_server_where_there_is_a_proxy(program: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "HTTP_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:1")  # where nobody listens
    monkeypatch.setenv("no_proxy", "example.org")
    body = """
        import http.server, threading, urllib.error, urllib.request
        server = http.server.HTTPServer(("127.0.0.1", 0), http.server.BaseHTTPRequestHandler)
        threading.Thread(target=server.handle_request, daemon=True).start()
        try:
            urllib.request.urlopen(f"http://127.0.0.1:{server.server_port}")
        except urllib.error.HTTPError as answer:
            claims = {"it_answered": answer.code == 501}
    """
    with Runner(preload=(), limit=1) as runner:
        result = run(runner, program(body))
    assert result.error is None
    assert result.record
    assert result.record.claims == {"it_answered": True}


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
    assert result.error == f"{one.path}:{line}: section 'never' was never executed: let it run, or remove its markers"
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
    assert time.monotonic() - started < LONG / 2
    assert error.startswith(f"{one.path}:{line_of(one, f'time.sleep({LONG})' + chr(10))}: it still ran after 6 s")
    assert "make it do less, or raise seconds in [tool.guide]" in error
    until_gone(*map(int, (tmp_path / "pids").read_text().split()))


def test_a_process_left_behind_is_an_error_and_is_killed(runner: Runner, program: Make) -> None:
    one = program(f"""
        import subprocess, sys
        code = "import time; time.sleep({LONG})  # the orphan"
        subprocess.Popen([sys.executable, "-c", code], start_new_session=True)
    """)
    error = error_of(runner, one)
    assert "it left a process behind: " in error
    orphan = re.search(r"# the orphan \(process (\d+)\): end it", error)
    assert orphan
    pid = int(orphan[1])
    until_gone(pid)


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
    until_gone(int((tmp_path / "pid").read_text()))


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


def test_env_is_there_before_anything_is_imported(program: Make) -> None:
    """Also where others are forked: what the system says of a process is how its interpreter started."""
    body = """
        with open("/proc/self/environ", "rb") as environ:
            claims = {"set": b"PLACE=here" in environ.read().split(bytes(1))}
    """
    with Runner(preload=("json",), limit=1) as runner:
        result = run(runner, program(body, env={"PLACE": "here"}))
    assert result.record is not None, result.error
    assert result.record.claims == {"set": True}
