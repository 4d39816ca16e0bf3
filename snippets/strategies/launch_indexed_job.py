# /// script
# requires-python = ">=3.11,<3.14"
# dependencies = ["tensorflow==2.21.*", "keras==3.15.*", "kubernetes>=37", "pyyaml>=6"]
#
# [tool.guide]
# devices = 0
# processes = 3
# seconds = 360
# files = ["train_multi_worker.py"]
# ///
"""Check the manifest of an Indexed Job, then run its pods as processes, kill each once, and replace what fails."""

import contextlib
import json
import os
import re
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from unittest import mock

import keras
import numpy as np
import tensorflow as tf
import yaml
from kubernetes import client

import train_multi_worker as script

tf.config.set_visible_devices([], "GPU")  # as the pods do

# --8<-- [start:manifest]
MANIFEST = """
apiVersion: v1
kind: Service
metadata:
  name: train
spec:
  clusterIP: None # headless: each pod gets a name
  publishNotReadyAddresses: true
  selector:
    batch.kubernetes.io/job-name: train
---
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy # only the workers themselves may reach a worker
metadata:
  name: train
spec:
  podSelector:
    matchLabels: {batch.kubernetes.io/job-name: train}
  policyTypes: [Ingress]
  ingress:
    - from:
        - podSelector:
            matchLabels: {batch.kubernetes.io/job-name: train}
---
apiVersion: batch/v1
kind: Job
metadata:
  name: train
spec:
  completionMode: Indexed
  completions: 2
  parallelism: 2 # all at once: they wait for each other
  backoffLimitPerIndex: 5 # as many faults: each makes every pod fail once
  maxFailedIndexes: 0 # no pod can be missing
  podReplacementPolicy: Failed # no new pod before the old one has ended
  podFailurePolicy:
    rules:
      - action: Ignore # drained, preempted: do not count it
        onPodConditions:
          - type: DisruptionTarget
      - action: Ignore # told to leave, and saved: do not count it either
        onExitCodes:
          operator: In
          values: [42]
  template:
    spec:
      subdomain: train # the name of the Service
      restartPolicy: Never # a new pod instead of one that failed
      automountServiceAccountToken: false # training asks nothing of Kubernetes
      terminationGracePeriodSeconds: 120
      containers:
        - name: train
          image: registry.example.com/train:1
          command: [python, train.py, /backups/run-1, --replicas, "8", --gpus, "4"]
          env:
            - name: INDEX # must come before TF_CONFIG, which uses it
              valueFrom:
                fieldRef:
                  fieldPath: metadata.annotations['batch.kubernetes.io/job-completion-index']
            - name: TF_CONFIG
              value: |
                {"cluster": {"worker": ["train-0.train:2222", "train-1.train:2222"]},
                 "task": {"type": "worker", "index": $(INDEX)}}
            - name: PYTHONUNBUFFERED # logs at once
              value: "1"
          resources:
            requests: {cpu: "16", memory: 64Gi}
            limits:
              nvidia.com/gpu: "4"
          volumeMounts:
            - {name: backups, mountPath: /backups}
            - {name: shm, mountPath: /dev/shm}
      volumes:
        - name: shm
          emptyDir: {medium: Memory}
        - name: backups
          persistentVolumeClaim: {claimName: backups}
"""
# --8<-- [end:manifest]


# --8<-- [start:environment]
def environment_of(variables, index):
    """Return what a container finds: each `$(NAME)` whose variable stands above it is replaced."""
    found = {}
    for variable in variables:
        if "valueFrom" in variable:  # here always the index
            found[variable["name"]] = str(index)
        else:
            found[variable["name"]] = re.sub(
                r"\$\((\w+)\)", lambda m: found.get(m[1], m[0]), variable["value"]
            )
    return found


service, network, job = yaml.safe_load_all(MANIFEST)
[container] = job["spec"]["template"]["spec"]["containers"]
for index in range(2):
    print(json.loads(environment_of(container["env"], index)["TF_CONFIG"]))
# --8<-- [end:environment]


# --8<-- [start:order]
def read(variables, index="1"):
    """Return what TensorFlow makes of TF_CONFIG."""
    with mock.patch.dict(os.environ, environment_of(variables, index)):
        try:
            resolver = tf.distribute.cluster_resolver.TFConfigClusterResolver()
            return f"worker {resolver.task_id}"
        except ValueError as error:
            return f"{type(error).__name__}: {error}"


index_below = read(container["env"][::-1])
not_indexed = read(container["env"], index="")
print("as it is:", read(container["env"]))
print("INDEX below TF_CONFIG:", index_below)
print("not an Indexed Job:", not_indexed)
# --8<-- [end:order]


# --8<-- [start:check]
def refused(service, network, job):
    """Return what Kubernetes does not accept: unknown fields, wrong types, gaps."""
    found = []
    models = client.V1Service, client.V1NetworkPolicy, client.V1Job
    for manifest, model in zip((service, network, job), models, strict=True):
        try:
            model.model_validate(manifest)
        except ValueError as error:  # pydantic's: the models are made with it
            for one in error.errors():
                found.append(f"{'.'.join(map(str, one['loc']))}: {one['msg']}")
    return found


def apart(service, network, job):
    """Return what Kubernetes accepts, but what keeps the workers from meeting."""
    found, spec = [], job["spec"]
    variables = spec["template"]["spec"]["containers"][0]["env"]
    config = json.loads(environment_of(variables, 0)["TF_CONFIG"])
    workers = config["cluster"]["worker"]
    if not spec.get("completions") == spec.get("parallelism") == len(workers):
        found.append("completions, parallelism and the number of workers differ")
    host, subdomain = job["metadata"]["name"], spec["template"]["spec"].get("subdomain")
    names = [f"{host}-{index}.{subdomain}" for index in range(len(workers))]
    if [worker.split(":")[0] for worker in workers] != names:
        found.append(f"the hosts are called {', '.join(names)}")
    if subdomain != service["metadata"]["name"]:
        found.append("the subdomain is not the Service")
    chosen = service["spec"]["selector"], network["spec"]["podSelector"]["matchLabels"]
    if any(labels != {"batch.kubernetes.io/job-name": host} for labels in chosen):
        found.append("the Service or the network policy is for other pods")
    return found


changes = {
    "as it is": ("", ""),
    "a field misspelt": ("completionMode:", "completionmode:"),
    "a number as text": ("completions: 2", 'completions: "2"'),
    "one pod at a time": ("parallelism: 2", "parallelism: 1"),
    "another subdomain": ("subdomain: train", "subdomain: workers"),
    "another Job": ("Job\nmetadata:\n  name: train", "Job\nmetadata:\n  name: fit"),
}
problems = {}
for change, (old, new) in changes.items():
    manifests = [*yaml.safe_load_all(MANIFEST.replace(old, new))]
    problems[change] = [f"refused, {line}" for line in refused(*manifests)]
    if not problems[change]:
        problems[change] = [f"accepted, but {line}" for line in apart(*manifests)]
    for line in problems[change] or ["good"]:
        print(f"{change}: {line}")
# --8<-- [end:check]

# --8<-- [start:pods]
SCRIPT = str(Path(__file__).with_name("train_multi_worker.py"))
HOSTS = [f"train-{index}.train:2222" for index in range(2)]


class Pods(contextlib.ExitStack):
    """In place of Kubernetes: a process for each index, and a new one when it fails.

    None outlives the `with` block.
    """

    def __init__(self, folder):
        super().__init__()
        self.addresses = [f"127.0.0.1:{self.port()}" for _ in HOSTS]
        self.folder, self.running, self.ended = Path(folder), {}, []

    def port(self):
        """Return a free port that no other program gets until the `with` ends."""
        holder = self.enter_context(socket.socket())
        holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        holder.bind(("127.0.0.1", 0))
        port = holder.getsockname()[1]
        if sys.platform != "linux":  # elsewhere no pod could bind it
            holder.close()
        return port

    def start(self, index):
        variables = environment_of(container["env"], index)
        for host, address in zip(HOSTS, self.addresses, strict=True):
            variables["TF_CONFIG"] = variables["TF_CONFIG"].replace(host, address)
        command = [sys.executable, SCRIPT, f"{self.folder}/kept", "--replicas", "2"]
        command += ["--scratch", f"{self.folder}/scratch-{index}"]
        variables["CUDA_VISIBLE_DEVICES"] = "-1"
        log = self.folder / f"log-{index}-{len(self.ended)}"
        with log.open("w") as out:
            pod = subprocess.Popen(
                command, env=os.environ | variables, stdout=out, stderr=out
            )
        self.callback(pod.wait)  # the last callback runs first: kill, then wait
        self.callback(pod.kill)
        self.running[index] = pod, log, time.monotonic()

    def until(self, condition):
        """Replace pods that fail until something is the case, or all have ended well."""
        while self.running and not condition():
            for index, (pod, _, begun) in [*self.running.items()]:
                if pod.poll() is None:
                    continue
                self.ended.append((index, begun, time.monotonic(), pod.returncode))
                del self.running[index]
                if pod.returncode:
                    time.sleep(0.5)  # Kubernetes waits 10 seconds, then 20, 40...
                    self.start(index)
            time.sleep(0.02)

    def kill(self, index):
        """Kill a pod. Return whether it was in time: pod 0 had not saved the model yet."""
        if index in self.running:
            self.running[index][0].kill()
            self.running[index][0].wait()
        return not (self.folder / "kept/model.keras").exists()

    def begun(self):
        """Return after which step the newest pod 0 began; `None` if it has not yet."""
        if 0 not in self.running:
            return None
        found = re.search(r"begin after step (\d+)", self.running[0][1].read_text())
        return found and int(found[1])


# --8<-- [end:pods]

# --8<-- [start:run]
while True:  # again where this process was held up, and a kill came too late
    with tempfile.TemporaryDirectory() as folder, Pods(folder) as pods:
        for index in range(2):
            pods.start(index)
        pods.until(lambda: [*Path(folder).glob("kept/ckpt-*.index")])
        first = pods.begun()
        if not pods.kill(1):
            continue
        pods.until(pods.begun)
        second = pods.begun()
        if not pods.kill(0):
            continue
        pods.until(lambda: not pods.running)
        weights = [
            keras.models.load_model(f"{folder}/{place}/model.keras").get_weights()
            for place in ("kept", "scratch-1")
        ]
        break

codes = [code for *_, code in pods.ended]
killed, failed, well = codes.count(-9), len([c for c in codes if c > 0]), codes.count(0)
print(f"killed: {killed}, failed because of that: {failed}, ended well: {well}")
print("the first pods began after step", first)
print("the next pods began at a checkpoint:", bool(second))
# --8<-- [end:run]

# --8<-- [start:compare]
with tempfile.TemporaryDirectory() as folder:  # the same script in this process
    alone, *_ = script.train(
        tf.distribute.get_strategy(), folder, None, script.EPOCHS * script.STEPS
    )


def furthest(some, others):
    return max(float(np.max(np.abs(a - b))) for a, b in zip(some, others, strict=True))


moved = furthest(alone.get_weights(), script.build()[0].get_weights())
away = furthest(weights[0], alone.get_weights())
print("both pods saved equal weights:", furthest(*weights) == 0.0)
print("equal to one undisturbed process:", away < 1e-4 < moved)
# --8<-- [end:compare]

start = min(begun for _, begun, *_ in pods.ended)
names = {-9: "killed", 0: "ended well"}
claims = {
    "manifest_is_good": problems["as it is"] == [],
    "a_misspelt_field_is_refused": "Extra inputs" in problems["a field misspelt"][0],
    "one_pod_at_a_time_is_accepted": "accepted" in problems["one pod at a time"][0],
    "another_name_of_the_job_is_accepted": "accepted" in problems["another Job"][0],
    "index_above_is_filled_in": read(container["env"]) == "worker 1",
    "index_below_is_filled_in": index_below == "worker 1",
    "index_below_raises": index_below.startswith("JSONDecodeError"),
    "not_indexed_raises": not_indexed.startswith("JSONDecodeError"),
    "a_killed_pod_makes_the_other_fail": killed == failed == 2,
    "only_the_killed_pods_are_replaced": not failed,
    "resumes_from_the_checkpoint": first == 0 and bool(second),
    "all_ended_well": well == 2,
    "pods_hold_equal_weights": furthest(*weights) == 0.0,
    "equal_to_one_process": away < 1e-4 < moved,
}
errors = {"index": index_below}
figures = {
    "pods": {
        "kind": "timeline",
        "timing": True,
        "xlabel": "seconds",
        "lanes": ["pod 0", "pod 1"],
        "spans": [
            {
                "lane": index,
                "start": begun - start,
                "end": ended - start,
                "label": "",
                "group": names.get(code, "failed because the other was killed"),
            }
            for index, begun, ended, code in pods.ended
        ],
    }
}
