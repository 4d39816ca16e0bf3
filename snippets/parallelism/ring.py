# /// script
# requires-python = ">=3.11,<3.14"
# dependencies = ["tensorflow==2.21.*"]
#
# [tool.guide]
# seconds = 60
# ///
"""Write the ring all-reduce over devices, count what each one sends, and compare with TensorFlow's own."""

# --8<-- [start:ring]
import numpy as np
import tensorflow as tf

devices = tf.config.list_logical_devices("GPU") or tf.config.list_logical_devices("CPU")
DEVICES = [d.name for d in devices]


def ring_all_reduce(
    tensors: list[tf.Tensor],
) -> tuple[list[tf.Tensor], list[int], list[list[list[tuple]]]]:
    """Sum one tensor per rank so that every rank holds the sum.

    The first dimension must be a multiple of the number of ranks.

    Returns:
        The result of every rank, the bytes that every rank sent, and, after each step, whose values are summed in
        every chunk of every rank.
    """
    n = len(tensors)
    places = [DEVICES[rank % len(DEVICES)] for rank in range(n)]
    chunks = []
    for place, tensor in zip(places, tensors, strict=True):
        with tf.device(place):  # else all would be split on the first device
            chunks.append(list(tf.split(tensor, n)))
    holds = [[(rank,)] * n for rank in range(n)]
    sent, history = [0] * n, [[row[:] for row in holds]]
    for step in range(2 * (n - 1)):
        reducing = step < n - 1  # first half: reduce-scatter; second half: all-gather
        out = [(rank - step) % n for rank in range(n)]  # the chunk that each sends
        # All send at the same time.
        packets = [(chunks[rank][i], holds[rank][i]) for rank, i in enumerate(out)]
        for rank, (packet, origin) in enumerate(packets):
            i, receiver = out[rank], (rank + 1) % n
            sent[rank] += packet.dtype.size * int(tf.size(packet))
            with tf.device(places[receiver]):
                chunks[receiver][i] = (
                    chunks[receiver][i] + packet if reducing else tf.identity(packet)
                )
            holds[receiver][i] = (
                tuple(sorted(holds[receiver][i] + origin)) if reducing else origin
            )
        history.append([row[:] for row in holds])
    results = []
    for place, parts in zip(places, chunks, strict=True):
        with tf.device(place):
            results.append(tf.concat(parts, 0))
    return results, sent, history


# --8<-- [end:ring]

# --8<-- [start:check]
replicas = len(DEVICES)
values = [
    np.random.default_rng(rank).normal(size=12 * replicas).astype("float32")
    for rank in range(replicas)
]
placed = []
for device, value in zip(DEVICES, values, strict=True):
    with tf.device(device):
        placed.append(tf.constant(value))
results, sent, history = ring_all_reduce(placed)

strategy = tf.distribute.MirroredStrategy(DEVICES)
per_replica = strategy.experimental_distribute_values_from_function(
    lambda c: placed[c.replica_id_in_sync_group]
)


@tf.function
def all_reduce(value):
    """Run on every replica: give its value, get the sum."""
    return tf.distribute.get_replica_context().all_reduce("SUM", tf.identity(value))


library = strategy.experimental_local_results(
    strategy.run(all_reduce, args=(per_replica,))
)
gap = max(
    float(abs(ours - theirs).numpy().max())
    for ours, theirs in zip(results, library, strict=True)
)
print("ring and tf.distribute agree to float32 rounding:", gap < 1e-5)
print("bytes sent by each device:", sent, "for a tensor of", values[0].nbytes)
# --8<-- [end:check]


# --8<-- [start:compare]
def ring_bytes(n: int, size: float) -> float:
    """Return what the busiest device sends in a ring of n."""
    return 2 * (n - 1) / n * size


def server_bytes(n: int, size: float) -> float:
    """Return what one parameter server sends, when n workers pull the sum from it."""
    return n * size


def gather_bytes(n: int, size: float) -> float:
    """Return what each device sends, when it gives its whole tensor to all the others."""
    return (n - 1) * size


counted = {}
for n in (1, 2, 3, 4, 6, 8, 12):  # ranks take turns on the devices there are
    tensor = tf.ones(48)
    _, bytes_sent, _ = ring_all_reduce([tensor] * n)
    counted[n] = max(bytes_sent)
    print(
        f"{n:2} ranks: ring {counted[n]:3} bytes, formula {ring_bytes(n, 192):5.1f}, gather {gather_bytes(n, 192):6.1f}"
    )
# --8<-- [end:compare]

claims = {
    "equals_tf_distribute": gap < 1e-5,
    "equals_numpy": all(
        np.allclose(r, np.sum(values, axis=0), atol=1e-5) for r in results
    ),
    "every_device_holds_the_sum": all(
        result.device.endswith(device)
        for result, device in zip(results, DEVICES, strict=True)
    ),
    "every_device_sends_the_formula": all(
        abs(b - ring_bytes(replicas, values[0].nbytes)) < 1e-6 for b in sent
    ),
    "counted_equals_formula": all(counted[n] == ring_bytes(n, 192) for n in counted),
    "ring_bytes_below_twice_the_size": all(b < 2 * 192 for b in counted.values()),
    "ring_bytes_grow_with_devices": counted[12] / counted[2] > 5.9,
    "devices_send_unequal_amounts": len(set(sent)) > 1,
    "reduced_after_first_half": all(
        sum(len(c) == replicas for c in rank) == 1 for rank in history[replicas - 1]
    )
    or replicas == 1,
    "everyone_has_the_sum_after_first_half": replicas > 1
    and all(len(c) == replicas for rank in history[replicas - 1] for c in rank),
    "gather_costs_more": all(
        gather_bytes(n, 1) > ring_bytes(n, 1) for n in counted if n > 2
    ),
}
measures = {
    "replicas": replicas,
    "bytes_sent": sent[0],
    "tensor_bytes": values[0].nbytes,
    "steps": len(history) - 1,
}
measures |= {"bytes_at_2": counted[2], "bytes_at_12": counted[12]}
tables = {
    "widget": {
        "columns": ["replicas", "size", "ring", "server", "gather"],
        "rows": [
            [n, size, ring_bytes(n, size), server_bytes(n, size), gather_bytes(n, size)]
            for n in (1, 2, 3, 8, 64, 256)
            for size in (4 * 10**6, 10**9)
        ],
    }
}


def panel(step: int, state: list[list[tuple]]) -> dict:
    """Return the grid after a step: which ranks' values each chunk holds."""
    phase, number = (
        ("reduce-scatter", step)
        if step < replicas
        else ("all-gather", step - replicas + 1)
    )
    kind = dict.fromkeys(range(2, replicas), "partial sum") | {
        1: "own values",
        replicas: "sum of all",
    }
    return {
        "kind": "grid",
        "title": f"{phase} {number}" if step else "start",
        "rows": [f"device {rank}" for rank in range(replicas)],
        "columns": [f"chunk {i}" for i in range(replicas)],
        "text": [["+".join(map(str, c)) for c in row] for row in state],
        "group": [[kind[len(c)] for c in row] for row in state],
    }


figures = {
    "steps": {
        "kind": "panels",
        "columns": 2,
        "panels": [panel(i, s) for i, s in enumerate(history)],
    },
    "by_replicas": {
        "kind": "lines",
        "title": "Bytes that the busiest one sends for each byte of gradients",
        "xlabel": "replicas",
        "ylabel": "bytes",
        "xscale": "log2",
        "yscale": "log2",
        "markers": True,
        "x": [2, 4, 8, 16, 32, 64],
        "series": {
            "ring: each device": [ring_bytes(2**i, 1) for i in range(1, 7)],
            "one parameter server": [server_bytes(2**i, 1) for i in range(1, 7)],
            "everything to everybody: each device": [
                gather_bytes(2**i, 1) for i in range(1, 7)
            ],
        },
    },
}
