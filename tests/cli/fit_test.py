"""A sweep that looks for the largest value that fits runs its points with it, says what was tried, and goes on where it stopped."""
import unittest

import h5py

from command import BINARY, EXPERIMENT, SMALL, CommandTest, run

SWEEP = """base = "{base}"
[sweep]
repeats = 6
warmup_steps = 0
fit = {{ key = "train.global_batch", minimum = 2, maximum = {maximum}, steps = 1 }}
[axes]
"fsdp.limiter" = ["window", "none"]
"""


class Fit(CommandTest):
    def sweep(self, maximum, *sets):
        file = self.folder / "fit.toml"
        file.write_text(SWEEP.format(base=EXPERIMENT, maximum=maximum))
        settings = {**SMALL, "data.path": self.text, "net.transport": "loopback", "train.steps": 1}
        words = [word for key, value in settings.items() if key != "train.global_batch" for word in ("--set", f"{key}={value}")]
        words += [word for assignment in sets for word in ("--set", assignment)]
        return run([BINARY, "sweep", file, "--out", self.folder / "out", "--ranks", 2, "--quiet", *words])

    def index(self):
        with h5py.File(self.folder / "out" / "index.h5") as file:
            trials = list(zip(file["trials/point"][:], file["trials/value"][:], file["trials/outcome"][:]))
            return file.attrs["fit"], trials, [name.decode() for name in file["runs/file"][:]]

    def test_with_memory_for_all_it_is_the_maximum(self):
        result = self.sweep(5)
        self.assertEqual(result.code, 0, result.err)
        key, trials, runs = self.index()
        self.assertEqual(key, b"train.global_batch")
        points = [b'"fsdp.limiter" = "window"\n', b'"fsdp.limiter" = "none"\n']
        self.assertEqual(trials, [(points[0], value, b"fits") for value in (2, 4, 5)] + [(points[1], value, b"fits") for value in (2, 5)],
                         "what fitted the point before is tried early")  # fmt: skip
        self.assertEqual(len(runs), 12)
        for name in runs:
            with h5py.File(self.folder / "out" / name) as file:
                self.assertIn("global_batch = 5\n", file["config"][()].decode())
                self.assertEqual(len(file["steps/seconds"]), 1)
        again = self.sweep(5)
        self.assertEqual(again.code, 0, again.err)
        self.assertNotIn("fits", again.err, "the records say what fits: nothing is tried again")
        self.assertEqual(self.index(), (key, trials, runs))

    def test_a_budget_bounds_what_fits_and_a_point_without_room_is_a_result(self):
        # Without a limiter all gathers of a step are alive at once: less is left for the batch.
        result = self.sweep(4096, "memory.budget=8MiB", "model.layers=6", "fsdp.prefetch=8")
        self.assertEqual(result.code, 0, result.err)
        _, trials, runs = self.index()
        fits = {}
        for point, value, outcome in trials:
            fits.setdefault(point.decode().split('"')[3], []).append((int(value), outcome))
        for limiter, tried in fits.items():
            best = max((value for value, outcome in tried if outcome == b"fits"), default=0)
            self.assertTrue(all(value > best for value, outcome in tried if outcome != b"fits"), (limiter, tried))
            self.assertTrue(any(outcome != b"fits" for _, outcome in tried), (limiter, tried))
            self.assertEqual(len([name for name in runs if name.startswith(limiter)]), 6 if best else 0)
            fits[limiter] = best
        self.assertGreater(fits["window"], fits["none"])

    def test_points_that_never_fit_are_results_too(self):
        result = self.sweep(4, "memory.budget=1MiB")
        self.assertEqual(result.code, 0, result.err)
        _, trials, runs = self.index()
        self.assertEqual([(value, outcome) for _, value, outcome in trials], [(2, b"out of memory"), (2, b"out of memory")])
        self.assertEqual(runs, [])

    def test_a_range_without_values_is_refused(self):
        self.assert_refused(self.sweep(1), "sweep.fit goes from minimum = 2 to maximum = 1: the maximum must be set, and not below the minimum")

    def test_ranks_outside_a_point_know_the_dilation_and_the_memory_of_the_cluster(self):
        file = self.folder / "cluster.toml"
        file.write_text(f"""base = "{EXPERIMENT}"
[sweep]
repeats = 6
warmup_steps = 0
[axes]
ranks = [1, 2]
"net.usable_rate" = ["120Gbit/s", "60Gbit/s"]
[emulate]
cluster = "ibm-vela"
model = "t5-11b"
sequences = 1
""")
        settings = {**SMALL, "data.path": self.text, "net.transport": "loopback", "train.steps": 1}
        words = [word for key, value in settings.items() for word in ("--set", f"{key}={value}")]
        result = run([BINARY, "sweep", file, "--out", self.folder / "out", "--ranks", 2, "--quiet", *words])
        self.assertEqual(result.code, 0, result.err)
        runs = sorted((self.folder / "out").glob("*-0.h5"))
        self.assertEqual(len(runs), 3, "one rank uses no network: it is run over one")
        dilations = set()
        for path in runs:
            with h5py.File(path) as record:
                dilations.add(record["environment"].attrs["dilation"])
                one = record["environment"].attrs["ranks"] == 1
                self.assertIn(b"1 node with 8 a100" if one else b"32 nodes with 8 a100", record.attrs["stands_for"])
                self.assertIn(b"t5-11b, a model of 11.1 billion parameters", record.attrs["stands_for"])
        self.assertEqual(len(dilations), 1)
        refused = run([BINARY, "sweep", file, "--out", self.folder / "replicated", "--ranks", 2, "--quiet", *words,
                       "--set", "fsdp.strategy=replicate", "--set", "emulate.memory=true"])  # fmt: skip
        self.assertEqual(refused.code, 0, refused.err)
        self.assertIn("the 80.0 GB of one a100 don't hold the 178 GB that it keeps of t5-11b by the strategy replicate", refused.err)
        with h5py.File(self.folder / "replicated" / "index.h5") as index:
            self.assertEqual(list(index["trials/outcome"][:]), [b"out of memory"] * 3, "a result of each point")


if __name__ == "__main__":
    unittest.main()
