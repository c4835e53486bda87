"""Tests of reading: what is growing or was cut off is read, what can't be is named in one line."""

import math
import os
import subprocess
import unittest

from records import WrittenCase
import h5py
from twinax_results.load import LoadError, load_all, load_record, load_sweep


class Errors(WrittenCase):
    def fails(self, path) -> str:
        with self.assertRaises(LoadError) as caught:
            load_record(path)
        message = str(caught.exception)
        self.assertNotIn("\n", message)
        self.assertTrue(message.startswith(str(path)), message)
        return message.removeprefix(f"{path}: ")

    def test_a_missing_file(self):
        self.assertEqual(self.fails(self.folder / "none.h5"), "there is no such file")

    def test_a_file_that_is_no_hdf5(self):
        path = self.folder / "text.h5"
        path.write_text("no record")
        self.assertEqual(self.fails(path), "is no HDF5 file")

    def test_hdf5_of_another_program(self):
        path = self.folder / "foreign.h5"
        h5py.File(path, "w").close()
        self.assertEqual(self.fails(path), 'is no twinax-record (its schema is "")')

    def test_a_newer_schema_is_refused_by_name(self):
        path = self.write("single", "newer.h5")
        with h5py.File(path, "r+") as file:
            file.attrs["schema"] = "twinax-record/2"
        self.assertEqual(self.fails(path), "is of schema twinax-record/2, this report reads twinax-record/1; use a newer twinax")

    def test_a_missing_column_is_named(self):
        path = self.write("single", "single.h5")
        with h5py.File(path, "r+") as file:
            del file["/steps/seconds"]
        self.assertEqual(self.fails(path), "lacks /steps/seconds")

    def test_a_truncated_file(self):
        path = self.write("single", "single.h5")
        os.truncate(path, 4096)
        self.assertTrue(self.fails(path))


class Records(WrittenCase):
    def test_a_complete_record(self):
        record = load_record(self.write("single", "single.h5"))
        self.assertTrue(record.is_complete)
        self.assertEqual((len(record.steps["seconds"]), record.ranks["seconds"].shape, len(record.evaluation["loss"])), (60, (60, 2), 3))
        self.assertEqual((record.environment["network"], record.dilation, record.config["train"]["steps"]), ("ethernet-100g", 18.0, 5))

    def test_a_record_is_read_while_it_grows(self):
        writer, path = self.grow(steps=20)
        record = load_record(path)
        self.assertIsNone(writer.poll())
        self.assertFalse(record.is_complete)
        self.assertGreaterEqual(len(record.steps["step"]), 20)
        self.assertEqual(list(record.steps["step"]), list(range(len(record.steps["step"]))))

    def test_a_killed_run_is_read_as_far_as_it_came(self):
        writer, path = self.grow(steps=20)
        writer.kill()
        writer.wait()
        record = load_record(path)
        self.assertFalse(record.is_complete)
        self.assertGreaterEqual(len(record.steps["step"]), 20)
        self.assertTrue((record.steps["seconds"] > 0).all())


class Sweeps(WrittenCase):
    def test_a_sweeps_records_belong_to_its_index(self):
        folder = self.write("demo", "demo")
        sweeps, singles, problems = load_all(sorted(folder.glob("*.h5")))
        self.assertEqual((len(sweeps), singles, problems), (1, [], []))
        self.assertEqual((len(sweeps[0].records), len(sweeps[0].points), sweeps[0].left_out), (36, 6, []))
        self.assertEqual(sweeps[0].baseline, {"net.profile": "infiniband-hdr", "fsdp.limiter": "window"})

    def test_the_index_beside_a_record_is_found(self):
        folder = self.write("demo", "demo")
        sweeps, singles, _ = load_all([folder / "ethernet-25g_none_0.h5"])
        self.assertEqual((len(sweeps), singles), (1, []))

    def test_incomplete_and_unreadable_records_are_named_and_left_out(self):
        folder = self.write("faulty", "faulty")
        (folder / "infiniband-hdr_window_0.h5").unlink()
        sweep = load_sweep(folder / "index.h5")
        self.assertEqual(sorted(sweep.left_out), [
            f"{folder}/ethernet-100g_none_4.h5: is incomplete (5 steps so far)",
            f"{folder}/infiniband-hdr_window_0.h5: there is no such file",
        ])  # fmt: skip
        self.assertEqual(len(sweep.records), 33)

    def test_a_record_that_the_index_does_not_name_is_left_out(self):
        folder = self.write("demo", "demo")
        subprocess.run(["cp", str(folder / "ethernet-25g_none_0.h5"), str(folder / "copy.h5")], check=True)
        sweeps, singles, _ = load_all([folder])
        self.assertEqual((singles, sweeps[0].left_out), ([], [f"{folder}/copy.h5: is not named by the sweep's index"]))

    def test_trials_and_published_figures_are_read(self):
        folder = self.write("fit", "fit")
        made = load_sweep(folder / "index.h5")
        self.assertEqual([(trial.value, trial.outcome, trial.reason) for trial in made.trials],
                         [(8, "fits", ""), (36, "fits", ""), (50, "retries", ""), (8, "out of memory", '"h.0" takes 3.0 MiB more')])  # fmt: skip
        (row,) = made.published
        self.assertEqual((row.name, row.label, row.source, row.efficiency, row.batch), ("then", "as it was", "a page", 0.9, 50.0))
        self.assertTrue(math.isnan(row.speedup))
        self.assertTrue(row.is_of({"fsdp.limiter": "window", "ranks": 2}))
        self.assertFalse(row.is_of({"fsdp.limiter": "none", "ranks": 2}))

    def test_an_index_of_an_earlier_program_has_nothing_published(self):
        folder = self.write("fit", "fit")
        with h5py.File(folder / "index.h5", "r+") as file:
            del file["/published"], file["/trials/reason"]
        made = load_sweep(folder / "index.h5")
        self.assertEqual((made.published, {trial.reason for trial in made.trials}), ([], {""}))

    def test_files_that_can_not_be_read_do_not_hide_the_others(self):
        single = self.write("single", "single.h5")
        sweeps, singles, problems = load_all([self.folder / "none.h5", single])
        self.assertEqual((sweeps, len(singles), problems), ([], 1, [f"{self.folder}/none.h5: there is no such file"]))


if __name__ == "__main__":
    unittest.main()
