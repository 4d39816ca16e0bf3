# /// script
# requires-python = ">=3.11,<3.14"
# dependencies = ["tensorflow==2.21.*", "keras==3.15.*"]
#
# [tool.guide]
# seconds = 180
# ///
"""What makes a `tf.function` trace again: numbers, shapes, short batches on replicas; and what its warning counts."""

# --8<-- [start:count]
import logging
import re

import keras
import numpy as np
import tensorflow as tf


def scaled(x, factor=1):
    print("    Python runs:", x.shape, factor)
    return tf.reduce_sum(x) * factor


step = tf.function(scaled)
for length, factor in ((3, 1), (3, 1), (3, 2), (4, 2), (3, 1)):
    step(tf.ones(length), factor)
print("traces in 5 calls:", step.experimental_get_tracing_count())
# --8<-- [end:count]
in_five = step.experimental_get_tracing_count()


# --8<-- [start:causes]
def calls(*arguments, **options):
    """Call a new tf.function with each of these; return how often it was traced."""
    step = tf.function(lambda x, factor=1.0: tf.reduce_sum(x) * factor, **options)
    for each in arguments:
        step(*each)
    return step.experimental_get_tracing_count()


ones, rates = tf.ones(8), [0.1 * n for n in range(8)]
lengths = [(tf.ones(length),) for length in range(1, 9)]
any_length = [tf.TensorSpec([None], tf.float32)]
traced = {
    "Python numbers": calls(*((ones, rate) for rate in rates)),
    "the same as tensors": calls(*((ones, tf.constant(rate)) for rate in rates)),
    "NumPy numbers": calls(*((ones, np.float32(rate)) for rate in rates)),
    "tensors of eight lengths": calls(*lengths),
    "with reduce_retracing": calls(*lengths, reduce_retracing=True),
    "with input_signature": calls(*lengths, input_signature=any_length),
}
for cause, times in traced.items():
    print(f"{cause:24} traces in 8 calls: {times}")
# --8<-- [end:causes]

# --8<-- [start:loop]
ran = []


def doubled(x):
    ran.append("traced")
    return 2 * x


for _ in range(8):
    tf.function(doubled)(tf.ones(8))  # a new function each time
print("tf.function in the loop, traces in 8 calls:", len(ran))
# --8<-- [end:loop]


# --8<-- [start:replicas]
devices = tf.config.list_logical_devices("GPU") or tf.config.list_logical_devices("CPU")
strategy = tf.distribute.MirroredStrategy([device.name for device in devices])
batch = 2 * strategy.num_replicas_in_sync


def epochs(rows, from_iterator=False, **options):
    """Run two epochs; return how often Python ran the replicas' function."""
    ran = []

    def replica(x):
        ran.append(x)
        return tf.reduce_sum(x)

    def reduced(x):
        return strategy.reduce("SUM", strategy.run(replica, (x,)), axis=None)

    of_batch = tf.function(reduced)
    of_next = tf.function(lambda iterator: reduced(next(iterator)))
    data = tf.data.Dataset.range(rows).batch(batch, **options)
    data = strategy.experimental_distribute_dataset(data)
    for _ in range(2):
        if from_iterator:
            iterator = iter(data)
            for _ in range(-(-rows // batch)):
                of_next(iterator)
        else:
            for x in data:
                of_batch(x)
    return len(ran)


rows = 3 * batch + 1  # the last batch has one row
per_replica = {
    "a batch at a time, all full": epochs(3 * batch),
    "a batch at a time, the last is short": epochs(rows),
    "with drop_remainder": epochs(rows, drop_remainder=True),
    "the iterator, the last is short": epochs(rows, from_iterator=True),
}
for how, times in per_replica.items():
    print(f"{how:37} traces on each replica: {times // len(devices)}")
# --8<-- [end:replicas]

# --8<-- [start:warning]
said = []
listener = logging.Handler()
listener.emit = lambda record: said.append(record.getMessage())
tf.get_logger().addHandler(listener)


def heard(work):
    """Do something; return what TensorFlow warned of meanwhile, without memory addresses."""
    said.clear()
    work()
    return [re.sub(r" at 0x\w+", "", text) for text in said if "retracing" in text]


def numbers():
    step = tf.function(lambda x: x + 1)
    for number in range(100):
        step(number)


of_numbers = heard(numbers)
print(len(of_numbers), "warnings for 100 traces; the first:")
print(of_numbers[0].partition(". Tracing is")[0])
# --8<-- [end:warning]


# --8<-- [start:models]
def models():
    """Train seven models, each as it should be."""
    for _ in range(7):
        model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(1)])
        model.compile("sgd", "mse")
        model.fit(np.ones((8, 4)), np.ones((8, 1)), batch_size=8, verbose=0)


of_models = heard(models)
print(f"{len(of_models)} warnings for seven models; the first:")
print(of_models[0].partition(". Tracing is")[0])
# --8<-- [end:models]

full, short, dropped, iterated = per_replica.values()
claims = {
    "the_first_call_of_each_kind_is_traced": in_five == 3,
    "python_numbers_trace_each_time": traced["Python numbers"] == 8,
    "tensors_trace_once": traced["the same as tensors"] == 1,
    "numpy_numbers_trace_once": traced["NumPy numbers"] == 1,
    "each_length_is_traced": traced["tensors of eight lengths"] == 8,
    "reduce_retracing_traces_twice": traced["with reduce_retracing"] == 2,
    "an_input_signature_traces_once": traced["with input_signature"] == 1,
    "a_function_made_in_a_loop_is_traced_each_time": len(ran) == 8,
    "full_batches_are_traced_once": full == len(devices),
    "a_short_batch_is_traced_again": short == 2 * len(devices),
    "without_the_remainder_once": dropped == len(devices),
    "an_iterator_is_traced_once": iterated == len(devices),
    "it_warns_each_time": len(of_numbers) > 10,
    "it_warns_twice": len(of_numbers) == 2,
    "several_models_are_warned_of": len(of_models) == 2,
}
errors = {"numbers": of_numbers[0], "models": of_models[0]}
