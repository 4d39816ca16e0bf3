# /// script
# requires-python = ">=3.11,<3.14"
# dependencies = ["tensorflow==2.21.*", "keras==3.15.*"]
#
# [tool.guide]
# devices = 0
# processes = 2
# seconds = 400
# ///
"""Where a GPU does something else than a CPU: the same calls, on whichever the machine has."""

import json
import os
import re
import signal
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor

import keras
import numpy as np
import tensorflow as tf


# --8<-- [start:indices]
def beyond():
    """Look up the row after the last one."""
    return f"returns {tf.gather(tf.ones([3]), 3).numpy()}"


def label():
    """Compute the loss of class 3, where there are the classes 0 to 2."""
    losses = tf.nn.sparse_softmax_cross_entropy_with_logits
    return f"a loss of {losses(labels=[3], logits=tf.zeros([1, 3])).numpy()[0]}"


# --8<-- [end:indices]


# --8<-- [start:products]
def digits(exact):
    """Multiply matrices of float32; say how many digits are right."""
    tf.config.experimental.enable_tensor_float_32_execution(not exact)
    a, b = np.random.default_rng(0).normal(size=(2, 512, 512)).astype("float32")
    right = a.astype("float64") @ b.astype("float64")
    apart = abs(tf.matmul(a, b).numpy() - right).max() / abs(right).max()
    return f"right to {int(-np.log10(apart))} digits"


# --8<-- [end:products]


# --8<-- [start:recurrent]
FRONT, END = [[0, 0, 1, 2]], [[1, 2, 0, 0]]


def network(**options):
    """Return a network with a masked LSTM."""
    keras.utils.set_random_seed(0)
    inputs = keras.Input((4,), dtype="int32")
    hidden = keras.layers.Embedding(5, 3, mask_zero=True)(inputs)
    outputs = keras.layers.Dense(1)(keras.layers.LSTM(2, **options)(hidden))
    model = keras.Model(inputs, outputs)
    model.compile("sgd", "mse")
    return model


def fit(rows, **options):
    network(**options).fit(np.array(rows), np.ones((1, 1)), verbose=0)
    return "trains"


def call(rows):
    network()(np.array(rows))
    return "works"


def export(**options):
    """Export the network and call it in a process that sees no GPU."""
    model = network(**options)
    with tempfile.TemporaryDirectory() as folder:
        model.export(folder, verbose=False)
        return ask("serve", folder, CUDA_VISIBLE_DEVICES="-1")["serve"]


def serve(folder):
    exported = tf.saved_model.load(folder)
    exported.serve(tf.constant(END))
    return "works"


# --8<-- [end:recurrent]


def xla_by_itself():
    model = keras.Sequential([keras.Input((2,)), keras.layers.Dense(1)])
    model.compile("sgd", "mse")
    return "uses XLA" if model.jit_compile else "does not use XLA"


# --8<-- [start:determinism]
def contrast():
    """Run an operation that has no deterministic kernel for GPUs."""
    tf.config.experimental.enable_op_determinism()
    tf.image.adjust_contrast(tf.ones([1, 8, 8, 3]), 2.0)
    return "works"


def contrast_on_the_cpu():
    with tf.device("CPU:0"):
        return contrast()


# --8<-- [end:determinism]


# --8<-- [start:split]
def device():
    """Return the device that the cases run on."""
    found = tf.config.list_physical_devices("GPU")
    return (found or tf.config.list_physical_devices("CPU"))[0]


def split(limit=None):
    """Make two logical devices of it, before anything has run."""
    half = tf.config.LogicalDeviceConfiguration(memory_limit=limit)
    tf.config.set_logical_device_configuration(device(), [half, half])
    return f"{len(tf.config.list_logical_devices(device().device_type))} devices"


def fill():
    """Put 512 MiB on a logical device with a limit of 256 MB."""
    split(limit=256)
    tf.zeros([128, 2**20])
    return "works"


def grow_late():
    """Ask for memory growth after the first operation."""
    tf.ones([2]).numpy()
    tf.config.experimental.set_memory_growth(device(), True)
    return "works"


# --8<-- [end:split]


# --8<-- [start:replicas]
def add_up(operation=None, xla=False):
    """Add up over two logical devices, in a step that XLA compiles or does not."""
    split(limit=1024 if device().device_type == "GPU" else None)
    names = [one.name for one in tf.config.list_logical_devices(device().device_type)]
    strategy = tf.distribute.MirroredStrategy(names, cross_device_ops=operation)
    with strategy.scope():
        weight = tf.Variable(1.0)

    @tf.function(jit_compile=xla)
    def on_replica():
        context = tf.distribute.get_replica_context()
        return context.all_reduce("SUM", 2 * weight)

    @tf.function
    def step():
        return strategy.reduce("MEAN", strategy.run(on_replica), axis=None)

    return f"each gets {step().numpy()}"


# --8<-- [end:replicas]


# --8<-- [start:fork]
def fork(list_first):
    """Compute in a forked child; perhaps the parent has listed the devices before."""
    if list_first:
        device()
    ear, mouth = os.pipe()
    if not (child := os.fork()):
        signal.alarm(60)  # ends a child that hangs
        os.write(
            mouth, said(lambda: f"computes {tf.reduce_sum(tf.ones([2]))}").encode()
        )
        os._exit(0)
    os.close(mouth)
    answer = os.read(ear, 10_000).decode()
    os.waitpid(child, 0)
    return answer or "the child died"


# --8<-- [end:fork]


# What an error says of its place: of nodes and attributes, and where the program is.
PLACE = re.compile(
    r"\{\{[^}]*\}\}| \[Op:.*| with these attrs:.*| \(defined @ [^)]*\)|^ *\(0\) [A-Z_]+: "
)
AROUND = re.compile(r"Graph execution|Detected at|File |<stack|\d+ root error")


def said(function, *arguments):
    """Return what a call returns or raises, as one line of text."""
    try:
        return function(*arguments)
    except Exception as error:
        lines = [PLACE.sub("", line).strip() for line in str(error).splitlines()]
        told = [line for line in lines if line and not AROUND.match(line)]
        return f"{type(error).__name__}: {told[0][:300]}"


def ask(case, *arguments, **variables):
    """Run cases in a new process of this file; return what each of them says."""
    environment = os.environ | variables
    # The tests set it on a GPU: no TensorFloat-32, whatever the program says.
    environment.pop("NVIDIA_TF32_OVERRIDE", None)
    command = [sys.executable, __file__, case, *arguments]
    done = subprocess.run(
        command,
        capture_output=True,
        text=True,
        timeout=300,
        env=environment,
        check=False,
    )
    answers = [line for line in done.stdout.splitlines() if line.startswith('{"')]
    died = dict.fromkeys(case.split(","), f"died: {done.stderr[-300:]}")
    return json.loads(answers[-1]) if answers else died


CASES = {
    "beyond": (beyond, "`tf.gather` of the row after the last"),
    "label": (label, "a label after the last class"),
    "auto": (xla_by_itself, "`compile`, without a word about XLA"),
    "installed": (digits, "a product of float32 matrices", False),
    "exact": (digits, "the same, without TensorFloat-32", True),
    "end": (fit, "`fit` of an LSTM, rows padded at the end", END),
    "front": (fit, "the same, rows padded in front", FRONT),
    "call": (call, "a call of that LSTM, rows padded in front", FRONT),
    "export": (export, "an LSTM, exported here, called without a GPU"),
    "growth": (grow_late, "`set_memory_growth` after the first operation"),
    "contrast": (contrast, "`tf.image.adjust_contrast`, determinism enforced"),
    "contrast_cpu": (contrast_on_the_cpu, 'the same under `tf.device("CPU:0")`'),
    "split": (split, "two logical devices of one"),
    "limit": (split, "the same, with `memory_limit=256`", 256),
    "fill": (fill, "512 MiB on one of these"),
    "add": (add_up, "MirroredStrategy adds up over two of these"),
    "xla": (add_up, "the same, each replica's function compiled by XLA", None, True),
    "nccl": (add_up, "the same, with `NcclAllReduce`", tf.distribute.NcclAllReduce()),
    "fork": (fork, "a child forked before the devices are listed", False),
    "late": (fork, "a child forked after", True),
}
# The first ones share a process; each of the others sets something for a whole process.
TOGETHER = list(CASES)[:12]


def answer(name):
    function, _, *arguments = CASES[name]
    return said(function, *arguments)


if len(sys.argv) > 1:
    name, *arguments = sys.argv[1:]
    if name == "serve":
        print(json.dumps({name: said(serve, *arguments)}), flush=True)
    else:
        print(json.dumps({one: answer(one) for one in name.split(",")}), flush=True)
    os._exit(0)

with ThreadPoolExecutor(2) as pool:
    lots = [",".join(TOGETHER), *list(CASES)[12:]]
    answers = {
        name: text for found in pool.map(ask, lots) for name, text in found.items()
    }
gpu = bool(tf.config.list_physical_devices("GPU"))

# --8<-- [start:table]
rows = []
for name, (_, title, *_) in CASES.items():
    text = answers[name]
    kind, colon, more = text.partition(": ")
    cell = {"text": kind, "note": text} if colon else text
    elsewhere = {"text": "not run", "device": "gpu"}
    rows.append([title, "" if gpu else cell, cell if gpu else elsewhere])
    print(f"{title:52}", text if len(text) < 40 else kind)
tables = {"cases": {"columns": ["the call", "on a CPU", "on a GPU"], "rows": rows}}
# --8<-- [end:table]


def raises(name):
    return "Error" in answers[name]


claims = {
    "a_cpu_raises_for_a_wrong_index": gpu or raises("beyond"),
    "a_cpu_raises_for_a_wrong_label": gpu or raises("label"),
    "a_gpu_returns_for_a_wrong_index": not gpu or not raises("beyond"),
    "a_gpu_loses_a_wrong_label": not gpu or answers["label"] == "a loss of nan",
    "the_cpu_has_a_deterministic_kernel": answers["contrast_cpu"] == "works",
    "a_fork_before_the_list_computes": answers["fork"] == "computes 2.0",
}
measures = {}
