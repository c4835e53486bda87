"""Jobs that are killed, launcher and all, leave nothing behind, and jobs at the same time don't meet."""
import os
import signal
import subprocess
import time
import unittest

import h5py

from command import BINARY, EXPERIMENT, MPIRUN, SMALL, CommandTest
from traces import abandoned_files, is_alive, processes_of, ranks_of, segments

RANKS = 2
KILLS = 20
# Over MPI's own shared memory, and over each that UCX has.
WIRES = [("mpi", {}), ("ucx", {"UCX_TLS": "self,sysv"}), ("mpi", {}), ("ucx", {"UCX_TLS": "self,posix"}), ("ucx", {})]
LIMIT_S = 60  # against hangs


class Killed(CommandTest):
    def start(self, wires, *extra, **keys):
        """Launches a job on its way; its output is one text."""
        transport, environment = wires
        settings = {**SMALL, "data.path": self.text, "net.transport": transport, **{key.replace("__", "."): value for key, value in keys.items()}}
        sets = [word for key, value in settings.items() for word in ("--set", f"{key}={value}")]
        words = [*MPIRUN, "-n", RANKS, BINARY, "train", EXPERIMENT, "--quiet", *sets, *extra]
        # Open MPI's launcher removes its ranks' files (vader_segment.* in /dev/shm) and its folder; where it is killed too, they stay. Here
        # they go away with this test's folder, and what is looked for is what Twinax and UCX leave.
        job = subprocess.Popen([str(word) for word in words], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                               env={**os.environ, **environment, "TMPDIR": str(self.folder),
                                    "OMPI_MCA_btl_vader_backing_directory": str(self.folder)})
        self.addCleanup(job.stdout.close)
        self.addCleanup(job.kill)
        return job

    def eventually(self, get, expected, about):
        deadline = time.monotonic() + LIMIT_S
        while (got := get()) != expected:
            self.assertLess(time.monotonic(), deadline, f"{about}: {got}")
            time.sleep(0.02)

    def kill(self, job, delay_s, is_launcher_first):
        """All of a job, so long after its ranks are there."""
        self.eventually(lambda: sorted(ranks_of(job.pid)), list(range(RANKS)), "the ranks of a job")
        time.sleep(delay_s)
        ranks = list(ranks_of(job.pid).values())
        self.assertEqual(len(ranks), RANKS, "a rank ended by itself")
        for process in [job.pid, *ranks] if is_launcher_first else [*ranks, job.pid]:
            os.kill(process, signal.SIGKILL)
        job.wait(LIMIT_S)
        self.eventually(lambda: [process for process in ranks if is_alive(process)], [], "ranks that live on")

    def finish(self, *jobs):
        for job in jobs:
            out, _ = job.communicate(timeout=LIMIT_S)
            self.assertEqual(job.returncode, 0, out)

    def losses(self, name):
        with h5py.File(self.folder / name) as file:
            self.assertEqual(file.attrs["complete"], 1)
            return file["steps/loss"][:].tobytes()

    def test_jobs_leave_nothing_behind_and_do_not_meet(self):
        files_before, segments_before = set(os.listdir("/dev/shm")), set(segments())
        for i in range(KILLS):
            with self.subTest(kill=i):
                job = self.start(WIRES[i % len(WIRES)], train__steps=1000000)
                self.kill(job, 0.08 * (i % 11), is_launcher_first=i % 2 == 0)  # from before the ranks meet to mid-step
        self.assertEqual({process for process in processes_of(str(self.folder)) if is_alive(process)}, set())
        # Other jobs of this machine may make some meanwhile, and use them.
        self.eventually(lambda: abandoned_files() - files_before, set(), "files left in /dev/shm")
        self.eventually(lambda: {number for number, attached in segments().items() if attached == 0} - segments_before, set(), "segments left")

        for wires in (("mpi", {}), ("ucx", {})):
            with self.subTest(wires=wires):
                alone, same = self.folder / f"{wires[0]}.h5", ["--same-choices-as", self.folder / "mpi.h5"]
                shaped = {"net__profile": "ethernet-10g", "net__dilation": 5}
                self.finish(self.start(wires, *(same if wires[0] != "mpi" else []), record__path=alone, **shaped))
                together = [self.folder / f"{wires[0]}-{i}.h5" for i in range(2)]
                self.finish(*[self.start(wires, *same, record__path=record, **shaped) for record in together])
                self.assertEqual([self.losses(record) for record in together], [self.losses(alone)] * 2)


if __name__ == "__main__":
    unittest.main()
