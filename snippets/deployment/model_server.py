# /// script
# requires-python = ">=3.11,<3.14"
# dependencies = ["tensorflow==2.21.*", "tensorflow-serving-api==2.21.*", "grpcio"]
#
# [tool.guide]
# devices = 0
# processes = 3
# seconds = 120
# files = ["stand_in.py"]
# ///
"""Start a server for the `with` block of a program: TensorFlow Serving or a stand-in.

Programs beside it import `ModelServer`. Run alone, it checks itself: that the server
answers, that it ends with the block, and that one that does not start says why.
"""

import contextlib
import errno
import json
import os
import pathlib
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from concurrent import futures


# --8<-- [start:server]
class ModelServer(contextlib.ExitStack):
    """A server on free ports of this machine. It ends with the `with` block.

    It is `tensorflow_model_server` where the machine has one, else stand_in.py beside this file.
    """

    def __init__(self, *flags):
        super().__init__()
        real = shutil.which("tensorflow_model_server")
        self.name = "TensorFlow Serving" if real else "stand-in"
        if real:
            held = [socket.create_server(("127.0.0.1", 0)) for _ in range(2)]
            ports = [one.getsockname()[1] for one in held]
            for one in held:  # both were held until here, so they differ
                one.close()
            command = [real, f"--port={ports[0]}", f"--rest_api_port={ports[1]}"]
            # Else two servers with one gRPC port would share it without a word.
            command += ["--grpc_channel_arguments=grpc.so_reuseport=0"]
        else:  # the stand-in takes free ports by itself and says which
            file = pathlib.Path(__file__).with_name("stand_in.py")
            command = [sys.executable, "-P", str(file), f"--parent={os.getpid()}"]
            command += ["--port=0", "--rest_api_port=0"]
        self.log = self.enter_context(tempfile.TemporaryFile())  # noqa: SIM115
        # TensorFlow Serving says on both streams why it does not start; the stand-in
        # prints its ports to stdout.
        out = self.log if real else subprocess.PIPE
        # Processes of one machine cannot share its GPU, so the stand-in takes none.
        env = None if real else {**os.environ, "CUDA_VISIBLE_DEVICES": "-1"}
        try:
            self.process = subprocess.Popen(
                [*command, *flags], env=env, stdout=out, stderr=self.log
            )
            self.callback(self.end)
            ports = ports if real else self.announced()
            self.grpc, self.rest = (f"127.0.0.1:{port}" for port in ports)
            self.wait_for(ports)
        except BaseException:
            self.close()
            raise

    def announced(self):
        """Wait for the line in which the stand-in names its ports, or for its end."""
        words = self.process.stdout.readline().decode().split()
        return (words[2], words[4]) if len(words) == 5 else self.fail()

    def wait_for(self, ports, seconds=60):
        """Wait until both ports take connections: a real server opens them last."""
        until = time.monotonic() + seconds
        while ports:
            try:
                socket.create_connection(("127.0.0.1", ports[0]), 1).close()
                ports = ports[1:]
            except OSError:
                if self.process.poll() is not None or time.monotonic() > until:
                    self.fail()
                time.sleep(0.1)

    def fail(self):
        self.log.seek(0)
        # TensorFlow Serving answers an unknown flag with a list of all flags:
        # 9,000 characters.
        end = self.log.read().decode(errors="replace")[-20_000:]
        raise RuntimeError("no server:\n" + end)

    def end(self):
        self.process.terminate()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        if self.process.stdout:
            self.process.stdout.close()


# --8<-- [end:server]


if __name__ == "__main__":
    # --8<-- [start:check]
    import tensorflow as tf

    class Double(tf.Module):
        """Answer each number with twice as much."""

        @tf.function(input_signature=[tf.TensorSpec([None], tf.float32, name="x")])
        def __call__(self, x):
            return {"doubled": 2 * x}

    numbers = [1.0, -2.5, 4.0]
    with tempfile.TemporaryDirectory() as base:
        model = Double()
        tf.saved_model.save(model, f"{base}/1", signatures=model.__call__)
        flags = ["--model_name=double", f"--model_base_path={base}"]
        mistake = None
        try:
            with ModelServer(*flags) as server, ModelServer(*flags) as other:
                ports = {server.rest, server.grpc, other.rest, other.grpc}
                url = f"http://{server.rest}/v1/models/double:predict"
                body = json.dumps({"instances": numbers}).encode()
                with urllib.request.urlopen(url, body, timeout=30) as answer:
                    doubled = json.load(answer)["predictions"]
                raise KeyError("a mistake of the client")
        except KeyError as error:
            mistake = error
    ended = [one.process.poll() is not None for one in (server, other)]
    print(server.name, "answers", doubled)
    print("two at once have", len(ports), "ports")
    print("after", repr(mistake), "they have ended:", ended)

    try:
        ModelServer("--no_such_flag")
    except RuntimeError as error:
        why = str(error)
    print("a server that does not start names the flag:", "--no_such_flag" in why)
    # --8<-- [end:check]

    # --8<-- [start:ports]
    import grpc

    def answering(name, port):
        """Start a gRPC server that answers every call with its name."""
        method = {"Who": grpc.unary_unary_rpc_method_handler(lambda *_: name)}
        handler = grpc.method_handlers_generic_handler("Test", method)
        one = grpc.server(futures.ThreadPoolExecutor(1), [handler])
        port = one.add_insecure_port(f"127.0.0.1:{port}")
        one.start()
        return one, port

    def ask(port):
        """Call over a connection of its own."""
        alone = [("grpc.use_local_subchannel_pool", 1)]
        with grpc.insecure_channel(f"127.0.0.1:{port}", alone) as channel:
            return channel.unary_unary("/Test/Who")(b"", timeout=30).decode()

    first, port = answering(b"A", 0)
    second, same = answering(b"B", port)
    names = sorted({ask(port) for _ in range(40)})
    for one in (first, second):
        one.stop(None).wait()
    print("two gRPC servers on one port:", same == port, "- 40 calls reach", names)

    with socket.create_server(("127.0.0.1", 0)) as plain:
        try:
            socket.create_server(plain.getsockname()).close()
            refused = None
        except OSError as error:
            refused = os.strerror(error.errno)
    print("two other servers on one port:", refused)
    # --8<-- [end:ports]

    claims = {
        "it_answers": doubled == [2 * number for number in numbers],
        "two_share_no_port": len(ports) == 4,
        "grpc_servers_share_a_port": port == same and names == ["A", "B"],
        "other_servers_do_not": refused == os.strerror(errno.EADDRINUSE),
        "it_ends_with_the_block": all(ended),
        "a_mistake_in_the_block_goes_on": isinstance(mistake, KeyError),
        "it_says_why_it_does_not_start": "--no_such_flag" in why,
    }
    measures = {"server": server.name}
