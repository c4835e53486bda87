"""The memory budget: what a run holds is counted, and running out is one error on all ranks."""
import unittest

import h5py

from command import CommandTest

TRANSPORTS = (("loopback", 2), ("mpi", 2))


class Memory(CommandTest):
    def record_of(self, result, path):
        with h5py.File(path, "r") as file:
            return dict(file.attrs), {name: column[:] for name, column in file["steps"].items()}

    def test_the_record_tells_what_memory_was_had(self):
        path = self.folder / "ample.h5"
        result = self.train(2, "mpi", record__path=path, train__steps=3)
        self.assertEqual(result.code, 0, result.err)
        _, steps = self.record_of(result, path)
        for allocated, active, reserved, buffers in zip(steps["allocated_peak_bytes"], steps["active_peak_bytes"], steps["reserved_peak_bytes"],
                                                        steps["memory_peak_bytes"]):  # fmt: skip
            self.assertLessEqual(allocated, active)
            self.assertLessEqual(active, reserved)
            self.assertGreater(allocated, buffers / 2, "parameters, gathers and activations are all counted")
        self.assertEqual(list(steps["allocator_retries"]), [0, 0, 0])

    def test_a_model_that_does_not_fit_is_refused_at_start(self):
        for transport, ranks in TRANSPORTS:
            with self.subTest(transport=transport):
                result = self.train(ranks, transport, memory__budget="1MiB")
                self.assert_refused(result, "out of the memory budget of 1.05 MB (memory.budget)", "activations", "takes")

    def test_what_measuring_needs_is_within_the_budget_too(self):
        # A block of 12.6 MB and its gradients don't fit; the activations of a few short sequences do.
        wide = {"model__layers": 1, "model__width": 512, "model__heads": 4, "train__global_batch": 2}
        for transport, ranks in TRANSPORTS:
            with self.subTest(transport=transport):
                result = self.train(ranks, transport, memory__budget="12MiB", **wide)
                self.assert_refused(result, "out of the memory budget of 12.6 MB (memory.budget)", '"measuring" takes', "activations")

    def test_a_replica_that_does_not_fit_is_refused_where_its_shards_train(self):
        for transport, ranks in TRANSPORTS:
            with self.subTest(transport=transport):
                path = self.folder / f"{transport}_full.h5"
                deep = {"model__layers": 24, "train__steps": 2, "train__global_batch": 2}
                self.assertEqual(self.train(ranks, transport, record__path=path, **deep).code, 0)
                _, steps = self.record_of(None, path)
                budget = f"{-(-max(steps['reserved_peak_bytes']) // 1024) + 256}KiB"
                full = self.train(ranks, transport, memory__budget=budget, **deep)
                self.assertEqual(full.code, 0, full.err)
                result = self.train(ranks, transport, fsdp__strategy="replicate", memory__budget=budget, **deep)
                self.assert_refused(result, "(memory.budget): by the strategy replicate a rank keeps", "parameters", "gradients", "optimizer state",
                                    "activations", "by full, over 2 ranks, it would be")  # fmt: skip

    def test_a_limiter_that_could_hold_no_unit_is_refused_at_start(self):
        for transport, ranks in TRANSPORTS:
            with self.subTest(transport=transport):
                result = self.train(ranks, transport, fsdp__limiter="bytes", fsdp__limit_bytes="1KiB")
                self.assert_refused(result, 'fsdp.limit_bytes = 1KiB: the unit "h.0" takes')

    def test_every_policy_and_side_trains_the_same(self):
        losses = set()
        for policy in ("none", "window", "block", "bytes", "pingpong"):
            for side in ("host", "lane"):
                with self.subTest(policy=policy, side=side):
                    result = self.train(2, "loopback", fsdp__limiter=policy, fsdp__limiter_side=side, train__steps=3)
                    self.assertEqual(result.code, 0, result.err)
                    losses.add(result.out.split("loss ")[1].split()[0])
        self.assertEqual(len(losses), 1, losses)

    def test_running_out_in_a_step_is_one_error_and_closes_the_record(self):
        # The model and its state take a bit over 5 MB here; what gathers need on top isn't there without a limiter.
        for transport, ranks in TRANSPORTS:
            with self.subTest(transport=transport):
                path = self.folder / f"{transport}.h5"
                ample = self.folder / f"{transport}_ample.h5"
                self.assertEqual(self.train(ranks, transport, record__path=ample, train__steps=1).code, 0)
                _, steps = self.record_of(None, ample)
                held = int(steps["reserved_peak_bytes"][0]) - int(steps["in_flight_bytes_peak"][0])
                budget = f"{(held + 40_000) // 1024}KiB"
                result = self.train(ranks, transport, record__path=path, memory__budget=budget)
                self.assertEqual(result.code, 1, result.out + result.err)
                self.assertEqual(len(result.errors), 1, result.err)
                self.assertRegex(result.errors[0], r'rank \d on \S+: out of the memory budget of .* "(parameters|gradients) .*" takes .* more')
                self.assertRegex(result.errors[0], r"activations [\d.]+ [KM]B")
                head, steps = self.record_of(result, path)
                self.assertEqual(head["complete"], 1)
                self.assertIn("out_of_budget", head["flags"].decode() if isinstance(head["flags"], bytes) else head["flags"])
                self.assertEqual(len(steps["step"]), 0)


if __name__ == "__main__":
    unittest.main()
