"""Records for the tests of the report: made of numbers in memory, or written by the program write_records as a run would."""

import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

try:
    import h5py  # noqa: F401
    import matplotlib  # noqa: F401
    import numpy
except ImportError as error:
    print(f"skipped: {error}")
    sys.exit(77)

from twinax_results.load import Record, Sweep

WRITE_RECORDS = os.environ.get("TWINAX_WRITE_RECORDS", "")


def record(point=None, repeat=0, seconds=(1.0,), **changes) -> Record:
    """A complete record of the steps' `seconds`, on 1 rank, with half of each step spent computing and 8 tokens a step."""
    times = numpy.array(seconds, dtype=float)
    steps = {
        "step": numpy.arange(len(times)),
        "seconds": times,
        "tokens": numpy.full(len(times), changes.pop("tokens", 8)),
        "loss": numpy.full(len(times), 2.0),
        "compute_seconds": times * 0.5,
        "exposed_communication_seconds": times * 0.25,
        "hidden_communication_seconds": times * 0.125,
        "lower_bound_seconds": times * 0.8,
        "memory_peak_bytes": numpy.full(len(times), 1 << 20),
        "in_flight_peak": numpy.full(len(times), 2),
        "in_flight_bytes_peak": numpy.full(len(times), changes.pop("in_flight_bytes", 1 << 10)),
        "reductions_peak": numpy.full(len(times), 1),
    }
    environment = dict.fromkeys(("hosts", "cpu", "mpi", "ucx", "hdf5", "compiler", "git_revision", "transport", "network", "accelerator"), "")
    environment |= {"ranks": 1, "ranks_per_node": 1, "cores": 1, "dilation": 1.0, "model_factor": 1.0, "token_factor": 1.0} | changes.pop("environment", {})
    ranks = {name: numpy.tile(times[:, None], environment["ranks"]) for name in ("seconds", "compute_seconds", "waiting_seconds")}
    ranks["memory_peak_bytes"] = numpy.ones((len(times), environment["ranks"]), dtype=int)
    values = {"path": Path("made"), "kind": "train", "name": "made", "command": "", "created_utc": "", "is_complete": True, "config": {},
              "warmup_steps": 0, "parameters": 1000, "stands_for": "", "flags": (), "dilation_drift": 0.0,
              "evaluation": {name: numpy.array([]) for name in ("step", "loss", "bits_per_byte", "tokens")}}  # fmt: skip
    values |= changes
    return Record(point=point or {}, repeat=repeat, environment=environment, steps=steps, ranks=ranks, **values)


def sweep(axes: dict, baseline: dict, records: list[Record]) -> Sweep:
    """A sweep of the points that the records have, in their order."""
    points = [dict(items) for items in dict.fromkeys(tuple(r.point.items()) for r in records)]
    texts = {key: [str(value) for value in values] for key, values in axes.items()}
    return Sweep(Path("index.h5"), "made", "A sweep", texts, points, baseline, 0, "", [], list(records))


@unittest.skipUnless(WRITE_RECORDS, "TWINAX_WRITE_RECORDS names no program")
class WrittenCase(unittest.TestCase):
    """A test with a folder of its own, and records in it."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def write(self, what: str, name: str) -> Path:
        """Writes a sweep (into a folder) or a single record."""
        path = self.folder / name
        if what not in ("single", "bench"):
            path.mkdir()
        subprocess.run([WRITE_RECORDS, what, str(path)], check=True)
        return path

    def grow(self, steps: int) -> tuple[subprocess.Popen, Path]:
        """Starts a run that doesn't end by itself, and waits until so many steps are flushed."""
        path = self.folder / "grow.h5"
        writer = subprocess.Popen([WRITE_RECORDS, "grow", str(path)], stdout=subprocess.PIPE, text=True)
        self.addCleanup(writer.wait)
        self.addCleanup(writer.stdout.close)
        self.addCleanup(writer.kill)
        while int(writer.stdout.readline()) < steps:
            pass
        return writer, path
