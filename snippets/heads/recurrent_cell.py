# /// script
# requires-python = ">=3.11,<3.14"
# dependencies = ["tensorflow==2.21.*", "keras==3.15.*"]
#
# [tool.guide]
# devices = 0
# seconds = 60
# ///
"""What an LSTM computes: the same weights at each step, a state, three gates and a candidate; NumPy and Keras."""

# --8<-- [start:setup]
import keras
import numpy as np

keras.utils.set_random_seed(0)
units, steps, values = 3, 6, 2
layer = keras.layers.LSTM(units)
sequence = np.random.default_rng(0).normal(size=(1, steps, values)).astype("float32")
by_keras = layer(sequence).numpy()[0]
kernel, recurrent, bias = layer.get_weights()
print(
    "weights:",
    kernel.shape,
    recurrent.shape,
    bias.shape,
    "together",
    layer.count_params(),
)
# --8<-- [end:setup]


# --8<-- [start:by_hand]
def sigmoid(z):
    return 1 / (1 + np.exp(-z))


def lstm(sequence):
    """Run the cell over a sequence (Hochreiter and Schmidhuber, 1997; forget gate: Gers et al., 2000)."""
    output, memory = np.zeros(units), np.zeros(units)
    for x in sequence:  # the same three weight arrays at each step
        z = x @ kernel + output @ recurrent + bias
        write, keep, candidate, show = np.split(z, 4)
        memory = sigmoid(keep) * memory + sigmoid(write) * np.tanh(candidate)
        output = sigmoid(show) * np.tanh(memory)
    return output


by_hand = lstm(sequence[0])
print("by hand ", by_hand.round(4))
print("by Keras", by_keras.round(4))
# --8<-- [end:by_hand]

# --8<-- [start:order]
reversed_order = layer(sequence[:, ::-1]).numpy()[0]
longer = layer(np.concatenate([sequence, sequence], axis=1)).numpy()
print("same values in reverse:", reversed_order.round(4))
print("twice as many steps, same weights:", longer.shape, layer.count_params())
every_step = keras.layers.LSTM(units, return_sequences=True)
print(
    "return_sequences=True gives one output for each step:", every_step(sequence).shape
)
# --8<-- [end:order]

# --8<-- [start:padding]
padded = np.concatenate([sequence, np.zeros((1, 4, values), "float32")], axis=1)
read_padding = layer(padded).numpy()[0]
masked = layer(keras.layers.Masking()(padded)).numpy()[0]
print("six steps:           ", by_keras.round(4))
print("and four of zeros:   ", read_padding.round(4))
print("the same, Masking(): ", masked.round(4))
# --8<-- [end:padding]

# --8<-- [start:whole_numbers]
series = [[0.7, -0.4, 1.9], [1.2]]  # readings at three times, and at one
kept_steps = {}
for dtype in ("int32", "float32"):  # the first is the default
    rows = keras.utils.pad_sequences(series, padding="post", dtype=dtype)
    kept_steps[dtype] = keras.layers.Masking().compute_mask(rows[..., None])
    kept_steps[dtype] = kept_steps[dtype].numpy().sum(axis=1).tolist()
    print(f"{dtype}:", *rows, "- steps that Masking() keeps:", *kept_steps[dtype])
# --8<-- [end:whole_numbers]

# --8<-- [start:true_zeros]
measured = sequence.copy()
measured[:, 2] = 0  # the third step is truly zero
as_it_is = layer(measured).numpy()[0]
skipped = layer(keras.layers.Masking()(measured)).numpy()[0]
left_out = layer(np.delete(measured, 2, axis=1)).numpy()[0]
kept = layer(keras.layers.Masking(mask_value=-1)(measured)).numpy()[0]
print("a true step of zeros: ", as_it_is.round(4))
print("the same, Masking():  ", skipped.round(4))
print("that step left out:   ", left_out.round(4))
print("Masking(mask_value=-1)", kept.round(4))
# --8<-- [end:true_zeros]

# --8<-- [start:errors]
mistakes = {
    "two_dimensions": lambda: keras.layers.LSTM(units, name="lstm")(sequence[..., 0]),
    "stacked": lambda: keras.Sequential(
        [
            keras.Input((steps, values)),
            keras.layers.LSTM(units),
            keras.layers.LSTM(units, name="lstm"),
        ]
    ),
}
errors = {}
for name, mistake in mistakes.items():
    try:
        mistake()
    except ValueError as error:
        errors[name] = f"ValueError: {str(error).split(' Full')[0]}"
        print(f"{name}: {errors[name]}")
one_value = keras.Sequential([keras.Input((steps, 1)), keras.layers.LSTM(units)])
without = one_value(sequence[..., 0]).numpy()  # shape (rows, steps)
print(
    "Input((6, 1)) adds the last axis to (n, 6):",
    np.allclose(without, one_value(sequence[..., :1]).numpy()),
)
# --8<-- [end:errors]

claims = {
    "both_raise_the_same": len(errors) == 2 and len(set(errors.values())) == 1,
    "last_axis_is_added": bool(
        np.allclose(without, one_value(sequence[..., :1]).numpy())
    ),
    "lstm_equals_loop": bool(np.allclose(by_hand, by_keras, atol=1e-5)),
    "order_matters": bool(np.abs(reversed_order - by_keras).max() > 1e-2),
    "order_is_ignored": bool(np.allclose(reversed_order, by_keras, atol=1e-3)),
    "zeros_are_read": bool(np.abs(read_padding - by_keras).max() > 1e-2),
    "zeros_are_read_as_by_hand": bool(
        np.allclose(read_padding, lstm(padded[0]), atol=1e-5)
    ),
    "masking_skips_the_padding": bool(np.allclose(masked, by_hand, atol=1e-5)),
    "masking_skips_a_true_step_of_zeros": bool(
        np.allclose(skipped, left_out, atol=1e-6)
        and np.abs(skipped - as_it_is).max() > 1e-3
    ),
    "another_mask_value_keeps_it": bool(np.allclose(kept, as_it_is, atol=1e-6)),
    "pad_sequences_pads_the_front": keras.utils.pad_sequences(
        [[1, 2], [1, 2, 3]]
    ).tolist()[0]
    == [0, 1, 2],
    "post_pads_the_end": keras.utils.pad_sequences(
        [[1, 2], [1, 2, 3]], padding="post"
    ).tolist()[0]
    == [1, 2, 0],
    "pad_sequences_makes_whole_numbers": keras.utils.pad_sequences([[0.7]]).tolist()
    == [[0]]
    and kept_steps["int32"] == [1, 1]
    and kept_steps["float32"] == [3, 1],
    "a_saved_layer_forgets_use_cudnn": "use_cudnn"
    not in keras.layers.LSTM(units, use_cudnn=False).get_config(),
    "parameters_by_formula": layer.count_params() == 4 * units * (values + units + 1),
    "parameters_grow_with_steps": layer.count_params()
    != 4 * units * (values + units + 1),
    "one_output_without_return_sequences": by_keras.shape == (units,),
    "return_sequences_gives_each_step": tuple(every_step(sequence).shape)
    == (1, steps, units),
}
measures = {"parameters": layer.count_params()}
