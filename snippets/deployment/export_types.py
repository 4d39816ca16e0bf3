# /// script
# requires-python = ">=3.11,<3.14"
# dependencies = ["tensorflow==2.21.*", "keras==3.15.*"]
#
# [tool.guide]
# devices = 0
# seconds = 120
# ///
"""Which type and shape the export of a subclass of keras.Model declares for its input, and what that does to ids."""

import pathlib
import tempfile

import keras
import numpy as np
import tensorflow as tf

# --8<-- [start:words]
work = tempfile.TemporaryDirectory()
IDS = tf.constant([[3, 257, 2049, 4097]])


class Words(keras.Model):
    """Look up a vector for each id; here it holds the id itself."""

    def __init__(self, policy):
        super().__init__(dtype=policy)
        self.table = keras.layers.Embedding(5000, 1, dtype="float32")

    def call(self, ids):
        return self.table(ids)


def answers(policy, signature=None):
    """Export the model; return how its input is declared, and its answers."""
    model = Words(policy)
    model(IDS)
    model.table.set_weights([np.arange(5000.0)[:, None]])
    folder = pathlib.Path(work.name, "1")
    model.export(folder, verbose=False, input_signature=signature)
    serve = tf.saved_model.load(folder).signatures["serving_default"]
    ((name, spec),) = serve.structured_input_signature[1].items()
    found = serve(**{name: tf.cast(IDS, spec.dtype)})["output_0"]
    return spec, found.numpy().ravel().astype(int).tolist()


# --8<-- [end:words]

# --8<-- [start:types]
declared, returned = {}, {}
for policy in ("float32", "mixed_float16", "mixed_bfloat16"):
    declared[policy], returned[policy] = answers(policy)
whole = [tf.TensorSpec((None, None), tf.int32, name="ids")]
declared["int32"], returned["int32"] = answers("mixed_bfloat16", whole)
for name, spec in declared.items():
    print(f"{name:14} {spec.dtype.name:8} {spec.shape!s:12} {returned[name]}")
# --8<-- [end:types]
work.cleanup()

ids = IDS.numpy().ravel().tolist()
claims = {
    "the_input_has_the_type_that_the_model_computes_in": [
        spec.dtype for spec in declared.values()
    ]
    == [tf.float32, tf.float16, tf.bfloat16, tf.int32],
    "only_the_rows_are_open": declared["float32"].shape.as_list() == [None, 4],
    "float32_holds_the_ids": returned["float32"] == ids,
    "float16_looks_up_other_rows": returned["mixed_float16"] == [3, 257, 2048, 4096],
    "bfloat16_looks_up_other_rows": returned["mixed_bfloat16"] == [3, 256, 2048, 4096],
    "a_signature_keeps_the_ids": returned["int32"] == ids
    and declared["int32"].shape.as_list() == [None, None],
}
