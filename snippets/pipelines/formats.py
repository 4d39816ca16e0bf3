# /// script
# requires-python = ">=3.11,<3.14"
# dependencies = ["tensorflow==2.21.*", "keras==3.15.*", "statsmodels>=0.14"]
#
# [tool.guide]
# devices = 0
# seconds = 180
# ///
"""Read a CSV file, a DataFrame and a large `.npy` file: what ends, what becomes of gaps, and what goes into memory."""

import math
import resource
import sys
import tempfile
from pathlib import Path

import keras
import numpy as np
import statsmodels.api as sm
import tensorflow as tf

# --8<-- [start:csv]
births = sm.datasets.fertility.load_pandas().data.rename(
    columns={"Country Name": "country"}
)
folder = tempfile.TemporaryDirectory()
path = str(Path(folder.name, "births.csv"))
births[["country", "1960"]].head(4).to_csv(path, index=False)
print(Path(path).read_text(), end="")
read = tf.data.experimental.make_csv_dataset

endless = read(path, batch_size=2)
print("batches of two, if a hundred are wanted:", sum(1 for _ in endless.take(100)))
once = read(path, batch_size=2, num_epochs=1, shuffle=False)
for columns in once:
    print(*columns["country"].numpy(), columns["1960"].numpy())
# --8<-- [end:csv]


def caught(action) -> str:
    """Return the error that an action raises, as `Type: text`, without the machine."""
    try:
        action()
    except (ValueError, tf.errors.InvalidArgumentError) as error:
        text = getattr(error, "message", str(error)).split("}} ")[-1].split(" [Op:")[0]
        if "The structure of" in text:  # Keras words it in bold, between other lines
            text = text[text.index("The structure of") :].split("\n")[0]
        return f"{type(error).__name__}: {text}"
    return ""


# --8<-- [start:defaults]
def rates(kind):
    """Return the column of 1960, with a default or a type given for it."""
    options = {"select_columns": ["1960"], "column_defaults": [kind]}
    data = read(path, 4, num_epochs=1, shuffle=False, **options)
    return next(iter(data))["1960"].numpy()


with_nan = rates(tf.constant([math.nan]))
print("the default NaN:", with_nan)
no_value = caught(lambda: rates(tf.float32))
print("a type:", no_value)
# --8<-- [end:defaults]

# --8<-- [start:fit]
table = str(Path(folder.name, "table.csv"))
births[["1960", "1961", "2011"]].dropna().head(8).to_csv(table, index=False)
options = {"batch_size": 4, "num_epochs": 1, "shuffle": False}
print("no label_name:", type(read(table, **options).element_spec).__name__)
data = read(table, **options, label_name="2011")
print("label_name:", [type(part).__name__ for part in data.element_spec])


def on_one_input(data):
    """Train a model with one input of two columns."""
    model = keras.Sequential([keras.Input((2,)), keras.layers.Dense(1)])
    model.compile(keras.optimizers.SGD(0.001), "mse")
    return model.fit(data, verbose=0).history["loss"][0]


def on_named_inputs(data):
    """Train a model with an input for each column."""
    inputs = [keras.Input((1,), name=name) for name in ("1960", "1961")]
    output = keras.layers.Dense(1)(keras.layers.Concatenate()(inputs))
    model = keras.Model(inputs, output)
    model.compile(keras.optimizers.SGD(0.001), "mse")
    return model.fit(data, verbose=0).history["loss"][0]


stacked = data.map(lambda x, y: (tf.stack(list(x.values()), axis=-1), y))
trained = {"stacked": on_one_input(stacked), "named": on_named_inputs(data)}
columns_into_one = caught(lambda: on_one_input(data))
print("one input, columns stacked: trains:", math.isfinite(trained["stacked"]))
print("an input for each column: trains:", math.isfinite(trained["named"]))
# --8<-- [end:fit]

# --8<-- [start:frame]
rows = tf.data.Dataset.from_tensor_slices(dict(births[["country", "1960"]]))
for row in rows.take(2).as_numpy_iterator():
    print(row["country"], row["1960"])


def loss(frame):
    """Train on two columns of a DataFrame, with a third as the target."""
    model = keras.Sequential([keras.Input((2,)), keras.layers.Dense(1)])
    model.compile(keras.optimizers.SGD(0.001), "mse")
    fitted = model.fit(frame[["1960", "1961"]], frame["2011"], verbose=0)
    return fitted.history["loss"][0]


gaps, none = loss(births), loss(births.dropna(subset=["1960", "1961", "2011"]))
print("the loss is a number:", math.isfinite(gaps), "and after dropna:", end=" ")
print(math.isfinite(none))
# --8<-- [end:frame]
nameless = births[["country"]].head(4).copy()
nameless.loc[1, "country"] = None

# --8<-- [start:npy]
COUNT, WIDTH, BATCH = 65_536, 1024, 64
large = Path(folder.name, "large.npy")
kept = np.lib.format.open_memmap(large, "w+", np.float32, (COUNT, WIDTH))
kept[: 4 * BATCH] = 1  # the rest stays 0
kept.flush()
del kept


class Rows(keras.utils.PyDataset):
    """Four batches of an array."""

    def __init__(self, images, **options):
        super().__init__(**options)
        self.images = images

    def __len__(self):
        return 4

    def __getitem__(self, n):
        return self.images[n * BATCH : (n + 1) * BATCH], np.ones(BATCH, "float32")


def peak():
    """Return the most memory that this process has had so far, in MiB."""
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 2**20


model = keras.Sequential([keras.Input((WIDTH,)), keras.layers.Dense(1)])
model.compile("sgd", "mse")
model.fit(Rows(np.ones((4 * BATCH, WIDTH), "float32")), verbose=0)  # what Keras takes
mapped = np.load(large, mmap_mode="r")
start = peak()
model.fit(Rows(mapped), verbose=0)
by_batch = peak() - start
start = peak()
tf.data.Dataset.from_tensor_slices(mapped)
at_once = peak() - start
size = mapped.nbytes / 2**20
print(f"size of the array: {size:.0f} MiB")
print("PyDataset, four batches, less than a quarter of it:", by_batch < size / 4)
print("from_tensor_slices, more than half of it:", at_once > size / 2)
# --8<-- [end:npy]

late = Path(folder.name, "late.csv")
late.write_text("value\n" + "1\n" * 100 + "2.5\n")
guessed = read(str(late), batch_size=8, num_epochs=1, shuffle=False)
exactly = read(
    str(late), batch_size=101, num_epochs=1, shuffle=False, column_defaults=[0.0]
)
last = float(next(iter(exactly))["value"][-1])
batches = [{name: column.numpy() for name, column in one.items()} for one in once]
claims = {
    "csv_repeats_for_ever": int(endless.cardinality()) == tf.data.INFINITE_CARDINALITY,
    "one_epoch_ends": len(batches) == 2,
    "one_epoch_has_no_known_length": int(once.cardinality())
    == tf.data.UNKNOWN_CARDINALITY,
    "a_gap_becomes_zero": bool(batches[0]["1960"][1] == 0),
    "a_gap_in_pandas_is_nan": math.isnan(births["1960"][1]),
    "a_default_of_nan_shows_the_gap": math.isnan(with_nan[1]),
    "a_type_refuses_the_gap": no_value.startswith("InvalidArgumentError"),
    "types_are_guessed_from_the_first_rows": bool(caught(lambda: list(guessed))),
    "a_given_type_reads_the_late_row": last == 2.5,
    "without_label_name_there_is_no_target": isinstance(once.element_spec, dict)
    and len(data.element_spec) == 2,
    "columns_into_one_input_raise": bool(columns_into_one),
    "columns_train_stacked_or_named": all(map(math.isfinite, trained.values())),
    "a_frame_keeps_its_gaps": math.isnan(
        list(rows.take(2).as_numpy_iterator())[1]["1960"]
    ),
    "gaps_make_the_loss_nan": math.isnan(gaps),
    "without_gaps_the_loss_is_a_number": math.isfinite(none),
    "by_the_batch_little_is_read": by_batch < size / 4,
    "from_tensor_slices_reads_it_all": at_once > size / 2,
}
errors = {
    "columns_into_one_input": columns_into_one,
    "no_value": no_value,
    "guessed_type": caught(lambda: list(guessed)),
    "gap_in_text": caught(lambda: tf.data.Dataset.from_tensor_slices(dict(nameless))),
}
measures = {"size_mib": round(size), "rows_looked_at": 100}
del mapped
folder.cleanup()
