# /// script
# requires-python = ">=3.11,<3.14"
# dependencies = ["tensorflow==2.21.*", "keras==3.15.*"]
#
# [tool.guide]
# seconds = 240
# ///
"""Save in the middle of an epoch on some replicas, and go on with fewer or more: the training is the same."""

import tempfile

import keras
import numpy as np
import tensorflow as tf

BATCH, STEPS, STOP, EPOCHS = 20, 6, 8, 3  # STOP is in the second epoch
random = np.random.default_rng(0)
x = random.normal(size=(STEPS * BATCH, 8)).astype("float32")
y = np.sin(x.sum(1, keepdims=True))
devices = tf.config.list_logical_devices("GPU") or tf.config.list_logical_devices("CPU")


def train(count, stop, backup=None, keep=None):
    """Train on `count` replicas to step `stop`; return losses by epoch, and weights."""
    strategy = tf.distribute.MirroredStrategy(
        [device.name for device in devices[:count]],
        # One process makes several strategies here.
        cross_device_ops=tf.distribute.ReductionToOneDevice(),
    )
    with strategy.scope():
        keras.utils.set_random_seed(0)
        layers = [keras.layers.Dense(16, "tanh"), keras.layers.Dense(1)]
        model = keras.Sequential([keras.Input((8,)), *layers])
        optimizer = keras.optimizers.Adam(0.01)
        optimizer.build(model.trainable_variables)
        running = keras.metrics.Mean()  # the loss of the epoch so far
    done = tf.Variable(0, dtype=tf.int64)
    sums = [variable.value for variable in running.variables]
    state = {"model": model, "optimizer": optimizer, "done": done, "running": sums}
    checkpoint = tf.train.Checkpoint(**state)
    if backup:
        checkpoint.read(backup)

    @tf.function
    def step(batch):
        def on_replica(features, labels):
            with tf.GradientTape() as tape:
                outputs = model(features, training=True)
                losses = keras.losses.mean_squared_error(labels, outputs)
                loss = tf.nn.compute_average_loss(losses, global_batch_size=BATCH)
            gradients = tape.gradient(loss, model.trainable_variables)
            optimizer.apply(gradients, model.trainable_variables)
            running.update_state(losses)

        strategy.run(on_replica, args=batch)

    losses = {}
    while done < stop:
        epoch, rest = divmod(int(done), STEPS)
        rows = tf.data.Dataset.from_tensor_slices((x, y)).shuffle(len(x), seed=epoch)
        rows = rows.batch(BATCH).skip(rest)
        for batch in strategy.experimental_distribute_dataset(rows):
            step(batch)
            done.assign_add(1)
            if done % STEPS == 0:
                losses[epoch] = float(running.result())
                running.reset_state()
            if done == stop:
                break
    if keep:
        checkpoint.write(keep)
    return losses, model.get_weights()


# --8<-- [start:compare]
def furthest(some, others):
    pairs = zip(some, others, strict=True)
    return max(float(np.max(np.abs(a - b))) for a, b in pairs)


half = max(1, len(devices) // 2)
losses, weights = train(half, EPOCHS * STEPS)

same = {}
with tempfile.TemporaryDirectory() as folder:
    begun, stopped = train(half, STOP, keep=f"{folder}/backup")
    for count in range(1, len(devices) + 1):
        ended, others = train(count, EPOCHS * STEPS, f"{folder}/backup")
        restarted = [*(begun | ended).values()]
        by_loss = furthest(losses.values(), restarted)
        same[count] = max(by_loss, furthest(weights, others)) < 1e-3
        print(
            f"{half} replicas to step {STOP}, then {count}: same result: {same[count]}"
        )
# --8<-- [end:compare]

claims = {
    "another_number_of_replicas_goes_on": len(devices) > 1 and all(same.values()),
    "a_loop_needs_no_batch_that_divides": all(same.values())
    and any(BATCH % count for count in same),
    "training_moved_after_the_restart": furthest(weights, stopped) > 1e-2,
    "the_stop_was_within_an_epoch": STOP % STEPS != 0 and len(begun) == 1,
}
measures = {"batch": BATCH}
