"""The kernel's counters say which wire the bytes took: they are in the record, and a run warns if it was another than it should be."""
import csv
import sys
import unittest

import h5py

import hosts as cluster

sys.path.insert(0, str(cluster.SOURCE / "tests" / "cli"))
from command import BINARY, EXPERIMENT, SMALL, CommandTest  # noqa: E402  pylint: disable=wrong-import-position

TRANSPORTS = ["mpi", "ucx"]


class Wires(CommandTest):
    @classmethod
    def setUpClass(cls):
        cls.hosts = cls.enterClassContext(cluster.Hosts(2))

    def bench_on_hosts(self, what, words, device, transport="mpi"):
        """A benchmark that sends more than a MiB between hosts."""
        self.record = self.hosts.scratch / "bench.h5"
        return self.hosts.run(2, [BINARY, "bench", what, "--iterations", 3, "--warmup", 1, "--csv", "--quiet", "--record", self.record, *words,
                                  "--set", f"net.transport={transport}", "--set", f"net.device={device}"], transport=transport)

    def run_on_hosts(self, transport, **keys):
        text = self.hosts.scratch / "text.txt"
        text.write_text(self.text.read_text())
        self.record = self.hosts.scratch / "run.h5"
        settings = {**SMALL, "data.path": text, "net.transport": transport, "record.path": self.record, **keys}
        words = [BINARY, "train", EXPERIMENT, "--quiet", *(word for key, value in settings.items() for word in ("--set", f"{key}={value}"))]
        return self.hosts.run(2, words, transport=transport)

    def test_are_recorded_and_carried_what_was_sent(self):
        for transport in TRANSPORTS:
            with self.subTest(transport=transport):
                done = self.run_on_hosts(transport, **{"net.device": "eth0"})
                self.assertEqual(done.returncode, 0, done.stdout)
                self.assertNotIn("warning", done.stdout)
                with h5py.File(self.record) as file:
                    devices = file["devices"]
                    names = [(host.decode(), device.decode()) for host, device in zip(devices["host"], devices["device"])]
                    self.assertEqual(names, [("tx1", "eth0"), ("tx1", "lo"), ("tx2", "eth0"), ("tx2", "lo")])
                    sent = devices["sent_after_bytes"][:] - devices["sent_before_bytes"][:]
                    received = devices["received_after_bytes"][:] - devices["received_before_bytes"][:]
                    payload = file["links/bytes"][:].sum(axis=2)
                for rank, (from_it, to_it) in enumerate(((payload[0, 1], payload[1, 0]), (payload[1, 0], payload[0, 1]))):
                    self.assertGreater(from_it, 1 << 20)
                    # Headers, answers and the figures of each step come on top.
                    self.assertTrue(from_it <= sent[2 * rank] < 1.2 * from_it + (1 << 20), (from_it, sent))
                    self.assertTrue(to_it <= received[2 * rank] < 1.2 * to_it + (1 << 20), (to_it, received))

    def test_of_benchmarks_are_recorded_and_judged_too(self):
        for what, words in (("net", ["--test", "bidirectional", "--sizes", "256KiB"]),
                            ("collective", ["--collective", "all_reduce", "--algorithm", "ring", "--sizes", "4MiB"])):
            for transport in TRANSPORTS:
                with self.subTest(what=what, transport=transport):
                    done = self.bench_on_hosts(what, words, "eth0", transport)
                    self.assertEqual(done.returncode, 0, done.stdout)
                    self.assertNotIn("warning", done.stdout)
                    with h5py.File(self.record) as file:
                        devices, payload = file["devices"], file["links/bytes"][:].sum(axis=2)
                        self.assertEqual(list(zip(devices["host"], devices["device"])),
                                         [(b"tx1", b"eth0"), (b"tx1", b"lo"), (b"tx2", b"eth0"), (b"tx2", b"lo")])
                        sent = devices["sent_after_bytes"][:] - devices["sent_before_bytes"][:]
                    for rank, bytes_sent in enumerate((payload[0, 1], payload[1, 0])):
                        self.assertGreater(bytes_sent, 1 << 20)
                        self.assertGreaterEqual(sent[2 * rank], bytes_sent)
            done = self.bench_on_hosts(what, words, "lo")
            self.assertEqual(done.returncode, 0, done.stdout)
            for host in ("tx1", "tx2"):
                self.assertRegex(done.stdout, rf"warning: {host}: [^\n]+ went to other hosts, but lo sent ")
            done = self.bench_on_hosts(what, words, "eth9")
            self.assertIn('net.device = "eth9": tx1 has no such network device; it has eth0, lo', done.stdout)

    def test_bound_benchmarks_between_hosts_by_their_speed(self):
        """By hand: what must enter each host, at the megabits that the kernel says of its end of the wire."""
        shown = self.hosts.run(1, ["cat", "/sys/class/net/eth0/speed"])
        bytes_per_us = int(shown.stdout) / 8
        self.assertGreater(bytes_per_us, 0)
        factors = {"all_gather": 1 / 2, "reduce_scatter": 1 / 2, "all_reduce": 1, "broadcast": 1}
        for what, words, bytes_of in (
                ("net", ["--test", "latency,bandwidth,bidirectional,incast", "--sizes", "64KiB"],
                 lambda row: int(row["size_bytes"]) / (2 if row["test"] == "bidirectional" else 1)),
                ("collective", ["--collective", ",".join(factors), "--algorithm", "ring,tree,native", "--sizes", "64KiB"],
                 lambda row: int(row["size_bytes"]) * factors[row["collective"]])):
            done = self.bench_on_hosts(what, words, "eth0")
            self.assertEqual(done.returncode, 0, done.stdout)
            lines = done.stdout.splitlines()
            start = next(i for i, line in enumerate(lines) if "size_bytes" in line)
            rows = [row for row in csv.DictReader(lines[start:]) if row["share_of_bound_percent"] is not None]
            self.assertGreaterEqual(len(rows), 4)
            for row in rows:
                us = float(row.get("time_us") or row["latency_us"] or int(row["size_bytes"]) / float(row["rate_MB_per_s"]))
                self.assertAlmostEqual(float(row["share_of_bound_percent"]) / (100 * bytes_of(row) / bytes_per_us / us), 1, places=2)
        done = self.bench_on_hosts("net", ["--test", "latency", "--sizes", "8B"], "")
        row = list(csv.DictReader(done.stdout.splitlines()))[0]
        self.assertEqual(row["share_of_bound_percent"], "", "no device is named, so no speed is known")

    def test_that_carried_nothing_are_named(self):
        done = self.run_on_hosts("mpi", **{"net.device": "lo"})
        self.assertEqual(done.returncode, 0, done.stdout)
        for host in ("tx1", "tx2"):
            self.assertRegex(done.stdout, rf"warning: {host}: [^\n]+ went to other hosts, but lo sent [^\n]+: eth0 [^\n]+, lo ")

    def test_that_do_not_exist_are_refused(self):
        done = self.run_on_hosts("mpi", **{"net.device": "eth9"})
        self.assertEqual(done.stdout.count("error: "), 1, done.stdout)
        self.assertIn('net.device = "eth9": tx1 has no such network device; it has eth0, lo', done.stdout)


if __name__ == "__main__":
    cluster.skip_unless_possible()
    unittest.main()
