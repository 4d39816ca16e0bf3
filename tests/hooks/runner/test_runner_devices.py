"""Devices from a table that a test can make up, and programs forked from a server that has TensorFlow imported."""

from __future__ import annotations

import mmap
import os
import platform
import subprocess
import sys
import sysconfig
import time
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from hooks import busy, child, devices, launch
from hooks import runner as runs
from hooks.errors import ROOT
from hooks.runner import Block, Runner
from tests.anew import anew
from tests.hooks.runner.kit import Make, error_of, result_of, run
from tests.until import LONG, until

if TYPE_CHECKING:
    from collections.abc import Iterator


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


@pytest.mark.parametrize(
    ("limit", "expected"),
    [("150000 100000", 1), ("50000 100000", 1), ("max 100000", None), ("90000000 100000", None), (None, None)],
)
def test_the_limit_of_a_container_counts(limit: str | None, expected: int | None, tmp_path: Path) -> None:
    own = anew(devices)
    own.QUOTA = tmp_path / "cpu.max"
    free = own.cores()
    if limit:
        own.QUOTA.write_text(f"{limit}\n")
    assert own.cores() == (expected or free)


@pytest.mark.parametrize(
    ("chosen", "there", "wanted", "expected"),
    [
        (None, ["0", "1", "2"], 2, "0,1"),
        ("5, 3,1", ["0", "1"], 2, "5,3"),
        ("GPU-8f2c", ["0", "1"], 1, "GPU-8f2c"),
        ("GPU-8f2c", ["0", "1"], 2, None),
        (None, ["0"], 2, None),
        (None, [], 1, None),
        ("", ["0"], 1, None),
    ],
)
def test_gpus_are_chosen_before_cuda_starts(
    chosen: str | None, there: list[str], wanted: int, expected: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A child that is forked after TensorFlow has counted them could not use them."""
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    if chosen is not None:
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", chosen)
    monkeypatch.setattr(devices, "_of_each_gpu", lambda what: there)
    assert devices._show_first(wanted) == (expected is not None)
    assert os.environ.get("CUDA_VISIBLE_DEVICES") == (chosen if expected is None else expected)


def test_where_there_are_enough_gpus_tensorflow_is_not_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    """This process must not import it, and it would find no GPU here."""
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "0,1,2")
    devices.prepare("gpu", 2)
    assert os.environ["CUDA_VISIBLE_DEVICES"] == "0,1"
    assert "tensorflow" not in sys.modules


def test_a_gpu_program_computes_without_tensorfloat_32(runner: Runner, program: Make) -> None:
    body = """
        import tensorflow as tf
        claims = {"off": not tf.config.experimental.tensor_float_32_execution_enabled()}
    """
    result = result_of(runner.submit_program(program(body, devices=0, seconds=60), device="gpu"))
    assert result.record is not None, result.error
    assert result.record.claims == {"off": True}


def test_an_error_without_a_file_keeps_its_traceback() -> None:
    try:
        raise OSError("no driver")
    except OSError as problem:
        said = child.describe(problem, "", "demo/plain.py")
    assert said.startswith("demo/plain.py: OSError: no driver\nTraceback")
    assert said.count("demo/plain.py") == 1


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


def test_a_program_on_a_gpu_finds_the_kernels_that_were_compiled_before(runner: Runner, program: Make) -> None:
    """In a new home folder the driver would compile them again, for each program."""
    body = """
        import os
        from pathlib import Path
        there = Path(os.environ["CUDA_CACHE_PATH"])
        claims = {"kept": there.is_absolute() and not there.is_relative_to(Path.home())}
    """
    result = result_of(runner.submit_program(program(body), device="gpu"))
    assert result.record is not None, result.error
    assert result.record.claims == {"kept": True}


def test_a_program_on_a_gpu_finds_cusolver(runner: Runner, program: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    """The system reads the variable when a process starts. TensorFlow 2.21.0 does not look where pip puts it."""
    monkeypatch.setenv("LD_LIBRARY_PATH", "/opt/own")
    folders = devices._with_cusolver().split(os.pathsep)
    assert folders[0].endswith("site-packages/nvidia/cusolver/lib")
    assert folders[1:] == ["/opt/own"]
    body = """
        from pathlib import Path
        begun_with = Path("/proc/self/environ").read_bytes().split(bytes(1))
        claims = {"there": any(b"cusolver" in one for one in begun_with if one.startswith(b"LD_LIBRARY_PATH="))}
    """
    result = result_of(runner.submit_program(program(body), device="gpu"))
    assert result.record is not None, result.error
    assert result.record.claims == {"there": True}


@pytest.mark.skipif(
    (sys.platform, platform.machine()) != ("linux", "x86_64"), reason="the wheels for other systems know no NVIDIA GPU"
)
def test_tensorflow_still_needs_to_be_told_where_cusolver_is() -> None:
    """Once it looks there itself, `_with_cusolver` and what the pages say of it can go."""
    place = Path(sysconfig.get_path("purelib"), "tensorflow", "libtensorflow_framework.so.2")
    with place.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as held:
        assert held.find(b"/nvidia/cufft/lib") > 0, "its RUNPATH is not where it was"
        assert held.find(b"/nvidia/cusolver/lib") < 0, (
            "remove `_with_cusolver`, and the lines in docs/strategies/one-device.md"
        )


def test_a_program_that_leaves_the_gpu_alone_is_told(runner: Runner, program: Make) -> None:
    """No GPU is visible to it, as where it hides all."""
    made = program("claims = {'ran': True}", devices=0)
    assert result_of(runner.submit_program(made, device="gpu")).idle
    assert not result_of(runner.submit_program(made)).idle


@pytest.mark.parametrize(
    ("visible", "peaks", "children_s", "expected"),
    [
        ([], [], 0.0, True),
        (["one"], [0], 0.0, True),
        (["one"], [0], 0.1, True),
        (["one"], [0], 9.0, False),
        (["one", "two"], [0, 256], 0.0, False),
    ],
)
def test_whether_a_gpu_was_used(
    visible: list[str], peaks: list[int], children_s: float, expected: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By this process, or by a child that ran for longer than nvidia-smi does."""
    config = SimpleNamespace(
        get_visible_devices=lambda kind: visible,
        list_logical_devices=lambda kind: peaks,
        experimental=SimpleNamespace(get_memory_info=lambda name: {"peak": peaks[int(name.removeprefix("GPU:"))]}),
    )
    module = SimpleNamespace(config=config, errors=SimpleNamespace(OpError=KeyError))
    monkeypatch.setitem(sys.modules, "tensorflow", module)
    own = anew(devices)
    own.os = SimpleNamespace(times=lambda: (1.0, 1.0, children_s, 0.0, 5.0))
    assert own.unused("gpu") is expected
    assert own.unused("cpu") is False
    monkeypatch.setattr(config, "list_logical_devices", {}.__getitem__)
    assert own.unused("gpu") is (expected and not visible), "GPUs that cannot be started count as used"


def test_a_fake_device_reaches_the_program(runner: Runner, program: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(devices.TABLE, "cpu", devices.Device("cpu", "CPU", env={"WHERE": "fake"}))
    result = run(runner, program("import os\nclaims = {'fake': os.environ['WHERE'] == 'fake'}"))
    assert result.record is not None, result.error
    assert result.record.claims == {"fake": True}


def test_a_programs_own_variables_count_more_than_the_devices(
    runner: Runner, program: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(devices.TABLE, "cpu", devices.Device("cpu", "CPU", env={"PLACE": "there"}))
    result = run(runner, program("import os\nclaims = {'own': os.environ['PLACE'] == 'here'}", env={"PLACE": "here"}))
    assert result.record is not None, result.error
    assert result.record.claims == {"own": True}


@pytest.mark.parametrize("chosen", [None, "3"])
def test_what_hides_the_gpus_from_the_server_does_not_reach_a_job_for_a_gpu(
    chosen: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only the user's own choice of a GPU does, which the CPU does not heed."""
    monkeypatch.setitem(devices.TABLE, "gpu", devices.Device("gpu", "GPU", env={"WHERE": "fake"}))
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    if chosen:
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", chosen)
    block = Block("b", "import os\nprint(os.environ.get('WHERE'), os.environ.get('CUDA_VISIBLE_DEVICES'))")
    with Runner(preload=("json",), limit=1) as runner:
        outputs = {}
        for device in ("cpu", "gpu", "cpu"):
            [result] = result_of(runner.submit_page("p", [block], device=device, devices_wanted=0))
            outputs[device] = result.output
    assert outputs == {"cpu": "None -1\n", "gpu": f"fake {chosen}\n"}


# Forked from the process that has TensorFlow imported.


@pytest.fixture(scope="module")
def preloaded() -> Iterator[Runner]:
    with Runner(limit=1) as one:
        yield one


def test_a_forked_program_finds_tensorflow_imported_but_not_started(preloaded: Runner, program: Make) -> None:
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
        result = run(preloaded, one)
        assert result.record is not None, result.error
        assert result.record.claims == dict.fromkeys(result.record.claims, True)


def test_autograph_reads_the_source_of_a_block_not_of_the_runner(preloaded: Runner) -> None:
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
    [result] = result_of(preloaded.submit_page("p", [Block("b", source)]))
    assert (result.error, result.output) == (None, "10\n")


def test_a_program_forks_workers_quickly_from_where_it_was_forked(preloaded: Runner, program: Make) -> None:
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
    result = run(preloaded, one)
    assert result.record is not None, result.error


def runner_anew() -> Any:
    """Return the module of the runner, with that which starts interpreters: the session's server may be starting."""
    own = anew(runs)
    own.launch = anew(launch)
    return own


def test_a_preload_that_fails_is_named(program: Make) -> None:
    with Runner(preload=("no_such_module",), limit=1) as runner:
        error = error_of(runner, program("print(1)"))
    assert "importing no_such_module failed: ModuleNotFoundError" in error


def test_a_preload_that_takes_too_long_is_named(program: Make, tmp_path: Path) -> None:
    (tmp_path / "slow_module.py").write_text(f"import time\ntime.sleep({LONG})")
    own = runner_anew()
    own.launch.FIXED_ENV["PYTHONPATH"] = str(tmp_path)
    own.launch.START = 0.5
    with own.Runner(preload=("slow_module",), limit=1) as runner:
        error = error_of(runner, program("print(1)"))
    assert "importing slow_module failed: it still ran after " in error


def test_closing_does_not_wait_for_a_slow_import(
    program: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "slow_module.py").write_text(
        f"open({str(tmp_path / 'began')!r}, 'w').close()\nimport time\ntime.sleep({LONG})"
    )
    own = runner_anew()
    own.launch.FIXED_ENV["PYTHONPATH"] = str(tmp_path)
    # What waits for the import at all waits to its end, not to a limit that a slow machine could reach too.
    own.launch.START = 2 * LONG
    own.launch.wait = lambda process: process.wait()
    runner = own.Runner(preload=("slow_module",), limit=1)
    future = runner.submit_program(program("print(1)"))
    for thread in runner._threads:
        monkeypatch.setattr(thread, "join", lambda timeout, join=thread.join: join())
    until((tmp_path / "began").exists, "the import to begin")
    started = time.monotonic()
    runner.close()
    assert time.monotonic() - started < LONG / 2
    assert not future.result(timeout=5).ok


def test_a_server_that_was_killed_is_started_again(program: Make) -> None:
    with Runner(preload=("json",), limit=1) as runner:
        assert run(runner, program("print(1)")).ok
        server = runner._launcher._server
        assert server is not None
        server.kill()
        server.wait(timeout=busy.stretched(10))
        assert run(runner, program("print(2)")).ok


def test_the_tests_own_process_has_no_tensorflow() -> None:
    assert "tensorflow" not in sys.modules
    code = "import sys, hooks.runner, hooks.record, hooks.results; sys.exit('tensorflow' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=False, timeout=busy.stretched(60))
    assert done.returncode == 0
