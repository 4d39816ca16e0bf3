# /// script
# requires-python = ">=3.11,<3.14"
# dependencies = ["tensorflow==2.21.*", "keras==3.15.*"]
#
# [tool.guide]
# devices = 0
# ///
"""Random operations in a map: a global seed makes every epoch draw the same; seeds that travel as data do not."""

import keras
import tensorflow as tf

# --8<-- [start:kept]
places = tf.data.Dataset.range(200)


def draws(data):
    """Return what two epochs of one dataset draw."""
    return [[float(value) for value in data] for _ in range(2)]


def noise(_):
    """Draw from an operation that keeps its state to itself, as `tf.image.random_*` does."""
    return tf.random.uniform([])


no_seed = draws(places.map(noise))
tf.random.set_seed(1)
global_seed = draws(places.map(noise))
print("no seed: epoch 2 repeats epoch 1:", no_seed[0] == no_seed[1])
print(
    "tf.random.set_seed(1): epoch 2 repeats epoch 1:", global_seed[0] == global_seed[1]
)
pairs = tf.data.Dataset.zip(places.map(noise), places.map(noise))
two_maps = [float(one) == float(other) for one, other in pairs]
print("tf.random.set_seed(1): two maps draw the same:", all(two_maps))
# --8<-- [end:kept]

# --8<-- [start:where]
in_one = [float(value) for value in places.map(noise).repeat(2)]
tf.random.set_seed(None)
own_seed = draws(places.map(lambda _: tf.random.uniform([], seed=3)))
keras.utils.set_random_seed(1)
keras_seed = draws(places.map(noise))
rotate = keras.layers.RandomRotation(0.3, seed=3)
image = tf.reshape(tf.range(64.0), (8, 8, 1))
layer = draws(places.map(lambda _: tf.reduce_sum(rotate(image, training=True)[:4])))
print("set_seed and repeat(2): the second half repeats:", in_one[:200] == in_one[200:])
print("seed= on the operation alone: repeats:", own_seed[0] == own_seed[1])
print("keras.utils.set_random_seed(1): repeats:", keras_seed[0] == keras_seed[1])
print("a Keras layer under it: repeats:", layer[0] == layer[1])
# --8<-- [end:where]


# --8<-- [start:inside]
def orders(seed=None, seed_after=None):
    """Return the orders of two epochs over two files of five rows each."""

    def rows_of(file):
        rows = tf.data.Dataset.range(5).shuffle(5, seed=seed)
        return rows.map(lambda row: 10 * file + row)

    data = tf.data.Dataset.range(1, 3).interleave(rows_of, cycle_length=1)
    if seed_after:
        data = data.shuffle(10, seed=seed_after)
    return [[int(row) for row in data] for _ in range(2)]


tf.random.set_seed(None)
seed_inside, also_after = orders(seed=1), orders(seed=1, seed_after=1)
tf.random.set_seed(1)
global_inside = orders()
tf.random.set_seed(None)
for epoch in seed_inside:
    print("shuffle(5, seed=1):", epoch)
print("shuffle(5) and set_seed(1): repeats:", global_inside[0] == global_inside[1])
print("a second shuffle after it: repeats:", also_after[0] == also_after[1])
# --8<-- [end:inside]


# --8<-- [start:data]
def noise_from(place, seed):
    """Draw from the seed that came with the element: which thread runs first does not matter."""
    return tf.random.stateless_uniform([], seed)


def with_seeds(calls):
    """Put a seed beside each element, another in each epoch, and draw with `calls` calls at a time."""
    seeds = tf.data.Dataset.random(seed=42, rerandomize_each_iteration=True).batch(2)
    return tf.data.Dataset.zip(places, seeds).map(noise_from, num_parallel_calls=calls)


one_call, eight_calls = draws(with_seeds(1)), draws(with_seeds(8))
print("seeds as data: epoch 2 repeats epoch 1:", one_call[0] == one_call[1])
print("made anew, 8 calls at a time: the same two epochs:", one_call == eight_calls)
# --8<-- [end:data]

claims = {
    "no_seed_repeats": no_seed[0] == no_seed[1],
    "global_seed_repeats": global_seed[0] == global_seed[1]
    and len(set(global_seed[0])) > 100,
    "two_maps_draw_the_same": all(two_maps),
    "repeated_data_repeats": in_one[:200] == in_one[200:],
    "operation_seed_repeats": own_seed[0] == own_seed[1],
    "keras_seed_repeats": keras_seed[0] == keras_seed[1],
    "keras_layer_repeats": bool(set(layer[0]) & set(layer[1])),
    "a_seeded_shuffle_inside_repeats": seed_inside[0] == seed_inside[1],
    "each_file_has_the_same_order": [row - 10 for row in seed_inside[0][5:]]
    == seed_inside[0][:5],
    "a_global_seed_freezes_a_shuffle_inside": global_inside[0] == global_inside[1],
    "a_shuffle_after_it_goes_on": also_after[0] != also_after[1],
    "seeds_as_data_repeat": one_call[0] == one_call[1],
    "seeds_as_data_are_reproduced": one_call == eight_calls
    and len(set(one_call[0])) > 100,
}
