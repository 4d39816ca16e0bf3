# /// script
# requires-python = ">=3.11,<3.14"
# dependencies = ["tensorflow==2.21.*"]
#
# [tool.guide]
# devices = 0
# seconds = 90
# ///
"""Register a dataset with a tf.data service, and read it by its id: a job is then known by its id and its name."""

import itertools

import tensorflow as tf

tf.config.set_visible_devices([], "GPU")

# --8<-- [start:register]
service = tf.data.experimental.service
dispatcher = service.DispatchServer(service.DispatcherConfig(port=0))
address = dispatcher.target.removeprefix("grpc://")
worker = service.WorkerServer(
    service.WorkerConfig(address, port=0, heartbeat_interval_ms=200)
)


def by_id(dataset_id, name):
    """Read a registered dataset; readers of one id and one name share its rows."""
    dynamic = service.ShardingPolicy.DYNAMIC
    return service.from_dataset_id(
        dynamic, dispatcher.target, dataset_id, job_name=name
    )


def first(data, count=20):
    return [int(n) for n in itertools.islice(data, count)]


numbers = tf.data.Dataset.range
train = service.register_dataset(
    dispatcher.target, numbers(1000).repeat(), dataset_id="train"
)
valid = service.register_dataset(
    dispatcher.target, numbers(5000, 5020), dataset_id="valid"
)
running = iter(by_id(train, "run 1"))
next(running)
of_valid = first(by_id(valid, "run 1"))
print("of validation, while a job of this name runs:", len(of_valid))
print("all of them validation rows:", min(of_valid) >= 5000)
again = first(by_id(valid, "run 1"))
print("the same id and name once more:", len(again))
# --8<-- [end:register]


# --8<-- [start:share]
def two_read(ids):
    """Let two readers, as two processes would be, take turns; return what each gets."""
    readers = [iter(by_id(one, "run 2")) for one in ids]
    heard = [[], []]
    for rows in itertools.zip_longest(*readers):
        for mine, row in zip(heard, rows, strict=True):
            if row is not None:
                mine.append(int(row))
    return heard


data = numbers(40)
named = [
    service.register_dataset(dispatcher.target, data, dataset_id="shared")
    for _ in range(2)
]
unnamed = [service.register_dataset(dispatcher.target, data) for _ in range(2)]
together, apart = two_read(named), two_read(unnamed)
print("one dataset_id, rows of both readers:", sum(map(len, together)))
print("an id that the service made for each:", sum(map(len, apart)))
# --8<-- [end:share]

# --8<-- [start:changed]
try:
    service.register_dataset(dispatcher.target, numbers(999), dataset_id="shared")
    changed = "nothing was raised"
except tf.errors.InvalidArgumentError as error:
    what = " ".join(error.message.partition("}} ")[2].split())
    changed = f"{type(error).__name__}: {what.partition(' . To fix')[0]}"
print(changed)
other = service.register_dataset(
    dispatcher.target, numbers(100, 140), dataset_id="shared"
)
of_other = first(by_id(other, "run 3"), 40)
print("as many other rows are taken without an error, and these come:", end=" ")
print(min(of_other), "to", max(of_other))
# --8<-- [end:changed]

claims = {
    "one_name_does_not_mix_two_ids": sorted(of_valid) == [*range(5000, 5020)],
    "a_name_that_is_used_again_gives_nothing": again == [],
    "one_id_and_name_share_the_rows": sorted(itertools.chain(*together))
    == [*range(40)],
    "ids_of_the_service_differ": unnamed[0].numpy() != unnamed[1].numpy(),
    "two_ids_give_all_rows_twice": all(sorted(rows) == [*range(40)] for rows in apart),
    "an_id_refuses_data_of_another_length": "cardinality" in changed,
    "an_id_takes_other_rows_and_gives_the_old": sorted(of_other) == [*range(40)],
}
errors = {"changed": changed}
