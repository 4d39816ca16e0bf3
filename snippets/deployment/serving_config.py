# /// script
# requires-python = ">=3.11,<3.14"
# dependencies = ["tensorflow==2.21.*", "tensorflow-serving-api==2.21.*", "protobuf"]
#
# [tool.guide]
# devices = 0
# ///
"""Parse the configuration files of TensorFlow Serving by their message definitions, and see what mistakes say."""

from google.protobuf import (
    descriptor_pb2,
    descriptor_pool,
    message_factory,
    text_format,
    wrappers_pb2,
)
from tensorflow_serving.config import model_server_config_pb2

MODELS = """
model_config_list {
  config {
    name: "digits"
    base_path: "/models/digits"
    model_platform: "tensorflow"
    model_version_policy { specific { versions: 1 versions: 2 } }
    version_labels { key: "stable" value: 1 }
    version_labels { key: "canary" value: 2 }
  }
}
"""
config = text_format.Parse(MODELS, model_server_config_pb2.ModelServerConfig())
for one in config.model_config_list.config:
    kept = list(one.model_version_policy.specific.versions)
    labels = dict(sorted(one.version_labels.items()))
    print(one.name, one.base_path, kept, labels)


# --8<-- [start:definition]
def batching_parameters():
    """Return the message class BatchingParameters, field by field as its .proto says."""
    integer, text, yes_no = "Int64Value", "StringValue", "BoolValue"
    wrapped = {
        "max_batch_size": (1, integer),
        "batch_timeout_micros": (2, integer),
        "max_enqueued_batches": (3, integer),
        "num_batch_threads": (4, integer),
        "thread_pool_name": (5, text),
        "enable_large_batch_splitting": (8, yes_no),
        "max_execution_batch_size": (9, integer),
    }
    field = descriptor_pb2.FieldDescriptorProto
    file = descriptor_pb2.FileDescriptorProto(
        name="batching_parameters.proto",
        package="tensorflow.serving",
        syntax="proto3",
        dependency=["google/protobuf/wrappers.proto"],
    )
    message = file.message_type.add(name="BatchingParameters")
    once = {"label": field.LABEL_OPTIONAL}
    for name, (number, wrapper) in wrapped.items():
        kind = {"type": field.TYPE_MESSAGE, "type_name": f".google.protobuf.{wrapper}"}
        message.field.add(name=name, number=number, **once, **kind)
    message.field.add(
        name="allowed_batch_sizes",
        number=6,
        label=field.LABEL_REPEATED,
        type=field.TYPE_INT64,
    )
    message.field.add(
        name="pad_variable_length_inputs", number=7, **once, type=field.TYPE_BOOL
    )
    pool = descriptor_pool.DescriptorPool()
    pool.AddSerializedFile(wrappers_pb2.DESCRIPTOR.serialized_pb)
    pool.Add(file)
    found = pool.FindMessageTypeByName("tensorflow.serving.BatchingParameters")
    return message_factory.GetMessageClass(found)


# --8<-- [end:definition]

# --8<-- [start:batching]
BATCHING = """
max_batch_size { value: 64 }
batch_timeout_micros { value: 2000 }
num_batch_threads { value: 2 }
max_enqueued_batches { value: 100 }
allowed_batch_sizes: 8
allowed_batch_sizes: 64
"""
BatchingParameters = batching_parameters()
batching = text_format.Parse(BATCHING, BatchingParameters())
sizes = list(batching.allowed_batch_sizes)
print("at most", batching.max_batch_size.value, "rows, padded to one of", sizes)
# --8<-- [end:batching]

# --8<-- [start:mistakes]
Models = model_server_config_pb2.ModelServerConfig
MISTAKES = {
    "misspelt": (Models, 'model_config_list { config { names: "digits" } }'),
    "equals_sign": (Models, 'model_config_list { config { name = "digits" } }'),
    "bare_list": (Models, 'config { name: "digits" }'),
    "plain_number": (BatchingParameters, "max_batch_size: 64"),
    "wrong_wrapper": (BatchingParameters, "allowed_batch_sizes { value: 64 }"),
}
errors = {}
for name, (message, text) in MISTAKES.items():
    try:
        text_format.Parse(text, message())
    except text_format.ParseError as error:
        errors[name] = f"ParseError: {error}"
        print(f"{text}\n    {error}")
# --8<-- [end:mistakes]

# --8<-- [start:unchecked]
# No parser compares the two; TensorFlow Serving does, when it loads a model.
UNFIT = "max_batch_size { value: 64 } allowed_batch_sizes: 64 allowed_batch_sizes: 8"
unfit = text_format.Parse(UNFIT, BatchingParameters())
ends_right = unfit.allowed_batch_sizes[-1] == unfit.max_batch_size.value
print(
    "parsed:", list(unfit.allowed_batch_sizes), "- the last is the maximum:", ends_right
)
# --8<-- [end:unchecked]

again = text_format.Parse(text_format.MessageToString(batching), BatchingParameters())
claims = {
    "models_config_parses": [m.name for m in config.model_config_list.config]
    == ["digits"],
    "labels_name_versions": labels == {"canary": 2, "stable": 1},
    "batching_parses": sizes == [8, 64] and again == batching,
    "every_mistake_is_caught": list(errors) == list(MISTAKES),
    "a_plain_number_is_refused": "plain_number" in errors,
    "wrong_order_parses": list(unfit.allowed_batch_sizes) == [64, 8] and not ends_right,
}
measures = {"mistakes": len(errors)}
