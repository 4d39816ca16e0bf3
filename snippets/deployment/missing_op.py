# /// script
# requires-python = ">=3.11,<3.14"
# dependencies = ["tensorflow==2.21.*"]
#
# [tool.guide]
# devices = 0
# seconds = 60
# ///
"""Load an export that uses an operation which this process does not have, and list such operations beforehand."""

import pathlib
import tempfile

import tensorflow as tf
from tensorflow.core.protobuf import saved_model_pb2
from tensorflow.python.framework import op_def_registry

temporary = tempfile.TemporaryDirectory()
folder = pathlib.Path(temporary.name, "1")
file = folder / "saved_model.pb"


# --8<-- [start:export]
class Lengths(tf.Module):
    """Count the characters of words."""

    @tf.function(input_signature=[tf.TensorSpec((None,), tf.string, name="words")])
    def __call__(self, words):
        return {"length": tf.strings.length(words)}


module = Lengths()
tf.saved_model.save(module, folder, signatures=module.__call__)


def nodes(saved):
    """Yield each node of the graph and of its functions."""
    for graph in (part.graph_def for part in saved.meta_graphs):
        yield from graph.node
        for function in graph.library.function:
            yield from function.node_def


def lacking(file):
    """Return the operations in an export that TensorFlow alone does not have."""
    saved = saved_model_pb2.SavedModel.FromString(file.read_bytes())
    functions = {
        function.signature.name
        for part in saved.meta_graphs
        for function in part.graph_def.library.function
    }
    used = {node.op for node in nodes(saved)} - functions
    return sorted(name for name in used if not hasattr(tf.raw_ops, name))


before = lacking(file)
print("lacking:", before)
# --8<-- [end:export]

# --8<-- [start:rename]
# An export with TensorFlow Text holds such a name; here one operation gets it.
TOKENS = "TFText>WhitespaceTokenizeWithOffsetsV2"
saved = saved_model_pb2.SavedModel.FromString(file.read_bytes())
for node in nodes(saved):
    if node.op == "StringLength":
        node.op = TOKENS
file.write_bytes(saved.SerializeToString())
after = lacking(file)
print("lacking:", after)
# --8<-- [end:rename]

# --8<-- [start:load]
try:
    tf.saved_model.load(folder)
except RuntimeError as error:
    text = f"RuntimeError: {error}"
head, before_host, tail = text.partition(" in binary running on")
print(head + before_host)  # then the name of the machine, and:
print(tail.partition(". ")[2].partition(". ")[0])
# --8<-- [end:load]
temporary.cleanup()

registered = op_def_registry.get("XlaCallModule") is not None
claims = {
    "xla_call_module_is_known_but_not_listed": registered
    and not hasattr(tf.raw_ops, "XlaCallModule"),
    "tensorflow_has_its_own_operations": before == [],
    "the_file_names_what_is_lacking": after == [TOKENS],
    "the_export_does_not_load": TOKENS in head and tail != "",
}
errors = {"not_registered": head + before_host}
