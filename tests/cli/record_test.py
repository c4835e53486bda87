"""What a run's record says about memory, bytes, bounds and time is true."""
import json
import unittest

import h5py
import numpy as np

from command import BINARY, EXPERIMENT, CommandTest, run

RANKS = 4


class Record(CommandTest):
    def record(self, ranks, transport="loopback", **options):
        path = self.folder / "run.h5"
        result = self.train(ranks, transport, record__path=path, **options)
        self.assertEqual(result.code, 0, result.err)
        return h5py.File(path)

    def test_persistent_state_is_sixteen_bytes_a_parameter_over_the_ranks(self):
        for ranks in (2, 4):
            # One gathered unit and one reduction in flight beside the state, which is what is left when they are taken off.
            with self.record(ranks, train__steps=2, model__width=128, fsdp__limit=1, fsdp__prefetch=0) as file:
                state = file["steps/memory_peak_bytes"][:] - file["steps/in_flight_bytes_peak"][:]
                expected = 16 * file.attrs["parameters"] / ranks
                np.testing.assert_allclose(state, expected, rtol=0.05)

    def test_bytes_between_nodes_are_the_closed_form(self):
        """Full sharding: gathers before forward and backward (not again for the last block) and a reduction, (W-1)/W of each into a node."""
        with self.record(RANKS, train__steps=3, model__layers=4, net__ranks_per_node=1) as file:
            width, context, layers = 64, 64, 4
            block = 12 * width * width + 13 * width
            root = 256 * width + context * width + 2 * width
            padded = lambda n: -(-n // RANKS) * RANKS
            # The root unit stays gathered through the step.
            elements = (2 * layers - 1) * padded(block) + padded(root) + layers * padded(block) + padded(root)
            per_rank = elements * 4 * (RANKS - 1) // RANKS
            got = file["links/bytes"][:]
            names = [name.decode() for name in file["links/purpose"][:]]
            moved = got[:, :, names.index("parameters")].sum() + got[:, :, names.index("gradients")].sum()
            self.assertEqual(moved, 3 * RANKS * per_rank)

    def test_what_is_in_flight_never_passes_the_limit(self):
        for limit in (1, 2, 3):
            with self.record(3, train__steps=3, model__layers=5, fsdp__limit=limit, fsdp__prefetch=3) as file:
                self.assertLessEqual(file["steps/in_flight_peak"][:].max(), limit)
                self.assertLessEqual(file["steps/reductions_peak"][:].max(), limit)
                self.assertGreaterEqual(file["steps/in_flight_peak"][:].max(), 1)

    def test_times_add_up_and_stand_above_their_bounds(self):
        with self.record(2, "mpi", train__steps=5, net__profile="ethernet-10g", net__dilation=20) as file:
            steps = file["steps"]
            seconds = steps["seconds"][:]
            self.assertTrue((steps["exposed_communication_seconds"][:] <= seconds).all())
            self.assertTrue((steps["roofline_seconds"][:] <= steps["lower_bound_seconds"][:] * (1 + 1e-9)).all())
            self.assertTrue((steps["bytes_between_nodes"][:] > 0).all())
            self.assertTrue((steps["bytes_in_node"][:] == 0).all())
            self.assertEqual(file["environment"].attrs["network"], b"ethernet-10g")
            self.assertEqual(file["environment"].attrs["dilation"], 20)
            self.assertTrue((file["timeline/begin_seconds"][:] <= file["timeline/end_seconds"][:]).all())
            self.assertEqual(set(file["timeline/rank"][:]), {0, 1})
            taken, end = file["timeline/taken_seconds"][:], file["timeline/end_seconds"][:]
            self.assertTrue((taken <= end).all())
            for what in ("memory_taken_bytes", "gather_credits_taken", "reduction_credits_taken"):
                self.assertGreater(file[f"timeline/{what}"][:].sum(), 0)
                self.assertEqual(file[f"timeline/{what}"][:].sum(), file[f"timeline/{what.replace('taken', 'given')}"][:].sum())
            lanes = [file[f"ranks/collective_{part}_seconds"][:] for part in ("exposed", "hidden")]
            for part, by_rank in zip(("exposed", "hidden"), lanes):
                np.testing.assert_allclose(np.median(by_rank, axis=1), file[f"steps/{part}_communication_seconds"][:])

    def test_the_trace_shows_every_lane_of_every_rank(self):
        trace = self.folder / "trace.json"
        self.assertEqual(self.train(2, train__steps=2, extra=["--trace", trace]).code, 0)
        events = json.loads(trace.read_text())
        events = events["traceEvents"] if isinstance(events, dict) else events
        spans = [event for event in events if event["ph"] == "X"]
        self.assertEqual({event["pid"] for event in spans}, {0, 1})
        self.assertGreater(len(spans), 20)

    def test_evaluation_is_recorded_in_bits_a_byte(self):
        with self.record(2, train__evaluate_every=10) as file:
            self.assertEqual(len(file["evaluation/step"]), 2)
            np.testing.assert_allclose(file["evaluation/bits_per_byte"][:], file["evaluation/loss"][:] / np.log(2), rtol=1e-12)


class Commands(CommandTest):
    def test_every_command_explains_itself(self):
        for words in ([], ["train"], ["sweep"], ["config"], ["report"], ["data"], ["data", "prepare"], ["record"], ["record", "repair"]):
            result = run([BINARY, *words, "--help"])
            self.assertEqual(result.code, 0, result.err)
            self.assertIn("Usage", result.out)

    def test_config_prints_every_key_with_its_help(self):
        result = run([BINARY, "config"])
        self.assertEqual(result.code, 0)
        for key in ("train.global_batch", "fsdp.limiter", "net.profile", "watchdog.seconds", "optimizer.clip_norm"):
            self.assertIn(key, result.out)

    def test_config_prints_the_effective_config_of_a_file(self):
        result = run([BINARY, "config", EXPERIMENT, "--set", "train.steps=7"])
        self.assertEqual(result.code, 0, result.err)
        self.assertRegex(result.out, r"steps *= *7")

    def test_data_prepare_makes_tokens_once(self):
        out = self.folder / "tokens"
        for _ in range(2):
            result = run([BINARY, "data", "prepare", self.text, "--cache", out])
            self.assertEqual(result.code, 0, result.err)
        self.assertEqual(len(list(out.iterdir())), 1)

    def choices(self, ranks, transport, **keys):
        record = self.folder / "choices.h5"
        result = self.train(ranks, transport, record__path=record, train__steps=2, **keys)
        self.assertEqual(result.code, 0, result.err)
        with h5py.File(record) as file:
            text = file.attrs["choices"]
            lines = (text.decode() if isinstance(text, bytes) else text).splitlines()
            in_node = file["steps/bytes_in_node"][:]
        return {line for line in lines if line.startswith("collective ")}, in_node

    def test_holds_the_collective_algorithms_that_ran(self):
        tune = self.folder / "tune.toml"
        for transport in ("loopback", "mpi"):
            tune.write_text(f"[{transport}.ranks-2.per-node-2]\nall_gather = [\"16KiB exchange\", \"ring\"]\n")
            tuned, by_messages = self.choices(2, transport, collective__tune=tune)
            self.assertLessEqual({"collective all_gather 16KiB: exchange", "collective all_gather any: ring",
                                  "collective reduce_scatter any: direct"}, tuned)
            ruled, _ = self.choices(2, transport, collective__algorithm="ring")
            self.assertIn("collective all_gather any: ring", ruled)
            by_default, in_place = self.choices(2, transport)
            self.assertIn("collective all_gather any: direct", by_default)
            # What a peer reads in place is counted like what it is sent.
            self.assertTrue((in_place == by_messages).all())
            self.assertGreater(in_place[0], 0)


if __name__ == "__main__":
    unittest.main()
