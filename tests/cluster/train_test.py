"""Training over several hosts: the same losses as on one rank, and an end in time, with names, when a rank, a host or a cable fails."""
import os
import signal
import sys
import time
import unittest

import h5py
import numpy as np

import hosts as cluster

sys.path.insert(0, str(cluster.SOURCE / "tests" / "cli"))
from command import BINARY, EXPERIMENT, SMALL, CommandTest  # noqa: E402  pylint: disable=wrong-import-position

TRANSPORTS = ["mpi", "ucx"]
WATCHDOG_S = 12
ENDLESS = 1000000


class OnHosts(CommandTest):
    """Three hosts, a rank on each, and a text that all of them read."""

    @classmethod
    def setUpClass(cls):
        cls.hosts = cls.enterClassContext(cluster.Hosts(3))

    def setUp(self):
        super().setUp()
        self.shared_text = self.hosts.scratch / "text.txt"
        self.shared_text.write_text(self.text.read_text())

    def words(self, record, transport, **keys):
        settings = {**SMALL, "data.path": self.shared_text, "net.transport": transport, "record.path": record, "watchdog.seconds": WATCHDOG_S,
                    **{key.replace("__", "."): value for key, value in keys.items()}}
        return [BINARY, "train", EXPERIMENT, "--quiet", *(word for key, value in settings.items() for word in ("--set", f"{key}={value}"))]


class Losses(OnHosts):
    def test_are_those_of_one_rank(self):
        reference = self.folder / "reference.h5"
        self.assertEqual(self.train(1, "loopback", record__path=reference).code, 0)
        with h5py.File(reference) as file:
            expected = file["steps/loss"][:]
        self.assertEqual(len(expected), 20)
        for transport in TRANSPORTS:
            for strategy in ("full", "replicate"):
                with self.subTest(transport=transport, strategy=strategy):
                    record = self.hosts.scratch / f"{transport}-{strategy}.h5"
                    done = self.hosts.run(3, self.words(record, transport, fsdp__strategy=strategy), transport=transport)
                    self.assertEqual(done.returncode, 0, done.stdout)
                    with h5py.File(record) as file:
                        np.testing.assert_allclose(file["steps/loss"][:], expected, rtol=1e-5)
                        self.assertEqual(file["environment"].attrs["hosts"].decode(), "tx1:0 tx2:1 tx3:2")
                        self.assertEqual(file["environment"].attrs["ranks_per_node"], 1)


class Failures(OnHosts):
    def begin(self, transport, launcher=(), **keys):
        """A run in mid-step, on hosts where all is well and nothing runs."""
        self.mend()
        record = self.hosts.scratch / "run.h5"
        record.unlink(missing_ok=True)
        job = self.hosts.start(3, self.words(record, transport, train__steps=keys.pop("steps", ENDLESS), **keys), launcher=launcher,
                               transport=transport)
        self.addCleanup(self.clear, job)
        deadline = time.monotonic() + 30
        while not record.exists() or record.stat().st_size < 1000:
            self.assertLess(time.monotonic(), deadline, "the run did not begin")
            self.assertIsNone(job.poll(), "the run ended early")
            time.sleep(0.1)
        time.sleep(1)
        processes = self.hosts.processes(BINARY)
        self.assertEqual(sorted(processes), [0, 1, 2])
        return job, processes

    def mend(self):
        """Plugs every cable in, and ends whatever is left of a job."""
        for host in self.hosts.names:
            self.hosts.plug(host)
            cluster.script("exec", host, "pkill", "-9", "-x", "mpirun|orted|ssh|twinax")

    def clear(self, job):
        self.mend()
        job.wait(timeout=10)
        job.stdout.close()

    def end(self, job, within_s, *parts):
        """All of the job ends in time, and says each of `parts`."""
        begin = time.monotonic()
        out, _ = job.communicate(timeout=within_s + 20)
        self.assertLess(time.monotonic() - begin, within_s, out)
        self.assertNotEqual(job.returncode, 0)
        for part in parts:
            self.assertRegex(out, part)
        while processes := self.hosts.processes(BINARY):
            self.assertLess(time.monotonic() - begin, within_s, f"processes {processes} are left")
            time.sleep(0.1)

    def test_a_killed_rank_of_another_host_ends_the_job(self):
        for transport in TRANSPORTS:
            with self.subTest(transport=transport):
                job, processes = self.begin(transport)
                os.kill(processes[1], signal.SIGKILL)
                self.end(job, 10, r"rank 1\b", r"tx2\b")

    def test_a_frozen_rank_of_another_host_ends_the_job_in_the_watchdogs_time(self):
        for transport in TRANSPORTS:
            with self.subTest(transport=transport):
                job, processes = self.begin(transport)
                os.kill(processes[2], signal.SIGSTOP)
                self.end(job, WATCHDOG_S + 5, r"rank 2\b[^\n]*\btx3\b")

    def test_a_cable_that_is_out_for_five_seconds_costs_only_time(self):
        for transport in TRANSPORTS:
            with self.subTest(transport=transport):
                # mpirun's own daemons must outlast the cable by more than a retransmission that is just due.
                patient = [*cluster.KEEP_ALIVE[:-1], "30"]
                job, _ = self.begin(transport, launcher=patient, steps=400)
                self.hosts.unplug("tx3")
                time.sleep(5)
                self.assertIsNone(job.poll(), "the job ended before the cable was back")
                self.hosts.plug("tx3")
                out, _ = job.communicate(timeout=90)
                self.assertEqual(job.returncode, 0, out)
                with h5py.File(self.hosts.scratch / "run.h5") as file:
                    self.assertEqual(len(file["steps/loss"]), 400)

    def test_a_cable_that_stays_out_ends_the_job_in_the_watchdogs_time(self):
        for transport in TRANSPORTS:
            with self.subTest(transport=transport):
                job, _ = self.begin(transport, launcher=cluster.KEEP_ALIVE)
                self.hosts.unplug("tx3")
                self.end(job, WATCHDOG_S + 5, r"\btx3\b")

    def test_ranks_end_and_name_the_host_even_if_the_launcher_never_notices(self):
        for transport in TRANSPORTS:
            with self.subTest(transport=transport):
                job, _ = self.begin(transport)
                self.hosts.unplug("tx3")
                begin = time.monotonic()
                while self.hosts.processes(BINARY):
                    self.assertLess(time.monotonic() - begin, WATCHDOG_S + 5, "ranks are left")
                    time.sleep(0.1)
                self.mend()
                out, _ = job.communicate(timeout=10)
                self.assertRegex(out, r"rank \d on tx[12] has waited for rank \d on tx\d")
                self.assertRegex(out, r"\btx3\b")


if __name__ == "__main__":
    cluster.skip_unless_possible()
    unittest.main()
