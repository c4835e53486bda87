"""A rank that is killed or frozen ends the job, and the message names it."""
import os
import pathlib
import signal
import subprocess
import time
import unittest

from command import BINARY, EXPERIMENT, MPIRUN, SMALL, UCX_WIRES, CommandTest, environment_of, run
from traces import abandoned_files, ranks_of

WATCHDOG_S = 5


class Failure(CommandTest):
    def start(self, ranks, *launcher, transport="mpi"):
        """A run that would go on for hours, in mid-step."""
        record = self.folder / "run.h5"
        keys = {**SMALL, "data.path": self.text, "train.steps": 1000000, "watchdog.seconds": WATCHDOG_S, "record.path": record,
                "net.transport": transport.split("_")[0]}
        sets = [word for key, value in keys.items() for word in ("--set", f"{key}={value}")]
        job = subprocess.Popen([*MPIRUN, *launcher, "-n", str(ranks), BINARY, "train", str(EXPERIMENT), *sets], stdout=subprocess.PIPE,
                               stderr=subprocess.STDOUT, text=True, env={**os.environ, **environment_of(transport)})
        self.addCleanup(job.kill)
        deadline = time.monotonic() + 30
        while not record.exists() or record.stat().st_size < 1000:
            self.assertLess(time.monotonic(), deadline, "the run did not begin")
            time.sleep(0.1)
        time.sleep(1)
        processes = ranks_of(job.pid)
        self.assertEqual(sorted(processes), list(range(ranks)))
        return job, processes

    def end(self, job, processes, within_s, *parts):
        begin = time.monotonic()
        out, _ = job.communicate(timeout=within_s + 20)
        took = time.monotonic() - begin
        self.assertLess(took, within_s, out)
        for part in parts:
            self.assertRegex(out, part)
        for pid in processes.values():
            while pathlib.Path(f"/proc/{pid}").exists():
                self.assertLess(time.monotonic() - begin, within_s, f"process {pid} is left")
                time.sleep(0.05)
        return job.returncode

    def setUp(self):
        super().setUp()
        self.shared_before = set(os.listdir("/dev/shm"))

    def tearDown(self):
        self.assert_nothing_is_left()

    def assert_nothing_is_left(self):
        """Another job of this machine may have files of its own, which it maps."""
        self.assertEqual(abandoned_files() - self.shared_before, set())

    def test_a_killed_rank_ends_the_job_within_ten_seconds(self):
        job, processes = self.start(3)
        os.kill(processes[1], signal.SIGKILL)
        self.assertNotEqual(self.end(job, processes, 10, r"rank 1\b"), 0)

    def test_also_where_the_launcher_would_go_on(self):
        job, processes = self.start(3, "--enable-recovery")
        os.kill(processes[2], signal.SIGKILL)
        self.end(job, processes, 10, r"rank 2 \(process \d+ on .*\) is gone")

    def test_a_frozen_rank_ends_the_job_within_the_watchdogs_time(self):
        job, processes = self.start(3)
        os.kill(processes[1], signal.SIGSTOP)
        said = r"rank 1 \(process \d+ on .*\) has given no sign of life|waited for rank 1"
        self.assertNotEqual(self.end(job, processes, WATCHDOG_S + 5, said, r"rank \d, \w+ lane: "), 0)

    def test_a_frozen_rank_is_no_match_for_a_launcher_that_would_go_on(self):
        job, processes = self.start(2, "--enable-recovery")
        os.kill(processes[0], signal.SIGSTOP)
        self.end(job, processes, WATCHDOG_S + 5, r"rank 0 \(process \d+ on .*\) has given no sign of life|waited for rank 0")

    def test_killed_ranks_end_jobs_over_ucx(self):
        for wires in UCX_WIRES:
            for launcher in ([], ["--enable-recovery"]):
                with self.subTest(wires=wires, launcher=launcher):
                    (self.folder / "run.h5").unlink(missing_ok=True)
                    job, processes = self.start(3, *launcher, transport=wires)
                    os.kill(processes[1], signal.SIGKILL)
                    self.end(job, processes, 10, r"rank 1\b")
                    self.assert_nothing_is_left()

    def test_frozen_ranks_end_jobs_over_ucx(self):
        for wires in UCX_WIRES:
            for launcher in ([], ["--enable-recovery"]):
                with self.subTest(wires=wires, launcher=launcher):
                    (self.folder / "run.h5").unlink(missing_ok=True)
                    job, processes = self.start(3, *launcher, transport=wires)
                    os.kill(processes[0], signal.SIGSTOP)
                    self.end(job, processes, WATCHDOG_S + 5, r"rank 0 \(process \d+ on .*\) has given no sign of life|waited for rank 0")
                    self.assert_nothing_is_left()

    def test_a_rank_without_memory_ends_the_job_and_says_so(self):
        sets = [word for key, value in {**SMALL, "data.path": self.text, "model.width": 512, "model.heads": 8}.items()
                for word in ("--set", f"{key}={value}")]
        command = [BINARY, "train", str(EXPERIMENT), "--quiet", *sets]
        # What fails first is a thread, a mapping, a library's buffer, a tensor; at the largest the memory that ranks share, which is no failure.
        for kilobytes in range(400000, 950000, 100000):
            with self.subTest(kilobytes=kilobytes):
                limited = ["sh", "-c", f'ulimit -v {kilobytes}; exec "$@"', "sh"]
                result = run([*MPIRUN, "-n", "1", *command, ":", "-n", "1", *limited, *command], timeout=60)
                if kilobytes > 600000 and result.code == 0:
                    self.assertRegex(result.err, "no memory in common")
                    continue
                self.assertNotEqual(result.code, 0, result.out + result.err)
                self.assertTrue(result.errors, result.err)
                self.assertRegex(" ".join(result.errors), r"memory|thread|is gone")  # gone: a library that crashes


if __name__ == "__main__":
    unittest.main()
