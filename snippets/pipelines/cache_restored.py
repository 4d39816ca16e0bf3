# /// script
# requires-python = ">=3.11,<3.14"
# dependencies = ["tensorflow==2.21.*"]
#
# [tool.guide]
# devices = 0
# seconds = 120
# ///
"""Save the place of an iterator while a cache fills, in memory and in a file, and restore it after a kill."""

# --8<-- [start:memory]
import pathlib
import re
import shutil
import tempfile

import tensorflow as tf

plain = tf.data.Options()  # nothing is made ahead: each row is made when it is read
plain.experimental_optimization.apply_default_optimizations = False
plain.experimental_optimization.inject_prefetch = False


def kept(rows):
    """Return the size of a checkpoint, in rows of 4 KiB, once so many rows are in a cache in memory."""
    data = tf.data.Dataset.range(100).map(
        lambda n: tf.random.stateless_uniform([1024], [n, n], None, None, tf.int32)
    )
    iterator = iter(data.cache().with_options(plain))
    for _ in range(rows):
        next(iterator)
    with tempfile.TemporaryDirectory() as folder:
        tf.train.Checkpoint(iterator=iterator).write(f"{folder}/place")
        sizes = [file.stat().st_size for file in pathlib.Path(folder).iterdir()]
    return round(sum(sizes) / 4096, -1)


held = {rows: kept(rows) for rows in (0, 50, 99)}
for rows, size in held.items():
    print(f"{rows} rows in the cache: a checkpoint as large as {size:.0f} rows")
# --8<-- [end:memory]


# --8<-- [start:killed]
def numbers(folder):
    cached = tf.data.Dataset.range(10).cache(f"{folder}/rows")
    return iter(cached.with_options(plain))


def killed(folder):
    """Read three rows, save the place, read two more, and copy what a kill would leave."""
    with tempfile.TemporaryDirectory() as place:
        iterator = numbers(place)
        for _ in range(3):
            next(iterator)
        tf.train.Checkpoint(iterator=iterator).write(f"{place}/place")
        for _ in range(2):
            next(iterator)
        shutil.copytree(place, folder)


def restored(folder):
    """Go on from the saved place. Return the rows, and the error in which they end."""
    iterator, rows = numbers(folder), []
    tf.train.Checkpoint(iterator=iterator).read(f"{folder}/place")
    try:
        for row in iterator:
            rows.append(int(row))
    except tf.errors.OpError as error:
        return rows, error
    return rows, None


# --8<-- [end:killed]

# --8<-- [start:cures]
cures = {
    "as it is": [],
    "without *.lockfile": ["*.lockfile"],
    "without rows_1.*": ["rows_1.*"],
}
ends, errors = {}, {}
for name, patterns in cures.items():
    with tempfile.TemporaryDirectory() as place:
        folder = pathlib.Path(place, "left")
        killed(folder)
        left = sorted(file.name for file in folder.glob("rows*"))
        for file in [file for pattern in patterns for file in folder.glob(pattern)]:
            file.unlink()
        rows, error = restored(folder)
        ends[name] = rows, type(error).__name__ if error else "the end"
        if error:
            text = error.message.rpartition("}} ")[2].replace(f"{folder}/", "")
            text = text.partition(" ('")[0]
            errors[ends[name][1]] = f"{ends[name][1]}: {text.partition(' [Op:')[0]}"
for name in left:
    print("left by the kill:", re.sub(r"tempstate\d+", "tempstate...", name))
for name, (rows, end) in ends.items():
    print(f"{name}: {' '.join(map(str, rows)) or 'no row'}, then {end}")
# --8<-- [end:cures]

rest = list(range(3, 10))
claims = {
    "a_checkpoint_holds_what_a_cache_in_memory_holds": held == {0: 0, 50: 50, 99: 100},
    "a_lock_of_the_killed_run_raises": ends["as it is"] == ([], "AlreadyExistsError"),
    "without_all_locks_the_end_raises": ends["without *.lockfile"]
    == (rest, "NotFoundError"),
    "without_the_last_part_it_goes_on": ends["without rows_1.*"] == (rest, "the end"),
}
