# /// script
# requires-python = ">=3.11,<3.14"
# dependencies = ["tensorflow==2.21.*"]
#
# [tool.guide]
# seconds = 60
# ///
"""Keep the weights on one device and let the others pull and push: with waiting, and without."""

# --8<-- [start:server]
import numpy as np
import tensorflow as tf

devices = tf.config.list_logical_devices("GPU") or tf.config.list_logical_devices("CPU")
DEVICES = [d.name for d in devices]
WORKERS, ROWS, FEATURES, RATE, ROUNDS = 3, 8, 6, 0.1, 10
# Device 0 is the server.
place = [DEVICES[(1 + w) % len(DEVICES)] for w in range(WORKERS)]
random = np.random.default_rng(5)
x = random.normal(size=(WORKERS * ROWS, FEATURES)).astype("float32")
y = x @ np.arange(FEATURES, dtype="float32")[:, None]


class Server:
    """The only copy of the weights, with a count of its traffic and of its updates."""

    def __init__(self, rate=RATE):
        self.rate = rate
        with tf.device(DEVICES[0]):
            self.weights = tf.Variable(tf.zeros((FEATURES, 1)))
        self.out_bytes = self.in_bytes = self.version = 0

    def pull(self) -> tuple[tf.Tensor, int]:
        """Send the weights, and say which version they are."""
        self.out_bytes += self.weights.dtype.size * FEATURES
        return self.weights.read_value(), self.version

    def push(self, *gradients: tf.Tensor) -> None:
        """Receive gradients and apply their mean as one update."""
        self.in_bytes += sum(g.dtype.size * FEATURES for g in gradients)
        self.weights.assign_sub(self.rate * tf.add_n(gradients) / len(gradients))
        self.version += 1


def gradient(worker: int, weights: tf.Tensor) -> tf.Tensor:
    """Return the gradient that a worker finds on its own rows: 2/n X^T (Xw - y)."""
    rows = slice(worker * ROWS, (worker + 1) * ROWS)
    with tf.device(place[worker]):
        return (
            2 / ROWS * tf.matmul(x[rows], x[rows] @ weights - y[rows], transpose_a=True)
        )


# --8<-- [end:server]

# --8<-- [start:waiting]
waiting, further = Server(), Server(WORKERS * RATE)  # at two rates
for server in (waiting, further):
    for _ in range(ROUNDS):
        # All read the same version.
        found = [gradient(w, server.pull()[0]) for w in range(WORKERS)]
        server.push(*found)  # one update for all
# --8<-- [end:waiting]

# --8<-- [start:not_waiting]
free = Server()
held = [free.pull() for _ in range(WORKERS)]
staleness = []
for turn in range(ROUNDS * WORKERS):
    worker = turn % WORKERS
    weights, version = held[worker]
    staleness.append(free.version - version)  # updates by others since this worker read
    free.push(gradient(worker, weights))
    held[worker] = free.pull()
# --8<-- [end:not_waiting]

# --8<-- [start:compare]
reference = np.zeros((FEATURES, 1))
for _ in range(ROUNDS):
    # One device, the whole batch, in NumPy.
    reference -= RATE * 2 / len(x) * x.T @ (x @ reference - y)


def loss(weights) -> float:
    """Return the mean squared error on all rows."""
    return float(np.mean((x @ np.asarray(weights) - y) ** 2))


size = waiting.weights.dtype.size * FEATURES
print(
    "waiting:     updates",
    waiting.version,
    " staleness 0",
    f" loss {loss(waiting.weights):.4f}",
)
print(
    f"waiting, at {WORKERS} times the rate: updates",
    further.version,
    f" loss {loss(further.weights):.4f}",
)
print(
    "not waiting: updates",
    free.version,
    f" staleness {max(staleness)}",
    f" loss {loss(free.weights):.4f}",
)
print("one device:  updates", ROUNDS, f" loss {loss(reference):.4f}")
print(
    "server sends in a round:",
    waiting.out_bytes // ROUNDS,
    "bytes; the weights are",
    size,
)
# --8<-- [end:compare]

claims = {
    "waiting_equals_one_device": bool(
        np.allclose(waiting.weights, reference, atol=1e-4)
    ),
    "not_waiting_equals_one_device": bool(
        np.allclose(free.weights, reference, atol=1e-4)
    ),
    "waiting_at_more_rate_gets_as_far": abs(loss(further.weights) - loss(free.weights))
    < 0.1 * loss(waiting.weights),
    "one_copy_of_the_weights": waiting.weights.device.endswith(DEVICES[0]),
    "not_waiting_reads_are_stale": staleness[WORKERS:]
    == [WORKERS - 1] * (len(staleness) - WORKERS),
    "not_waiting_reads_are_fresh": max(staleness) == 0,
    "server_traffic_grows_with_workers": waiting.out_bytes
    == ROUNDS * WORKERS * size
    == waiting.in_bytes,
    "server_traffic_is_independent_of_workers": waiting.out_bytes == ROUNDS * size,
    "not_waiting_makes_more_updates": free.version == WORKERS * waiting.version,
}
measures = {
    "workers": WORKERS,
    "staleness": staleness[-1],
    "server_bytes_per_round": waiting.out_bytes // ROUNDS,
}
measures |= {
    "weight_bytes": size,
    "updates_waiting": waiting.version,
    "updates_not_waiting": free.version,
}
