# /// script
# requires-python = ">=3.11,<3.14"
# dependencies = ["tensorflow==2.21.*", "keras==3.15.*"]
#
# [tool.guide]
# devices = 0
# ///
"""Sentences whose meaning hangs on the order of their words: a GRU, and a head that counts words."""

# --8<-- [start:sentences]
import itertools

import keras
import numpy as np
import tensorflow as tf

keras.utils.set_random_seed(0)
PAIRS = ["good bad", "funny dull", "fresh stale", "bright dim", "clear vague"]
THINGS = ["film", "book", "meal", "song", "room", "talk", "game", "play"]
FORMS = [
    "the {thing} was {a}, not {b}",
    "we found the {thing} {a} and not at all {b}",
    "{a}, not {b}: that is what I say of the {thing}",
]
sentences, labels = [], []
for form, thing, pair in itertools.product(FORMS, THINGS, PAIRS):
    praise, blame = pair.split()
    sentences.append(form.format(thing=thing, a=praise, b=blame))
    sentences.append(form.format(thing=thing, a=blame, b=praise))
    labels += [1, 0]
sentences, labels = np.array(sentences), np.array(labels)
# Both sentences of a pair go to the same side of the split.
side = np.repeat(np.random.default_rng(0).random(len(labels) // 2) < 0.3, 2)
print(len(labels), "sentences,", int(side.sum()), "of them held out, such as")
print(*sentences[side][:2], sep="\n")
# --8<-- [end:sentences]

# --8<-- [start:vectorise]
numbers = keras.layers.TextVectorization()
numbers.adapt(sentences[~side])  # the vocabulary, from the training part alone
vocabulary = numbers.get_vocabulary()
print(len(vocabulary), "entries, the first ones:", *map(repr, map(str, vocabulary[:4])))
padded = numbers(["The film was good!", "the film was awful, not good"]).numpy()
print(padded)
# --8<-- [end:vectorise]


# --8<-- [start:other_letters]
@keras.saving.register_keras_serializable()
def standardize(text):
    """Lower the letters and drop the punctuation of every script, not of ASCII alone."""
    lowered = tf.strings.lower(text, encoding="utf-8")
    return tf.strings.regex_replace(lowered, r"[\p{P}$+<=>^`|~]", "")


of_letters = {}
for name in ("lower_and_strip_punctuation", standardize):  # the first is the default
    words = keras.layers.TextVectorization(standardize=name)
    words.adapt(["über gut"])  # becomes 2 3
    of_letters[name] = words(["Über gut", "“über” gut"]).numpy().tolist()
    print(getattr(name, "__name__", name), *of_letters[name])
# --8<-- [end:other_letters]


# --8<-- [start:train]
def train(vectorise, layers):
    """Train on the numbers that stand for the words; return the share of held-out sentences that is right."""
    keras.utils.set_random_seed(1)
    model = keras.Sequential([*layers, keras.layers.Dense(1)])
    loss = keras.losses.BinaryCrossentropy(from_logits=True)
    model.compile(keras.optimizers.Adam(0.01), loss)
    x = np.asarray(vectorise(sentences))
    model.fit(x[~side], labels[~side], batch_size=16, epochs=15, verbose=0)
    logits = model.predict(x[side], verbose=0)[:, 0]
    return float(np.mean((logits > 0) == labels[side]))


counts = keras.layers.TextVectorization(output_mode="count")
counts.adapt(sentences[~side])
by_count = train(counts, [])
embedding = keras.layers.Embedding(len(vocabulary), 8, mask_zero=True)
by_order = train(numbers, [embedding, keras.layers.GRU(16)])
print(f"counts of words: {by_count:.0%} of the held-out sentences right")
print(f"words in order, a GRU: {by_order:.0%}")
# --8<-- [end:train]


# --8<-- [start:beyond]
with tf.device("CPU:0"):  # XLA wants the table where it computes
    on_cpu = keras.layers.Embedding(len(vocabulary), 8)
    on_cpu.build()
on_cpu.set_weights(embedding.get_weights())


def row_of(number, **options):
    """Return the row of the table that the layer gives for a number, or the error that it raises."""
    find = tf.function(on_cpu.call, **options)
    try:
        with tf.device("CPU:0"):
            found = find(tf.constant([number]))
    except tf.errors.InvalidArgumentError as error:
        return type(error).__name__
    return int(np.abs(embedding.get_weights()[0] - found).sum(axis=1).argmin())


print("the last row of the table:", len(vocabulary) - 1)
beyond = {
    "a number too large": row_of(len(vocabulary)),
    "the same, compiled by XLA": row_of(len(vocabulary), jit_compile=True),
    "-1": row_of(-1),
}
for what, row in beyond.items():
    print(f"{what}:", row)
# --8<-- [end:beyond]

errors = {}
try:
    with keras.device("cpu:0"):
        embedding(np.array([[1, len(vocabulary)]]))
except Exception as error:
    text = str(error)
    text = text[text.index("indices") : text.index(" [Op")]
    errors["beyond_the_table"] = f"{type(error).__name__}: {text}"

same_counts = np.asarray(counts(sentences)).reshape(len(labels) // 2, 2, -1)
claims = {
    "both_sentences_have_the_same_counts": bool(
        np.array_equal(same_counts[:, 0], same_counts[:, 1])
    ),
    "counts_cannot_tell": by_count == 0.5,
    "the_gru_tells": by_order > 0.95,
    "zero_is_padding": vocabulary[0] == "" and int(padded[0, -1]) == 0,
    "a_number_beyond_the_table_raises_on_a_cpu": "beyond_the_table" in errors,
    "xla_takes_the_last_row": beyond["the same, compiled by XLA"]
    == len(vocabulary) - 1,
    "minus_one_is_the_last_row": beyond["-1"] == len(vocabulary) - 1,
    "a_number_beyond_the_table_raises_in_a_graph": beyond["a number too large"]
    == "InvalidArgumentError",
    "the_default_lowers_ascii_alone": of_letters["lower_and_strip_punctuation"]
    == [[1, 3], [1, 3]],
    "the_function_lowers_all": of_letters[standardize] == [[2, 3], [2, 3]],
    "one_is_unknown": vocabulary[1] == "[UNK]" and int(padded[1, 3]) == 1,
    "capitals_and_points_are_dropped": int(padded[0, 3]) == int(padded[1, 5]),
}
measures = {"sentences": len(labels), "held_out": int(side.sum())}
