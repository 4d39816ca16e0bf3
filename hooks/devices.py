"""What `cpu`, `gpu` and `tpu` mean: one table, read by the runner and in the process of a program.

Only the standard library is imported at the top: the code that needs TensorFlow imports it where it runs, which is
never the process of the tests.
"""

from __future__ import annotations

import contextlib
import functools
import json
import os
import platform
import re
import shutil
import subprocess
import sys
import sysconfig
from dataclasses import dataclass, field
from pathlib import Path

DEFAULT_MIB = 8192
SHARE = 0.8
IMPORT_S = 1.0
# What a container may use: microseconds of processor time in each period (cgroup v2).
QUOTA = Path("/sys/fs/cgroup/cpu.max")


@dataclass(frozen=True)
class Device:
    """One kind of device.

    Args:
        name: what `--device` calls it.
        kind: what TensorFlow calls it (`CPU`, `GPU`, `TPU`).
        env: variables that must be set before TensorFlow starts.
        splits: whether one physical device can stand for several logical ones.
        exclusive: whether only one program at a time may use it.
        tolerance_factor: by how much the tolerance of a program grows, for devices that sum in another order.
        probe: Python code for a process of its own; prints a JSON object `{"hardware": [names]}`.
    """

    name: str
    kind: str
    env: dict[str, str] = field(default_factory=dict)
    splits: bool = True
    exclusive: bool = False
    tolerance_factor: float = 1.0
    probe: str = ""


_PROBE_GPU = """
import json, tensorflow as tf
found = tf.config.list_physical_devices("GPU")
names = [tf.config.experimental.get_device_details(one).get("device_name", "GPU") for one in found]
print(json.dumps({"hardware": names}))
"""
_PROBE_TPU = """
import json, os, tensorflow as tf
resolver = tf.distribute.cluster_resolver.TPUClusterResolver(tpu="local")
tf.config.experimental_connect_to_cluster(resolver)
tf.tpu.experimental.initialize_tpu_system(resolver)
kind = os.environ.get("TPU_ACCELERATOR_TYPE", "TPU")
print(json.dumps({"hardware": [f"{kind} core" for _ in tf.config.list_logical_devices("TPU")]}))
"""


def _with_cusolver() -> str:
    """Return the search path for libraries, with the folder of cuSOLVER before it, where pip installs that.

    TensorFlow opens seven of NVIDIA's libraries when it lists the GPUs, and without one of them it lists none. The
    wheel of 2.21.0 looks for this one only where the system does: the RUNPATH of its `libtensorflow_framework.so.2`
    (`readelf -d`) leaves out the folder, which is in those of 2.20.0 and 2.22.0rc0.
    """
    folder = Path(sysconfig.get_path("purelib"), "nvidia", "cusolver", "lib")
    return os.pathsep.join(part for part in (str(folder), os.environ.get("LD_LIBRARY_PATH", "")) if part)


TABLE: dict[str, Device] = {
    "cpu": Device("cpu", "CPU", env={"CUDA_VISIBLE_DEVICES": "-1"}),
    "gpu": Device(
        "gpu",
        "GPU",
        # Programs compare with NumPy: no TensorFloat-32, whose inputs have 10 bits (https://www.tensorflow.org/api_docs/
        # python/tf/config/experimental/enable_tensor_float_32_execution).
        # The driver keeps the kernels that it compiles for a GPU newer than the wheel in the user's home folder
        # (https://docs.nvidia.com/cuda/cuda-c-programming-guide/#cuda-environment-variables). A program's is new:
        # it would compile them again, "which could take 30 minutes or longer"
        # (https://github.com/tensorflow/tensorflow/blob/v2.21.0/tensorflow/core/common_runtime/gpu/gpu_device.cc).
        env={
            "CUDA_CACHE_PATH": os.path.expanduser("~/.nv/ComputeCache"),
            "LD_LIBRARY_PATH": _with_cusolver(),
            "NVIDIA_TF32_OVERRIDE": "0",
            "TF_FORCE_GPU_ALLOW_GROWTH": "true",
        },
        exclusive=True,
        tolerance_factor=10.0,
        probe=_PROBE_GPU,
    ),
    "tpu": Device("tpu", "TPU", splits=False, exclusive=True, tolerance_factor=30.0, probe=_PROBE_TPU),
}


def plan(device: Device, wanted: int, physical: int, memory_mib: int | None = None) -> list[tuple[int, int | None]]:
    """Say how many logical devices each physical one becomes, and how much memory (MiB) each of them may take.

    Args:
        device: the kind of device.
        wanted: logical devices that a program asks for.
        physical: devices of this kind that the machine has.
        memory_mib: memory of one physical device, where it is known.

    Returns:
        One pair for each physical device to use; empty where there is nothing to set up. The memory is None where no
        limit is to be set.
    """
    if wanted == 0 or physical == 0 or not device.splits:
        return []
    if device.kind == "CPU":
        return [(wanted, None)]
    if physical >= wanted:
        return [(1, None)] * wanted
    counts = [wanted // physical + (at < wanted % physical) for at in range(physical)]
    return [(count, int((memory_mib or DEFAULT_MIB) * SHARE) // count) for count in counts]


def prepare(name: str, wanted: int) -> None:
    """Set up logical devices in this process, before TensorFlow's runtime starts. A TPU has nothing to split."""
    device = TABLE[name]
    if not device.splits or (device.kind == "GPU" and _show_first(wanted)):
        return
    import tensorflow as tf  # noqa: PLC0415 - only the process of a program may import it

    physical = tf.config.list_physical_devices(device.kind)
    if not physical:
        raise RuntimeError(f"TensorFlow sees no {device.kind}")
    shares = plan(device, wanted, len(physical), _memory_mib() if device.kind == "GPU" else None)
    if device.kind == "GPU":
        tf.config.set_visible_devices(physical[: len(shares)], "GPU")
    for one, (count, limit) in zip(physical, shares, strict=False):
        if count > 1 or limit:
            logical = [tf.config.LogicalDeviceConfiguration(memory_limit=limit) for _ in range(count)]
            tf.config.set_logical_device_configuration(one, logical)


def compute_exactly(name: str) -> None:
    """Keep TensorFloat-32 out of all of a GPU's kernels in this process: those that XLA writes read no variable.

    The variable of the table does so for NVIDIA's libraries in the processes that a program starts, too.
    """
    if TABLE[name].kind == "GPU":
        import tensorflow as tf  # noqa: PLC0415 - only the process of a program may import it

        tf.config.experimental.enable_tensor_float_32_execution(False)  # this starts no GPU


def unused(name: str) -> bool:
    """Tell whether this process, which is about to end, left the GPUs alone: a record of it would say nothing of them.

    It hides them, or has put nothing on them (since the last `reset_memory_stats`), and no process that it started and
    waited for could have. Other devices are not asked. What cannot be told counts as used.
    """
    if TABLE[name].kind != "GPU":
        return False
    import tensorflow as tf  # noqa: PLC0415 - only the process of a program may import it

    if not tf.config.get_visible_devices("GPU"):
        return True
    # Importing TensorFlow alone takes a child longer; nvidia-smi takes less.
    if sum(os.times()[2:4]) > IMPORT_S:
        return False
    used = tf.config.experimental.get_memory_info
    try:  # this starts the GPUs where nothing did so far, which fails beside a process that holds their memory
        return not any(used(f"GPU:{at}")["peak"] for at, _ in enumerate(tf.config.list_logical_devices("GPU")))
    except (RuntimeError, ValueError, tf.errors.OpError):
        return False


def present(name: str, *, table: dict[str, Device] | None = None) -> str | None:
    """Return why the device cannot be used here, None where it can. It asks a process of its own."""
    return _look((table or TABLE)[name])[0] if name in (table or TABLE) else f"there is no device '{name}'"


def hardware(name: str, *, table: dict[str, Device] | None = None) -> str:
    """Return what the device is, for the record: the processor and its cores, or the accelerators."""
    found = _look((table or TABLE)[name])[1]
    names = [f"{found.count(one)}x {one}" if found.count(one) > 1 else one for one in dict.fromkeys(found)]
    return ", ".join([*names, _processor()])


def cores() -> int:
    """Return how many cores this process may use, by its affinity and by the limit of the container around it."""
    found = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    # Outside a container there is no file; one that may use everything says `max`, which is no number.
    with contextlib.suppress(OSError, ValueError):
        allowed, period = QUOTA.read_text().split()
        found = max(1, min(found, int(allowed) // int(period)))
    return found


def _look(device: Device) -> tuple[str | None, list[str]]:
    return _ask(device.kind, device.probe, tuple(sorted(device.env.items())))


@functools.lru_cache(maxsize=16)
def _ask(kind: str, probe: str, env: tuple[tuple[str, str], ...]) -> tuple[str | None, list[str]]:
    if not probe:
        return None, []
    settings = {**os.environ, **dict(env), "TF_CPP_MIN_LOG_LEVEL": "2"}
    command = [sys.executable, "-P", "-c", probe]
    try:
        done = subprocess.run(command, capture_output=True, text=True, env=settings, timeout=180, check=False)
        last = done.stdout.strip().splitlines()[-1:] or ["{}"]
        found = json.loads(last[0]).get("hardware", []) if done.returncode == 0 else []
    except subprocess.TimeoutExpired:
        return f"looking for a {kind} took more than three minutes", []
    except ValueError:
        return f"looking for a {kind} gave no answer", []
    if found:
        return None, [str(name) for name in found]
    said = [line for line in done.stderr.strip().splitlines() if line.strip()][-1:]
    return f"TensorFlow finds no {kind} here" + (f" ({said[0].strip()[:200]})" if said and done.returncode else ""), []


@functools.lru_cache(maxsize=1)
def _processor() -> str:
    name = platform.machine()
    with_names = Path("/proc/cpuinfo")
    if with_names.is_file():
        match = re.search(r"^model name\s*:\s*(.+)$", with_names.read_text(errors="replace"), re.MULTILINE)
        name = match[1].strip() if match else name
    return f"{cores()} cores, {name}" if cores() > 1 else f"1 core, {name}"


def _show_first(wanted: int) -> bool:
    """Leave this process and its children as many GPUs; return False, and change nothing, where there are fewer.

    TensorFlow is not asked: it would start CUDA, which no child that is forked later could use
    (https://github.com/tensorflow/tensorflow/issues/57877).
    """
    chosen = os.environ.get("CUDA_VISIBLE_DEVICES")
    names = _of_each_gpu("index") if chosen is None else [name.strip() for name in chosen.split(",") if name.strip()]
    if len(names) < wanted:
        return False
    os.environ["CUDA_VISIBLE_DEVICES"] = ",".join(names[:wanted])
    return True


def _memory_mib() -> int | None:
    try:
        return min(int(amount) for amount in _of_each_gpu("memory.total"))
    except ValueError:
        return None


def _of_each_gpu(what: str) -> list[str]:
    """Return what the driver's tool says of each GPU; nothing where there is no such tool."""
    tool = shutil.which("nvidia-smi")
    if not tool:
        return []
    command = [tool, f"--query-gpu={what}", "--format=csv,noheader,nounits"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=20, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return []
    return done.stdout.split() if done.returncode == 0 else []
