# /// script
# requires-python = ">=3.11,<3.14"
# dependencies = ["tensorflow==2.21.*", "keras==3.15.*"]
#
# [tool.guide]
# devices = 0
# seconds = 120
# ///
"""Which names an export gives to inputs and outputs: of functional models, and of a subclass of keras.Model."""

import pathlib
import tempfile

import keras
import tensorflow as tf

# --8<-- [start:outputs]
work = tempfile.TemporaryDirectory()


def names(model, **options):
    """Export a model; return the names of its inputs and of its outputs."""
    folder = pathlib.Path(work.name, "1")
    model.export(folder, verbose=False, **options)
    signature = tf.saved_model.load(folder).signatures["serving_default"]
    inputs = signature.structured_input_signature[1]
    return sorted(inputs), sorted(signature.structured_outputs)


rooms = keras.Input((3,), name="rooms")
price = keras.layers.Dense(1, name="price")(rooms)
risk = keras.layers.Dense(1, name="risk")(rooms)
by_list = names(keras.Model(rooms, [price, risk]))
by_dictionary = names(keras.Model(rooms, {"price": price, "risk": risk}))
print("outputs in a list:      ", *by_list)
print("outputs in a dictionary:", *by_dictionary)
# --8<-- [end:outputs]


# --8<-- [start:subclass]
class Prices(keras.Model):
    """A model whose layers are called in Python."""

    def __init__(self):
        super().__init__()
        self.dense = keras.layers.Dense(1)

    def call(self, rooms):
        return self.dense(rooms)


model = Prices()
errors = {}
try:
    names(model)
except ValueError as error:
    errors["not_built"] = f"ValueError: {error}"
    print(errors["not_built"])
model(tf.zeros((1, 3)))
unnamed = names(model)
spec = tf.TensorSpec((None, 3), tf.float32, name="rooms")
named = names(model, input_signature=[spec])
print("after a call:        ", *unnamed)
print("with input_signature:", *named)
# --8<-- [end:subclass]

# --8<-- [start:several]
place = keras.Input((2,), name="place")
both = keras.layers.Concatenate()([rooms, place])
model = keras.Model([rooms, place], keras.layers.Dense(1)(both))
specs = [
    tf.TensorSpec((None, 3), tf.float32, name="rooms"),
    tf.TensorSpec((None, 2), tf.float32, name="place"),
]
try:
    names(model, input_signature=specs)
except ValueError as error:
    errors["flat"] = f"ValueError: {error}"
    print(errors["flat"])
nested = names(model, input_signature=[specs])
print("a list in the list:", *nested)
# --8<-- [end:several]
work.cleanup()

claims = {
    "a_layers_name_is_not_the_outputs": by_list
    == (["rooms"], ["output_0", "output_1"]),
    "a_dictionary_names_them": by_dictionary == (["rooms"], ["price", "risk"]),
    "a_subclass_must_be_called_first": "not yet been built" in errors["not_built"],
    "its_input_has_no_name": unnamed == (["args_0"], ["output_0"]),
    "several_inputs_are_one_argument": "flat" in errors
    and nested == (["place", "rooms"], ["output_0"]),
    "a_signature_names_it": named == (["rooms"], ["output_0"]),
}
