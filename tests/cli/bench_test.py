"""The benchmarks print the documented columns, check what arrives, and leave records that any HDF5 tool reads. No time is asserted."""
import csv
import io
import re
import tomllib
import unittest

import h5py
import numpy as np

from command import BINARY, SOURCE, CommandTest, launch, run

NET_TESTS = ("latency", "bandwidth", "bidirectional", "incast", "all-pairs latency", "all-pairs rate")
QUICK = ["--iterations", 3, "--warmup", 1]


class BenchTest(CommandTest):
    def bench(self, what, ranks, transport, *words):
        before, after = launch(ranks, transport)
        return run([*before, "bench", what, *after, *words], 120)

    def rows(self, what, ranks, transport, *words):
        """The rows of a run's CSV."""
        result = self.bench(what, ranks, transport, "--csv", "--check", *QUICK, *words)
        self.assertEqual(result.code, 0, result.err)
        return list(csv.DictReader(io.StringIO(result.out), strict=True))


class Net(BenchTest):
    def test_every_test_delivers_every_byte(self):
        for ranks, transport in ((2, "loopback"), (3, "loopback"), (2, "mpi")):
            with self.subTest(ranks=ranks, transport=transport):
                rows = self.rows("net", ranks, transport, "--sizes", "1B,1000B,64KiB", "--window", 5)
                pairs = ranks * (ranks - 1) // 2
                self.assertEqual(len(rows), 4 * 3 + 2 * pairs)
                self.assertEqual({row["test"] for row in rows}, set(NET_TESTS))
                self.assertEqual({row["wrong_bytes"] for row in rows}, {"0"})
                self.assertEqual({row["iterations"] for row in rows}, {"3"})
                self.assertEqual({row["transport"] for row in rows}, {transport})
                self.assertEqual({row["ranks"] for row in rows}, {str(ranks)})
                for row in rows:
                    is_latency = "latency" in row["test"]
                    self.assertEqual(row["latency_us"] != "", is_latency)
                    self.assertEqual(row["rate_MB_per_s"] != "", not is_latency)
                    self.assertGreater(float(row["share_of_bound_percent"]), 0)
                    if not is_latency:
                        self.assertLessEqual(float(row["rate_low_MB_per_s"]), float(row["rate_high_MB_per_s"]))
                        self.assertEqual(row["in_flight"], "5")

    def test_the_table_has_the_columns_of_the_osu_benchmarks(self):
        result = self.bench("net", 2, "loopback", "--test", "latency,bandwidth", "--sizes", "8B", *QUICK)
        self.assertEqual(result.code, 0, result.err)
        heads = [line.split() for line in result.out.splitlines() if "size [B]" in line]
        self.assertEqual(heads, ["size [B] latency [us] low high #wrong % bound".split(),
                                 "size [B] window MB/s low high Gbit/s messages/s #wrong % bound".split()])
        self.assertIn("2 ranks", result.out)
        self.assertIn("transport loopback", result.out)

    def test_a_pair_of_other_ranks_reports_through_the_first(self):
        rows = self.rows("net", 4, "loopback", "--test", "latency", "--pair", "3,1", "--sizes", "1KiB")
        self.assertEqual([(row["from_rank"], row["to_rank"], row["wrong_bytes"]) for row in rows], [("3", "1", "0")])

    def test_an_emulated_network_is_shown_as_itself(self):
        """Times are those of the network, whatever slows it: no less than it allows."""
        for transport in ("loopback", "mpi"):
            rows = self.rows("net", 2, transport, "--test", "latency,bandwidth", "--sizes", "256KiB", "--window", 4,
                             "--net", "ethernet-10g", "--set", "net.dilation=10")
            self.assertEqual({(row["network"], row["dilation"]) for row in rows}, {("ethernet-10g", "10")})
            self.assertEqual({row["wrong_bytes"] for row in rows}, {"0"})
            self.assertGreater(float(rows[0]["latency_us"]), 30)
            self.assertLess(float(rows[1]["rate_Gbit_per_s"]), 9.41)
        shown = self.bench("net", 2, "loopback", "--test", "latency", "--sizes", "1B", "--net", "ethernet-10g", *QUICK)
        self.assertIn("EMULATED network ethernet-10g", shown.out)

    def test_unchecked_figures_say_so(self):
        result = self.bench("net", 2, "loopback", "--csv", "--no-check", "--test", "latency", "--sizes", "1B", *QUICK)
        self.assertEqual([row["wrong_bytes"] for row in csv.DictReader(io.StringIO(result.out))], [""])


class Collective(BenchTest):
    def test_every_algorithm_gives_the_exact_result(self):
        for ranks, transport in ((2, "loopback"), (3, "loopback"), (2, "mpi"), (3, "mpi")):
            for dtype in ("fp32", "bf16"):
                with self.subTest(ranks=ranks, transport=transport, dtype=dtype):
                    rows = self.rows("collective", ranks, transport, "--sizes", "4B,48KiB", "--dtype", dtype)
                    seen = {(row["collective"], row["algorithm"]) for row in rows}
                    self.assertEqual({name for name, _ in seen}, {"all_gather", "reduce_scatter", "all_reduce", "broadcast", "barrier"})
                    self.assertEqual(any(algorithm == "native" for _, algorithm in seen), transport == "mpi")
                    per_algorithm = {pair: sum((row["collective"], row["algorithm"]) == pair for row in rows) for pair in seen}
                    self.assertEqual({n for (name, _), n in per_algorithm.items() if name != "barrier"}, {2})
                    for row in rows:
                        self.assertEqual(row["wrong"], "" if row["collective"] == "barrier" else "0", row)
                        self.assertEqual(row["iterations"], "3")
                        if row["collective"] == "barrier":
                            self.assertEqual((row["type"], row["busbw_GB_per_s"]), ("", ""))
                        if row["collective"] not in ("broadcast", "barrier"):
                            self.assertEqual(row["type"], dtype)
                            self.assertEqual(int(row["size_bytes"]), int(row["count"]) * (4 if dtype == "fp32" else 2))
                            self.assertEqual(int(row["count"]) % ranks, 0)

    def test_shows_no_algorithm_twice_where_bf16_makes_two_the_same(self):
        """Of sums that don't travel, contributions do: pairwise, by whatever name. Gathers round nothing."""
        sums = {"fp32": {"ring", "pairwise", "recursive", "hierarchical"}, "bf16": {"pairwise"}}
        gathers = {"ring", "exchange", "recursive", "hierarchical"}
        path = self.folder / "tune.toml"
        for dtype, expected in sums.items():
            rows = self.rows("collective", 4, "loopback", "--collective", "all_gather,reduce_scatter,all_reduce", "--sizes", "4KiB",
                             "--dtype", dtype, "--set", "net.ranks_per_node=2", "--tune", path)
            shown = {name: {row["algorithm"] for row in rows if row["collective"] == name} - {"direct"} for name in
                     ("all_gather", "reduce_scatter", "all_reduce")}
            self.assertEqual(shown["all_gather"], gathers)
            self.assertEqual(shown["reduce_scatter"], expected)
            self.assertEqual(shown["all_reduce"], expected | ({"exchange"} if dtype == "fp32" else set()))
        chosen = tomllib.loads(path.read_text())["loopback"]["ranks-4"]["per-node-2"]
        for name in ("reduce_scatter", "all_reduce"):
            self.assertNotIn("hierarchical", " ".join(chosen[name]))

    def test_bus_bandwidth_is_the_documented_share(self):
        factors = {"all_gather": 2 / 3, "reduce_scatter": 2 / 3, "all_reduce": 4 / 3, "broadcast": 1}
        for row in self.rows("collective", 3, "loopback", "--sizes", "12KiB"):
            if row["collective"] == "barrier":
                continue
            rate = int(row["size_bytes"]) / float(row["time_us"]) / 1e3
            self.assertAlmostEqual(float(row["algbw_GB_per_s"]) / rate, 1, places=4)
            self.assertAlmostEqual(float(row["busbw_GB_per_s"]) / rate, factors[row["collective"]], places=4)

    def test_no_bus_bandwidth_exceeds_the_rate_of_a_nodes_link(self):
        """By hand from the record's bytes and wall-clock seconds: two nodes of two ranks, whose link has 200 Mbit/s."""
        catalog = self.folder / "network.toml"
        catalog.write_text('[slow]\nrate = "200Mbit/s"\nachievable = 1.0\nlatency = "30us"\nin_node_rate = "4Gbit/s"\n'
                           'in_node_latency = "3us"\nsource = "a test"\n')
        factors = {"all_gather": 1 / 2, "reduce_scatter": 1 / 2, "all_reduce": 1, "broadcast": 1}  # of two nodes
        path = self.folder / "bench.h5"
        rows = self.rows("collective", 4, "mpi", "--collective", ",".join(factors), "--sizes", "1KiB,256KiB", "--net", "slow",
                         "--set", f"net.catalog={catalog}", "--set", "net.ranks_per_node=2", "--record", path)
        self.assertLessEqual({"ring", "pairwise", "hierarchical", "tree"}, {row["algorithm"] for row in rows})
        with h5py.File(path) as file:
            bench = {name: file["bench"][name][:] for name in ("test", "bytes", "seconds", "bus_bytes_per_second")}
        self.assertEqual(len(bench["test"]), len(rows))
        for i, row in enumerate(rows):
            by_hand = factors[bench["test"][i].decode()] * bench["bytes"][i] / bench["seconds"][i]
            self.assertLessEqual(by_hand, 200e6 / 8 * 1.005, row)
            self.assertAlmostEqual(bench["bus_bytes_per_second"][i] / by_hand, 1, places=6)
            self.assertAlmostEqual(float(row["busbw_GB_per_s"]) * 1e9 / by_hand, 1, places=4)

    def test_the_table_has_the_columns_of_nccl_tests(self):
        result = self.bench("collective", 2, "loopback", "--collective", "all_reduce", "--algorithm", "ring", "--sizes", "64KiB", *QUICK)
        self.assertEqual(result.code, 0, result.err)
        head, row = result.out.splitlines()[-2:]
        self.assertEqual(head.split(), "collective algorithm size [B] count type time [us] low high algbw [GB/s] busbw [GB/s] #wrong % bound".split())
        self.assertEqual(row.split()[:5], ["all_reduce", "ring", "65536", "16384", "fp32"])

    def test_runs_on_an_emulated_network_without_mpis_own(self):
        rows = self.rows("collective", 2, "mpi", "--collective", "all_gather", "--sizes", "64KiB", "--net", "ethernet-10g")
        self.assertTrue(rows)
        self.assertNotIn("native", {row["algorithm"] for row in rows})
        self.assertLessEqual(float(rows[0]["share_of_bound_percent"]), 101)

    def test_one_rank_is_measured_too(self):
        rows = self.rows("collective", 1, "loopback", "--sizes", "1KiB")
        self.assertEqual({row["wrong"] for row in rows if row["collective"] != "barrier"}, {"0"})


class Record(BenchTest):
    def test_holds_every_figure_that_was_printed(self):
        path = self.folder / "bench.h5"
        for what, words in (("collective", ["--sizes", "4KiB,64KiB"]), ("net", ["--sizes", "64B,4KiB"])):
            rows = self.rows(what, 2, "loopback", "--record", path, *words)
            with h5py.File(path) as file:
                self.assertEqual(file.attrs["kind"], b"bench")
                self.assertEqual(file.attrs["complete"], 1)
                bench = file["bench"]
                self.assertEqual({len(bench[name]) for name in bench}, {len(rows)})
                self.assertEqual([name.decode() for name in bench["test"][:]], [row.get("collective", row.get("test")) for row in rows])
                np.testing.assert_array_equal(bench["bytes"][:], [int(row["size_bytes"]) for row in rows])
                self.assertEqual(set(bench["wrong"][:]) - {-1}, {0})
                self.assertTrue((bench["seconds_low"][:] <= bench["seconds_high"][:]).all())
                self.assertEqual(bench["seconds"].attrs["unit"], b"s")
                if what == "collective":
                    np.testing.assert_allclose(bench["seconds"][:] * 1e6, [float(row["time_us"]) for row in rows], rtol=1e-5)
                self.assertGreater(file["links/bytes"][0, 1].sum(), 0)
                self.assertIn(b"lo", file["devices/device"][:])
                self.assertTrue((file["devices/sent_after_bytes"][:] >= file["devices/sent_before_bytes"][:]).all())

    def test_of_an_emulated_network_is_by_the_wall_clock(self):
        path = self.folder / "bench.h5"
        rows = self.rows("net", 2, "loopback", "--test", "latency", "--sizes", "1KiB", "--net", "ethernet-1g", "--set", "net.dilation=3",
                         "--record", path)
        with h5py.File(path) as file:
            self.assertEqual(file["environment"].attrs["network"], b"ethernet-1g")
            self.assertAlmostEqual(file["bench/seconds"][0] / 3 * 1e6 / float(rows[0]["latency_us"]), 1, places=4)


class Tune(BenchTest):
    def test_writes_an_algorithm_for_every_size_and_keeps_other_tables(self):
        path = self.folder / "tune.toml"
        for ranks in (2, 3):
            self.rows("collective", ranks, "loopback", "--sizes", "1KiB,256KiB", "--tune", path)
        tables = tomllib.loads(path.read_text())["loopback"]
        for ranks in (2, 3):
            choices = tables[f"ranks-{ranks}"][f"per-node-{ranks}"]
            self.assertEqual(set(choices), {"all_gather", "reduce_scatter", "all_reduce", "broadcast"})
            self.assertTrue(all(choices.values()))
        self.rows("collective", 2, "loopback", "--collective", "broadcast", "--sizes", "1KiB", "--tune", path)
        self.assertEqual(set(tomllib.loads(path.read_text())["loopback"]["ranks-2"]["per-node-2"]), set(choices))

    def test_is_what_training_then_uses(self):
        path, record = self.folder / "tune.toml", self.folder / "run.h5"
        self.rows("collective", 2, "mpi", "--collective", "reduce_scatter", "--algorithm", "recursive,native", "--sizes", "1KiB", "--tune", path)
        result = self.train(2, "mpi", train__steps=1, collective__tune=path, record__path=record)
        self.assertEqual(result.code, 0, result.err)
        with h5py.File(record) as file:
            self.assertIn("collective reduce_scatter any: recursive", file.attrs["choices"].decode())


class Refusals(BenchTest):
    def refused(self, what, parts, *words, ranks=2):
        for transport in ("loopback", "mpi"):
            with self.subTest(transport=transport, words=words):
                result = self.bench(what, ranks, transport, *words)
                self.assert_refused(result, *parts)
                self.assertNotIn("# twinax", result.out, "before anything is measured")

    def test_of_sizes_tests_names_and_pairs(self):
        self.refused("net", ["--sizes", "\"64\"", "1KiB..64MiB"], "--sizes", "64")
        self.refused("collective", ["--sizes", "8KiB..4KiB"], "--sizes", "8KiB..4KiB")
        for what in ("net", "collective"):
            self.refused(what, ["--sizes", "4GiB", "1GiB"], "--sizes", "4GiB")
        self.refused("net", ["--test", "latencies", "latency", "all-pairs"], "--test", "latencies")
        self.refused("collective", ["--collective", "all_gathers", "all_gather"], "--collective", "all_gathers")
        self.refused("collective", ["--algorithm", "rings", "ring"], "--algorithm", "rings")
        self.refused("net", ["--pair", "0,7", "0 to 1"], "--pair", "0,7")
        self.refused("net", ["--pair", "1,1", "different"], "--pair", "1,1")

    def test_of_messages_with_one_rank(self):
        self.refused("net", ["two ranks", "mpirun -n 2 --bind-to none"], "--test", "latency", ranks=1)

    def test_of_networks_and_accelerators_that_can_not_be(self):
        self.refused("net", ["ethernet-10gb", "ethernet-10g"], "--net", "ethernet-10gb")
        self.refused("net", ["infiniband-ndr", "net.dilation"], "--net", "infiniband-ndr")
        self.refused("net", ["emulate.accelerator", "net.dilation"], "--emulate", "a100")

    def test_of_devices_that_do_not_exist(self):
        for what in ("net", "collective"):
            self.refused(what, ['net.device = "eth9x"', "has no such network device; it has ", "lo"], "--set", "net.device=eth9x")

    def test_of_algorithms_that_can_not_run_here(self):
        self.assert_refused(self.bench("collective", 2, "loopback", "--algorithm", "native"), "native", "mpi")

    def test_of_choices_that_nobody_could_use(self):
        path = self.folder / "tune.toml"
        self.refused("collective", ["--tune", "--net"], "--tune", path, "--net", "ethernet-1g")
        self.refused("collective", ["--tune", "two or more"], "--tune", path, ranks=1)
        for wrong, why in ((self.folder / "none" / "tune.toml", "No such file or directory"), (self.folder, "is a folder"),
                           (self.folder / ("x" * 300), "File name too long")):
            self.refused("collective", [f"--tune {wrong}", why], "--tune", wrong)
        self.assertEqual(sorted(entry.name for entry in self.folder.iterdir()), ["text.txt"])
        path.write_text("all_gather = 3\n")
        self.refused("collective", ["tune.toml"], "--tune", path)

    def test_of_records_that_can_not_be_written(self):
        self.refused("collective", ["no-such-folder"], "--record", "/proc/no-such-folder/run.h5")


class Help(BenchTest):
    def test_explains_every_column_and_shows_an_example(self):
        for what, words in (("net", ["latency [us]", "#wrong", "half of a round trip", "mpirun -n 2"]),
                            ("collective", ["algbw", "busbw", "2(n-1)/n", "#wrong", "% bound", "mpirun -n 2"])):
            result = run([BINARY, "bench", what, "--help"])
            self.assertEqual(result.code, 0, result.err)
            text = " ".join(result.out.split())
            for word in words:
                self.assertIn(word, text)
            self.assertIn("from 1B to 1GiB", text)

    def test_shows_a_table_with_the_head_that_is_printed(self):
        heads = {}
        for what, words in (("net", ["--test", "bandwidth"]), ("collective", ["--collective", "reduce_scatter", "--algorithm", "ring"])):
            printed = self.bench(what, 2, "loopback", "--sizes", "1KiB", *words, *QUICK).out
            heads[what] = next(line.strip() for line in printed.splitlines() if "size [B]" in line)
        for command, shown in ((["net"], ["net"]), (["collective"], ["collective"]), ([], ["net", "collective"])):
            lines = [line.strip() for line in run([BINARY, "bench", *command, "--help"]).out.splitlines()]
            for what in shown:
                row = lines[lines.index(heads[what]) + 1].split()
                self.assertIn(row[0], ("65536", "reduce_scatter"))
                self.assertEqual(sum(word == "-" for word in row), 0)

    def test_no_documented_command_has_ranks_share_a_core(self):
        """But where the doctor's own warning of it is shown."""
        texts = [run([BINARY, *words, "--help"]).out for words in (["bench"], ["bench", "net"], ["bench", "collective"], ["doctor"])]
        texts.append((SOURCE / "README.md").read_text())
        shown = [line for text in texts for line in text.splitlines() if re.search(r"mpirun -.*twinax ", line)]
        self.assertGreater(len(shown), 10)
        for line in shown:
            if "twinax doctor" not in line:
                self.assertIn("--bind-to none", line)
        for line in texts[-1].splitlines():
            if "srun " in line:
                self.assertIn("--cpus-per-task=2", line)

    def test_says_what_has_never_been_run(self):
        lines = run([BINARY, "config"]).out.splitlines()
        for key in ("net.transport ", "net.device "):
            self.assertRegex(next(line for line in lines if line.startswith(key)), "InfiniBand.* never been run")


if __name__ == "__main__":
    unittest.main()
