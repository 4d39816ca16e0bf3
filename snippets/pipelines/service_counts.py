# /// script
# requires-python = ">=3.11,<3.14"
# dependencies = ["tensorflow==2.21.*"]
#
# [tool.guide]
# devices = 0
# seconds = 90
# ///
"""take, skip and batch before distribute: under DYNAMIC each worker of a tf.data service counts for itself."""

import tensorflow as tf

tf.config.set_visible_devices([], "GPU")

# --8<-- [start:counts]
service = tf.data.experimental.service
dispatcher = service.DispatchServer(service.DispatcherConfig(port=0))
address = dispatcher.target.removeprefix("grpc://")
workers = [
    service.WorkerServer(
        service.WorkerConfig(address, port=0, heartbeat_interval_ms=200)
    )
    for _ in range(2)
]
dynamic = service.distribute(service.ShardingPolicy.DYNAMIC, dispatcher.target)
rows = tf.data.Dataset.range(1000)
ways = {
    "take(100)": rows.take(100),
    "skip(100)": rows.skip(100),
    "batch(300, drop_remainder=True)": rows.batch(300, drop_remainder=True).unbatch(),
}


def counts(data):
    """Return the rows of five epochs: in some, a worker may begin late and get none."""
    return [sum(1 for _ in data) for _ in range(5)]


local = {way: counts(data)[0] for way, data in ways.items()}
served = {way: counts(data.apply(dynamic)) for way, data in ways.items()}
for way, found in served.items():
    word = "more" if max(found) > local[way] else "fewer"
    print(f"{way}: local {local[way]} rows, through two workers {word}")
# --8<-- [end:counts]

claims = {
    "take_gives_more": max(served["take(100)"]) > local["take(100)"],
    "never_less_than_asked": min(served["take(100)"]) >= local["take(100)"],
    "skip_gives_fewer": min(served["skip(100)"]) < local["skip(100)"],
    "a_dropped_rest_is_one_of_each_worker": min(served[[*ways][2]]) < local[[*ways][2]],
}
