# /// script
# requires-python = ">=3.11,<3.14"
# dependencies = ["tensorflow==2.21.*", "keras==3.15.*"]
#
# [tool.guide]
# seconds = 240
# ///
"""Train a Keras 3 model on one machine or on many: validation, metrics, checkpoints, and a restart where it stopped.

SIGTERM makes all workers save at one step and exit with code 42.

`python train_multi_worker.py FOLDER` trains. Without a folder the file checks itself.
"""

import argparse
import os
import signal
import tempfile

import keras
import numpy as np
import tensorflow as tf


# --8<-- [start:strategy]
def make_strategy():
    """Return the strategy for the place where this process was started."""
    # Several workers use NCCL only where you ask for it. Without GPUs this just warns.
    wanted = os.environ.get("ALL_REDUCE", "NCCL")  # or RING
    implementation = tf.distribute.experimental.CommunicationImplementation[wanted]
    options = tf.distribute.experimental.CommunicationOptions(
        implementation=implementation
    )
    if "TF_CONFIG" in os.environ:  # by hand, TFJob, Ray Train
        return tf.distribute.MultiWorkerMirroredStrategy(communication_options=options)
    if int(os.environ.get("SLURM_STEP_NUM_TASKS", "1")) > 1:
        # One task on each node takes all its GPUs. Without any the numbers must still be
        # positive. "2(x3)" means two tasks on each of three nodes.
        tasks = int(os.environ["SLURM_STEP_TASKS_PER_NODE"].split("(")[0])
        gpus = int(os.environ.get("SLURM_GPUS_ON_NODE", "0"))
        resolver = tf.distribute.cluster_resolver.SlurmClusterResolver(
            port_base=int(os.environ.get("TRAIN_PORT", "8888")),
            gpus_per_node=gpus or tasks,
            gpus_per_task=gpus or 1,
            auto_set_gpu=False,
        )
        mine = resolver.cluster_spec().task_address("worker", resolver.task_id)
        if mine.split(":")[0] != os.environ["SLURMD_NODENAME"]:
            raise SystemExit(f"this node is not {mine}: write TF_CONFIG yourself")
        return tf.distribute.MultiWorkerMirroredStrategy(
            cluster_resolver=resolver, communication_options=options
        )
    devices = tf.config.list_logical_devices("GPU")
    devices = devices or tf.config.list_logical_devices("CPU")
    return tf.distribute.MirroredStrategy([device.name for device in devices])


def check_gpus(ordered):
    """End unless this task sees as many GPUs: without them it would train on its CPU."""
    seen = len(tf.config.list_physical_devices("GPU"))  # this starts none of them
    if ordered not in (None, seen):
        raise SystemExit(
            f"{seen} GPUs here, ordered {ordered}: tensorflow[and-cuda], LD_LIBRARY_PATH?"
        )


def is_chief(strategy):
    """Say whether this task keeps the files: the chief, or worker 0 where there is none."""
    resolver = strategy.cluster_resolver
    jobs = resolver.cluster_spec().as_dict() if resolver else {}
    if "chief" in jobs:
        return resolver.task_type == "chief"
    return not jobs or resolver.task_id == 0


# --8<-- [end:strategy]

# --8<-- [start:data]
ROWS, BATCH, EPOCHS, SAVE_EVERY, ASK_EVERY = 256, 32, 4, 5, 2
STEPS = ROWS // BATCH  # in one epoch
random = np.random.default_rng(0)
x = random.normal(size=(ROWS + 100, 8)).astype("float32")
y = (x.sum(1, keepdims=True) > 0).astype("float32")


def rows_of(epoch):
    """Return the global batches of one epoch, in an order that only its number decides."""
    data = tf.data.Dataset.from_tensor_slices((x[:ROWS], y[:ROWS]))
    data = data.shuffle(ROWS, seed=epoch).batch(BATCH, drop_remainder=True)
    return data.prefetch(tf.data.AUTOTUNE)


def rows_of_validation():
    return tf.data.Dataset.from_tensor_slices((x[ROWS:], y[ROWS:])).batch(BATCH)


def build():
    keras.utils.set_random_seed(0)
    model = keras.Sequential(
        [keras.Input((8,)), keras.layers.Dense(16, "tanh"), keras.layers.Dense(1)]
    )
    # Not Adam: it would hide a wrong scale of the loss from the check below.
    optimizer = keras.optimizers.SGD(0.1, momentum=0.9)
    optimizer.build(model.trainable_variables)  # so that a checkpoint finds its slots
    return model, optimizer


# --8<-- [end:data]


# --8<-- [start:train]
def train(strategy, folder, scratch, stop, *, replicas=None, told=()):
    """Train to step `stop`, from the newest checkpoint in `folder` where there is one.

    Return the model, the step at which it began, and the numbers of each epoch. Save
    and exit with code 42 when `told` is no longer empty in any of the workers.
    """
    count = strategy.num_replicas_in_sync
    if replicas not in (None, count):
        raise SystemExit(f"{count} replicas, ordered {replicas}: look at TF_CONFIG")
    chief = is_chief(strategy)

    def say(*words):
        if chief:
            print(*words, flush=True)  # else a log shows it much later

    with strategy.scope():
        model, optimizer = build()
        train_loss, test_loss = keras.metrics.Mean(), keras.metrics.Mean()
        accuracy = keras.metrics.BinaryAccuracy(threshold=0.0)
    done = tf.Variable(0, dtype=tf.int64)

    def losses_of(outputs, labels):
        """Return one loss for each row."""
        # A loss function computes in the type of the outputs, which may be bfloat16. A
        # loss object casts them itself, and reads their mask, which a cast drops.
        outputs = tf.cast(outputs, "float32")
        return keras.losses.binary_crossentropy(labels, outputs, from_logits=True)

    def train_on_replica(features, labels):
        with tf.GradientTape() as tape:
            losses = losses_of(model(features, training=True), labels)
            loss = tf.nn.compute_average_loss(losses, global_batch_size=BATCH)
        gradients = tape.gradient(loss, model.trainable_variables)
        optimizer.apply(gradients, model.trainable_variables)
        train_loss.update_state(losses)

    def test_on_replica(features, labels):
        outputs = model(features, training=False)
        test_loss.update_state(losses_of(outputs, labels))
        accuracy.update_state(labels, outputs)

    @tf.function
    def train_step(batch):
        strategy.run(train_on_replica, args=batch)

    @tf.function
    def test_step(batch):
        strategy.run(test_on_replica, args=batch)

    @tf.function
    def sum_over_replicas(value):
        return strategy.reduce(
            "SUM", strategy.run(tf.identity, args=(value,)), axis=None
        )

    # All workers save, each to its own place: what is saved may be a sum over all.
    mine = folder if chief else scratch
    tf.io.gfile.makedirs(mine)  # a finished job makes no checkpoint, only the model
    sums = [variable.value for variable in train_loss.variables]
    # Seeds, and averages in layers that a list or a dict holds: `model` misses those.
    others = [variable.value for variable in model.non_trainable_variables]
    backup = tf.train.Checkpoint(
        model=model, optimizer=optimizer, others=others, done=done, train_loss=sums
    )
    manager = tf.train.CheckpointManager(backup, mine, max_to_keep=2)
    if newest := tf.train.latest_checkpoint(folder):  # of the chief, for all
        # Without the second call, a changed model goes on half restored.
        backup.restore(newest).assert_existing_objects_matched()
    begin = step = int(done)
    if sum_over_replicas(tf.constant(step, tf.int64)) != step * count:
        raise SystemExit("the workers found different checkpoints: share the folder")
    say(f"{count} replicas begin after step {step}")

    history, leave = [], False
    test_batches = strategy.experimental_distribute_dataset(rows_of_validation())
    while step < stop and not leave:
        epoch, rest = divmod(step, STEPS)
        batches = iter(strategy.experimental_distribute_dataset(rows_of(epoch)))
        for _ in range(rest):  # these were used before the restart
            next(batches)
        for batch in batches:
            train_step(batch)
            step += 1
            if step % STEPS == 0:
                for rows in test_batches:
                    test_step(rows)
                # To read a metric takes all workers. All read, one prints.
                metrics = train_loss, test_loss, accuracy
                history.append([float(metric.result()) for metric in metrics])
                numbers = "loss {:.4f}, test loss {:.4f}, accuracy {:.3f}"
                say(f"epoch {epoch + 1}:", numbers.format(*history[-1]))
                for metric in metrics:
                    metric.reset_state()
            # One worker is told to leave; only a sum tells the others. It waits for the
            # step, so ask as rarely as the time to leave allows.
            leave = step % ASK_EVERY == 0 and (
                sum_over_replicas(tf.constant(len(told), tf.int64)) > 0
            )
            if step % SAVE_EVERY == 0 or step == stop or leave:
                done.assign(step)
                manager.save()
            if leave or step == stop or step % STEPS == 0:
                break  # a longer epoch ends here too
        else:
            raise SystemExit(f"epoch {epoch + 1} ends before its {STEPS} batches")
    if not leave:
        model.save(f"{mine}/part.keras")  # only a whole file gets the model's name
        tf.io.gfile.rename(f"{mine}/part.keras", f"{mine}/model.keras", overwrite=True)
    sum_over_replicas(tf.constant(1, tf.int64))  # nobody leaves before all have saved
    if leave:
        say(f"told to leave: saved after step {step}")
        raise SystemExit(42)
    return model, begin, history


# --8<-- [end:train]

if __name__ == "__main__":
    # --8<-- [start:main]
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", nargs="?", help="for checkpoints: all workers see it")
    parser.add_argument("--scratch", help="for what is not kept; one for each worker")
    parser.add_argument("--stop", type=int, default=EPOCHS * STEPS, help="after step")
    parser.add_argument("--replicas", type=int, help="end unless there are as many")
    parser.add_argument("--gpus", type=int, help="end unless this task sees as many")
    options = parser.parse_args()
    check_gpus(options.gpus)
    strategy = make_strategy()  # before TensorFlow starts a device
    told = []  # SIGTERM fills it. A strategy has a handler of its own: set yours later
    signal.signal(signal.SIGTERM, lambda *_: told.append(True))
    if options.folder:
        with tempfile.TemporaryDirectory() as mine:
            scratch = options.scratch or mine
            orders = {"replicas": options.replicas, "told": told}
            train(strategy, options.folder, scratch, options.stop, **orders)
        raise SystemExit
    # --8<-- [end:main]

    # --8<-- [start:check]
    def deeper():
        model, _ = as_before()
        model.add(keras.layers.Dense(1))  # of which the backup knows nothing
        optimizer = keras.optimizers.SGD(0.1, momentum=0.9)
        optimizer.build(model.trainable_variables)
        return model, optimizer

    seen = len(tf.config.list_physical_devices("GPU"))
    check_gpus(seen)
    try:
        check_gpus(seen + 1)
        missing = None
    except SystemExit as reason:
        missing = str(reason)
    count = strategy.num_replicas_in_sync
    with tempfile.TemporaryDirectory() as folder:
        try:
            train(strategy, folder, None, 1, replicas=count + 1)
            stopped = None
        except SystemExit as reason:
            stopped = str(reason)
        _, first, before = train(strategy, folder, None, STEPS + 2)
        os.kill(os.getpid(), signal.SIGTERM)  # as a scheduler does
        try:
            train(strategy, folder, None, EPOCHS * STEPS, told=told)
            code = None
        except SystemExit as left:
            code = left.code
        trained, again, after = train(strategy, folder, None, EPOCHS * STEPS)
        saved = keras.models.load_model(f"{folder}/model.keras").get_weights()
        as_before, build = build, deeper
        try:
            train(strategy, folder, None, EPOCHS * STEPS + 1)
            refused = None
        except AssertionError as reason:
            refused = str(reason)
        build = as_before

    def fit_alone(epochs):
        """Train outside the scope: `fit` on one device."""
        model, optimizer = build()
        loss = keras.losses.BinaryCrossentropy(from_logits=True)
        accuracy = keras.metrics.BinaryAccuracy(threshold=0.0)
        model.compile(optimizer=optimizer, loss=loss, metrics=[accuracy])
        keys, numbers = ("loss", "val_loss", "val_binary_accuracy"), []
        for epoch in range(epochs):
            rows, others = rows_of(epoch).take(STEPS), rows_of_validation()
            fitted = model.fit(rows, validation_data=others, verbose=0)
            numbers.append([fitted.history[key][0] for key in keys])
        return model, numbers

    def furthest(some, others):
        pairs = zip(some, others, strict=True)
        return max(float(np.max(np.abs(a - b))) for a, b in pairs)

    alone, expected = fit_alone(EPOCHS)
    weights = trained.get_weights()
    by_weight = furthest(weights, alone.get_weights())
    by_metric = furthest(np.array(before + after), np.array(expected))
    moved = furthest(weights, build()[0].get_weights())
    print("weights equal to `fit` on one device:", by_weight < 1e-3 < moved)
    print("losses and accuracies too:", by_metric < 1e-3)

    total = EPOCHS * STEPS
    STEPS -= 2  # now the data have two batches more than an epoch
    with tempfile.TemporaryDirectory() as folder:
        train(strategy, folder, None, STEPS + 1)  # stops in the second epoch
        longer, _, _ = train(strategy, folder, None, 2 * STEPS)
    by_rest = furthest(longer.get_weights(), fit_alone(2)[0].get_weights())
    print("equal where an epoch leaves batches out:", by_rest < 1e-3)
    STEPS += 3  # now they have one batch less
    with tempfile.TemporaryDirectory() as folder:
        try:
            train(strategy, folder, None, 2 * STEPS)
            short = None
        except SystemExit as reason:
            short = str(reason)
    print(short)
    # --8<-- [end:check]

    claims = {
        "equal_to_fit": by_weight < 1e-3 < moved,
        "metrics_equal_to_fit": by_metric < 1e-3,
        "begins_at_zero": first == 0,
        "resumes_within_the_epoch": again == total // EPOCHS + 4,
        "saves_and_leaves_when_told": code == 42 and bool(told),
        "leaves_out_what_a_longer_epoch_has": by_rest < 1e-3,
        "a_shorter_epoch_stops": str(short).startswith("epoch 1 ends before"),
        "saved_model_holds_the_weights": furthest(saved, weights) == 0.0,
        "a_changed_model_stops": "not bound to checkpointed values" in str(refused),
        "another_number_of_replicas_stops": "replicas, ordered" in str(stopped),
        "another_number_of_gpus_stops": "GPUs here, ordered" in str(missing),
    }
    measures = {"resumed_at": again, "steps": total}
