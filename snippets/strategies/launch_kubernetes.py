# /// script
# requires-python = ">=3.11,<3.14"
# dependencies = ["jsonschema>=4.20", "pyyaml>=6"]
#
# [tool.guide]
# devices = 0
# ///
"""Check a TFJob manifest against the fields that the training operator knows, and break it in the usual ways."""

import copy

import jsonschema
import yaml

# --8<-- [start:manifest]
MANIFEST = """
apiVersion: kubeflow.org/v1
kind: TFJob
metadata:
  name: train
  namespace: training
spec:
  runPolicy:
    cleanPodPolicy: Running # what has ended stays: kubectl logs needs it
    backoffLimit: 11 # five faults of two workers, plus one
  tfReplicaSpecs:
    Worker:
      replicas: 2
      restartPolicy: OnFailure
      template:
        metadata:
          annotations:
            sidecar.istio.io/inject: "false"
        spec:
          terminationGracePeriodSeconds: 120
          automountServiceAccountToken: false
          containers:
            - name: tensorflow
              image: registry.example.com/train:1
              command: [python, train.py, /backups/run-1, --replicas, "8", --gpus, "4"]
              resources:
                requests: {cpu: 16, memory: 64Gi}
                limits:
                  nvidia.com/gpu: 4
              volumeMounts:
                - name: backups
                  mountPath: /backups
                - name: shm
                  mountPath: /dev/shm
          volumes:
            - {name: shm, emptyDir: {medium: Memory}}
            - name: backups
              persistentVolumeClaim:
                claimName: backups
"""
# --8<-- [end:manifest]


# --8<-- [start:schema]
def fields(required=(), **properties):
    """An object with these fields and no others."""
    return {
        "type": "object",
        "properties": properties,
        "required": [*required],
        "additionalProperties": False,
    }


text, whole = {"type": "string"}, {"type": "integer", "minimum": 0}
words = {"type": "array", "items": text}
amounts = {"type": "object", "additionalProperties": {"type": ["integer", "string"]}}
labels = {"type": "object", "additionalProperties": text}
container = fields(
    ["name", "image"],
    name=text,
    image=text,
    command=words,
    args=words,
    workingDir=text,
    env={"type": "array", "items": fields(["name"], name=text, value=text)},
    ports={
        "type": "array",
        "items": fields(["containerPort"], name=text, containerPort=whole),
    },
    resources=fields(limits=amounts, requests=amounts),
    volumeMounts={
        "type": "array",
        "items": fields(
            ["name", "mountPath"],
            name=text,
            mountPath=text,
            readOnly={"type": "boolean"},
        ),
    },
)
claim = fields(
    ["name"],
    name=text,
    persistentVolumeClaim=fields(["claimName"], claimName=text),
    emptyDir=fields(medium={"enum": ["", "Memory"]}, sizeLimit=text),
)
pod = fields(
    ["containers"],
    containers={
        "type": "array",
        "items": container,
        # The operator looks for this one:
        "contains": {"properties": {"name": {"const": "tensorflow"}}},
    },
    volumes={"type": "array", "items": claim},
    nodeSelector=labels,
    terminationGracePeriodSeconds=whole,
    automountServiceAccountToken={"type": "boolean"},
)
replica = fields(
    ["template"],
    replicas={"type": "integer", "minimum": 1},
    restartPolicy={"enum": ["Always", "OnFailure", "Never", "ExitCode"]},
    template=fields(
        ["spec"], metadata=fields(labels=labels, annotations=labels), spec=pod
    ),
)
policy = fields(
    cleanPodPolicy={"enum": ["All", "Running", "None"]},
    backoffLimit=whole,
    activeDeadlineSeconds=whole,
    ttlSecondsAfterFinished=whole,
    suspend={"type": "boolean"},
)
roles = fields(
    **dict.fromkeys(["Chief", "Master", "Worker", "PS", "Evaluator"], replica)
)
schema = fields(
    ["apiVersion", "kind", "metadata", "spec"],
    apiVersion={"const": "kubeflow.org/v1"},
    kind={"const": "TFJob"},
    metadata=fields(
        ["name"],
        name={"type": "string", "pattern": "^[a-z]([-a-z0-9]*[a-z0-9])?$"},
        namespace=text,
        labels=labels,
    ),
    spec=fields(
        ["tfReplicaSpecs"],
        tfReplicaSpecs=roles | {"minProperties": 1},
        runPolicy=policy,
    ),
)
# --8<-- [end:schema]


# --8<-- [start:check]
def problem(manifest):
    """Return where a manifest breaks which rule of the schema, or "none"."""
    error = jsonschema.exceptions.best_match(
        jsonschema.Draft202012Validator(schema).iter_errors(manifest)
    )
    return f"{error.json_path} breaks `{error.validator}`" if error else "none"


def broken(path, value, *, rename=False):
    """Return the problem after one field is changed, or renamed."""
    manifest = copy.deepcopy(good)
    *way, last = path
    place = manifest
    for step in way:
        place = place[step]
    if rename:
        place[value] = place.pop(last)
    else:
        place[last] = value
    return problem(manifest)


good = yaml.safe_load(MANIFEST)
worker = ["spec", "tfReplicaSpecs", "Worker"]
first_container = [*worker, "template", "spec", "containers", 0]
problems = {
    "as it is": problem(good),
    "container has another name": broken([*first_container, "name"], "train"),
    "role misspelt": broken(worker, "Workers", rename=True),
    "replicas as text": broken([*worker, "replicas"], "2"),
    "restart policy misspelt": broken([*worker, "restartPolicy"], "OnExitCode"),
    "name with a capital": broken(["metadata", "name"], "Train"),
}
for change, message in problems.items():
    print(f"{change}: {message}")
# --8<-- [end:check]

claims = {
    "manifest_is_valid": problems["as it is"] == "none",
    "other_container_name_is_refused": problems["container has another name"] != "none",
    "misspelt_role_is_refused": problems["role misspelt"] != "none",
    "text_for_a_number_is_refused": problems["replicas as text"] != "none",
    "misspelt_policy_is_refused": problems["restart policy misspelt"] != "none",
}
