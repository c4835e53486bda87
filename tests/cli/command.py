"""Runs the twinax command for tests: a small model on a text made here."""
import os
import pathlib
import re
import subprocess
import tempfile
import unittest

BINARY = os.environ["TWINAX_BINARY"]
SOURCE = pathlib.Path(__file__).resolve().parents[2]
EXPERIMENT = SOURCE / "experiments" / "gpt-small.toml"
MPIRUN = [os.environ.get("TWINAX_MPIRUN", "mpirun"), "--oversubscribe", "--bind-to", "none"]
SMALL = {"model.layers": 2, "model.width": 64, "model.heads": 4, "model.context": 64, "train.steps": 20, "train.global_batch": 12,
         "train.evaluate_every": 0, "optimizer.warmup_steps": 5}


class Result:
    """What a command said and how it ended."""

    def __init__(self, done):
        self.code, self.out, self.err = done.returncode, done.stdout, done.stderr
        self.log = [line for line in self.err.splitlines() if line.startswith("twinax[")]
        self.errors = [line for line in self.log if "] error: " in line]


def run(arguments, timeout=60, environment=None):
    """Runs a command line to its end; one that outlasts `timeout` seconds fails the test."""
    done = subprocess.run([str(a) for a in arguments], capture_output=True, text=True, timeout=timeout,
                          env={**os.environ, **(environment or {})}, check=False)
    return Result(done)


UCX_WIRES = {"ucx_shm": {"UCX_TLS": "self,shm"}, "ucx_tcp": {"UCX_TLS": "self,tcp", "UCX_NET_DEVICES": "lo"}}


def environment_of(transport):
    """What narrows UCX to the wires that a name like "ucx_shm" stands for."""
    return UCX_WIRES.get(transport, {})


def launch(ranks, transport, mpirun=MPIRUN):
    """The words before a subcommand's arguments, and those after."""
    if transport == "loopback":
        return [BINARY], ["--set", "net.transport=loopback", "--ranks", ranks]
    return [*mpirun, "-n", ranks, BINARY], ["--set", f"net.transport={transport.split('_')[0]}"]


class CommandTest(unittest.TestCase):
    """A folder that goes away, and a text of 40,000 bytes in it."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="twinax-cli-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        os.environ["XDG_CACHE_HOME"] = str(self.folder / "cache")
        words = ["copper", "cable", "carries", "ether", "and", "infinite", "bands", "alike"]
        text = " ".join(words[(i * i + i // 7) % len(words)] for i in range(9000))[:40000]
        self.text = self.folder / "text.txt"
        self.text.write_text(text)

    def train(self, ranks=1, transport="loopback", extra=(), timeout=60, mpirun=MPIRUN, **keys):
        """One small run; keys with dots are written with two underscores."""
        before, after = launch(ranks, transport, mpirun)
        settings = {**SMALL, "data.path": self.text, **{k.replace("__", "."): v for k, v in keys.items()}}
        sets = [word for key, value in settings.items() for word in ("--set", f"{key}={value}")]
        return run([*before, "train", EXPERIMENT, *after, "--quiet", *sets, *extra], timeout, environment_of(transport))

    def assert_refused(self, result, *parts):
        """One error from one rank, a code that is not 0, and each part in the message."""
        self.assertNotEqual(result.code, 0, result.out + result.err)
        self.assertEqual(len(result.errors), 1, result.err)
        for part in parts:
            self.assertRegex(result.errors[0], re.escape(part), result.err)
