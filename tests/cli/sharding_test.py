"""The loss of 20 steps is that of one rank, however the model is sharded and whatever carries its bytes."""
import unittest

import h5py
import numpy as np

from command import CommandTest


class Sharding(CommandTest):
    def losses(self, name, **options):
        record = self.folder / f"{name}.h5"
        result = self.train(record__path=record, **options)
        self.assertEqual(result.code, 0, result.err)
        with h5py.File(record) as file:
            self.assertEqual(file.attrs["complete"], 1)
            return file["steps/loss"][:], file["steps/gradient_norm"][:]

    def compare(self, batch):
        reference, norms = self.losses("reference", train__global_batch=batch)
        self.assertEqual(len(reference), 20)
        self.assertLess(reference[-1], 0.9 * reference[0])
        shaped = {"net__profile": "ethernet-10g", "net__dilation": 5}
        runs = [(ranks, "loopback", strategy, {}) for ranks in (1, 2, 3, 4) for strategy in ("full", "replicate")]
        runs += [(2, "mpi", "full", {}), (3, "mpi", "replicate", {}), (4, "mpi", "full", {})]
        runs += [(3, "mpi", "full", {"collective__implementation": "native"}), (2, "mpi", "replicate", {"collective__implementation": "native"})]
        runs += [(2, "ucx_shm", "full", {}), (3, "ucx_shm", "replicate", {}), (4, "ucx_tcp", "full", {}), (2, "ucx_tcp", "full", shaped), (2, "ucx", "full", {})]
        runs += [(3, "loopback", "full", {"collective__algorithm": "pairwise"}), (2, "mpi", "full", shaped), (3, "loopback", "replicate", shaped)]
        runs += [(4, "loopback", "full", {"net__profile": "ethernet-400g", "net__dilation": 200, "net__ranks_per_node": 2}), (3, "loopback", "full", {"train__batch": 1})]
        runs += [(2, "loopback", "full", {"fsdp__limiter": "none", "fsdp__prefetch": 3})]
        runs += [(4, "mpi", "full", {"collective__algorithm": "hierarchical", "net__ranks_per_node": 2})]
        runs += [(4, "loopback", "replicate", {"collective__algorithm": "recursive"})]
        runs += [(2, "mpi", "keep", {}), (3, "loopback", "keep", {"train__batch": 1, "fsdp__limiter": "none"})]
        nodes = {"net__ranks_per_node": 2}
        runs += [(4, "mpi", "hybrid", nodes), (4, "loopback", "hybrid", {**nodes, "train__batch": 1}), (3, "loopback", "hybrid", {})]
        runs += [(4, "mpi", "hybrid", {**nodes, "collective__implementation": "native"}), (4, "ucx", "hybrid", {**nodes, "net__profile": "ethernet-400g", "net__dilation": 200})]
        small = {"train__batch": 1, "fsdp__checkpoint": "true"}
        runs += [(2, "mpi", "full", {**small, "fsdp__accumulate": "local", "fsdp__backward_prefetch": "post"}), (3, "loopback", "replicate", small)]
        runs += [(4, "loopback", "hybrid", {**nodes, **small, "fsdp__accumulate": "local", "fsdp__limiter": "none"})]
        for ranks, transport, strategy, keys in runs:
            with self.subTest(ranks=ranks, transport=transport, strategy=strategy, keys=keys):
                losses, got_norms = self.losses("run", ranks=ranks, transport=transport, train__global_batch=batch, fsdp__strategy=strategy,
                                                **keys)
                np.testing.assert_allclose(losses, reference, rtol=1e-5)
                np.testing.assert_allclose(got_norms, norms, rtol=1e-4)

    def test_agrees_for_a_batch_that_all_numbers_of_ranks_divide(self):
        self.compare(12)

    def test_agrees_for_a_batch_that_three_and_four_ranks_do_not_divide(self):
        self.compare(7)

    def test_learns_with_compressed_wires(self):
        reference, _ = self.losses("reference", train__global_batch=12)
        runs = [(2, "mpi", "full", {"fsdp__wire": "int8"}), (3, "loopback", "keep", {"fsdp__wire": "bf16", "fsdp__reduce_wire": "int8"})]
        runs += [(4, "loopback", "hybrid", {"fsdp__reduce_wire": "int8", "net__ranks_per_node": 2})]
        runs += [(2, "mpi", "full", {"fsdp__wire": "int8", "collective__implementation": "native"})]
        for ranks, transport, strategy, keys in runs:
            with self.subTest(ranks=ranks, transport=transport, strategy=strategy, keys=keys):
                losses, _ = self.losses("run", ranks=ranks, transport=transport, train__global_batch=12, fsdp__strategy=strategy, **keys)
                np.testing.assert_allclose(losses, reference, rtol=0.05)
                self.assertFalse(np.allclose(losses, reference, rtol=1e-5), "wires round")

    def test_two_runs_with_the_same_choices_agree_bit_for_bit(self):
        for wire in ("fp32", "bf16"):
            first = self.folder / f"{wire}-1.h5"
            second = self.folder / f"{wire}-2.h5"
            self.assertEqual(self.train(2, "mpi", record__path=first, fsdp__wire=wire).code, 0)
            result = self.train(2, "mpi", record__path=second, fsdp__wire=wire, extra=["--same-choices-as", first])
            self.assertEqual(result.code, 0, result.err)
            with h5py.File(first) as a, h5py.File(second) as b:
                self.assertEqual(a["steps/loss"][:].tobytes(), b["steps/loss"][:].tobytes())
                self.assertEqual(a["steps/gradient_norm"][:].tobytes(), b["steps/gradient_norm"][:].tobytes())
                self.assertEqual(a.attrs["choices"], b.attrs["choices"])


if __name__ == "__main__":
    unittest.main()
