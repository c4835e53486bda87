"""Bad input gets one clear error from one rank, a code that is not 0, no hang, and leaves no record that reads as whole."""
import os
import pathlib
import unittest

import h5py

from command import BINARY, EXPERIMENT, CommandTest, run


class BadInput(CommandTest):
    def refused_by_all(self, parts, extra=(), **keys):
        """Alone, as threads, and under mpirun."""
        for ranks, transport in ((1, "loopback"), (3, "loopback"), (2, "mpi")):
            with self.subTest(ranks=ranks, transport=transport):
                self.assert_refused(self.train(ranks, transport, extra=extra, **keys), *parts)

    def test_names_the_nearest_of_unknown_keys(self):
        self.refused_by_all(["train.step", "train.steps"], extra=["--set", "train.step=3"])

    def test_names_the_place_of_an_unknown_key_in_a_file(self):
        file = self.folder / "typo.toml"
        file.write_text("[train]\nsteps = 2\n\n[fsdp]\nlimitr = \"none\"\n")
        for words in ([BINARY, "train", file], [BINARY, "sweep", file]):
            self.assert_refused(run([*words, "--set", "net.transport=loopback"]), "typo.toml:5", "fsdp.limitr", "fsdp.limit")

    def test_says_what_type_unit_and_range_are_allowed(self):
        self.refused_by_all(["train.steps"], extra=["--set", "train.steps=many"])
        self.refused_by_all(["train.steps", "1"], extra=["--set", "train.steps=0"])
        self.refused_by_all(["net.chunk", "64"], extra=["--set", "net.chunk=64"])
        self.refused_by_all(["fsdp.strategy", "full", "replicate"], extra=["--set", "fsdp.strategy=shard"])
        self.refused_by_all(["model.heads"], extra=["--set", "model.heads=3"])

    def test_refuses_hybrid_sharding_over_a_part_of_a_node(self):
        for transport in ("loopback", "mpi"):
            result = self.train(3, transport, fsdp__strategy="hybrid", net__ranks_per_node=2)
            self.assert_refused(result, "fsdp.strategy", "3 ranks", "nodes of 2", "net.ranks_per_node")

    def test_lists_networks_and_accelerators(self):
        self.refused_by_all(["ethernet-25gb", "ethernet-25g", "infiniband-hdr"], extra=["--net", "ethernet-25gb"])
        self.refused_by_all(["a1000", "a100", "h100"], extra=["--emulate", "a1000"])

    def test_refuses_a_network_too_fast_for_this_machine(self):
        for transport in ("loopback", "mpi"):
            self.assert_refused(self.train(2, transport, extra=["--net", "infiniband-ndr"]), "infiniband-ndr", "net.dilation")

    def test_refuses_collective_algorithms_and_tune_files_that_can_not_be(self):
        self.refused_by_all(["collective.algorithm", "spiral", "direct"], extra=["--set", "collective.algorithm=spiral"])
        for transport in ("loopback", "mpi"):
            for keys in ({"collective__algorithm": "direct"}, {"collective__tune": "any.toml"}):
                result = self.train(2, transport, extra=["--net", "ethernet-10g", "--set", "net.dilation=5"], **keys)
                self.assert_refused(result, "collective.", "under net.profile")
            self.assert_refused(self.train(2, transport, collective__tune="no-such-tune.toml"), "no-such-tune.toml")
            tune = self.folder / "tune.toml"
            tune.write_text(f"[{transport}.ranks-2.per-node-2]\nall_gather = [\"spiral\"]\n")
            self.assert_refused(self.train(2, transport, collective__tune=tune), "tune.toml:2", "spiral", "ring, exchange")

    def test_refuses_texts_that_are_missing_empty_short_or_no_files(self):
        empty = self.folder / "empty.txt"
        empty.write_text("")
        short = self.folder / "short.txt"
        short.write_text("In the beginning")
        pipe = self.folder / "pipe"
        os.mkfifo(pipe)
        self.refused_by_all(["no-such.txt"], data__path=self.folder / "no-such.txt")
        self.refused_by_all(["empty.txt"], data__path=empty)
        self.refused_by_all(["short.txt"], data__path=short)
        self.refused_by_all(["pipe"], data__path=pipe)
        self.refused_by_all(["/dev/zero"], data__path="/dev/zero")

    def test_refuses_more_ranks_than_there_are_sequences(self):
        small = self.folder / "small.txt"
        small.write_text("x" * 150)  # two sequences of 64 tokens and their targets
        self.assert_refused(self.train(4, data__path=small, train__global_batch=4), "small.txt")

    def test_refuses_a_record_that_can_not_be_written(self):
        self.refused_by_all(["no-such-folder"], record__path="/proc/no-such-folder/run.h5")
        self.refused_by_all([str(self.text)], record__path=self.text / "run.h5")

    def test_a_full_disk_ends_the_run_and_its_record_is_not_whole(self):
        if os.geteuid() != 0:
            self.skipTest("mounting a small file system needs root")
        disk = self.folder / "disk"
        disk.mkdir()
        if os.system(f"mount -t tmpfs -o size=256k tmpfs {disk} 2>/dev/null") != 0:
            self.skipTest("mounting is not allowed here")
        try:
            result = self.train(2, "mpi", record__path=disk / "run.h5", train__steps=400, record__flush_seconds="0s",
                                record__timeline_steps=400, model__context=16, train__global_batch=2)
            self.assertNotEqual(result.code, 0, result.out)
            self.assertEqual(len(result.errors), 1, result.err)
            self.assertIn("run.h5", result.errors[0])
            for record in pathlib.Path(disk).glob("*.h5"):
                try:
                    with h5py.File(record, swmr=True) as file:
                        self.assertEqual(file.attrs["complete"], 0)
                except OSError:
                    pass  # not even readable: certainly not whole
        finally:
            os.system(f"umount {disk}")

    def test_native_collectives_need_mpi_and_can_not_be_shaped(self):
        self.assert_refused(self.train(2, collective__implementation="native"), "collective.implementation", "mpi")
        self.assert_refused(self.train(2, "mpi", collective__implementation="native", net__profile="ethernet-1g"), "net.profile")

    def test_refuses_ranks_of_threads_under_mpi(self):
        result = run([BINARY, "train", EXPERIMENT, "--ranks", 2])
        self.assert_refused(result, "--ranks", "loopback")

    def test_training_without_mpirun_is_one_rank(self):
        result = self.train(1, "loopback", train__steps=1)
        self.assertEqual(result.code, 0, result.err)
        alone = run([BINARY, "train", EXPERIMENT, "--quiet", "--set", f"data.path={self.text}", "--set", "train.steps=1", "--set",
                     "model.context=64", "--set", "train.evaluate_every=0"])
        self.assertEqual(alone.code, 0, alone.err)


if __name__ == "__main__":
    unittest.main()
