"""twinax doctor: what works here, in lines that say how it stands and what to do."""
import os
import re
import sys
import unittest

from command import BINARY, MPIRUN, CommandTest, run

LINE = re.compile(r"(OK|missing|warning|BROKEN) +(\S.*?)  +\S|(OK|missing|warning|BROKEN) +(CPU quota|InfiniBand) +\S| {21}-> \S")
SUBJECTS = ["UCX", "HDF5", "CUDA", "cores", "CPU quota", "clock", "memory", "/dev/shm", "InfiniBand", "network", "MPI"]


class Doctor(CommandTest):
    def check(self, result):
        self.assertEqual(result.code, 0, result.out + result.err)
        lines = result.out.splitlines()
        for line in lines:
            self.assertRegex(line, LINE)
        for subject in SUBJECTS:
            self.assertTrue(any(line[9:].startswith(subject) for line in lines), f"nothing about {subject}:\n{result.out}")
        return lines

    def test_speaks_of_everything_on_one_process(self):
        lines = self.check(run([BINARY, "doctor"]))
        self.assertEqual(sum(line[9:].startswith("clock ") for line in lines), 1)
        self.assertTrue(any(re.match(r"OK +MPI +Open MPI v\d", line) for line in lines))
        self.assertTrue(any(re.match(r"OK +UCX +\d+\.\d+\.\d+; .*\btcp: ", line) for line in lines))

    def test_speaks_once_for_all_ranks_of_a_host(self):
        lines = self.check(run([*MPIRUN, "-n", 3, BINARY, "doctor"]))
        self.assertEqual(sum(line[9:].startswith("clock ") for line in lines), 1)
        self.assertTrue(any(re.match(r"OK +ranks +3 on 1 node", line) for line in lines))
        self.assertTrue(any("3 rank(s) here" in line for line in lines))

    def test_says_how_to_bind_ranks_to_more_than_one_core(self):
        cores = len(os.sched_getaffinity(0))
        if cores < 2:
            self.skipTest("there is one core, and nothing to choose")
        bound = [MPIRUN[0], "--oversubscribe", "--bind-to", "core", "-n", 2]
        allowed = run([*bound, sys.executable, "-c", "import os; print(len(os.sched_getaffinity(0)))"]).out.split()
        if set(allowed) != {"1"}:
            self.skipTest(f"mpirun binds each rank to more than one of {cores} cores: {allowed}")
        result = run([*bound, BINARY, "doctor"])
        self.assertEqual(result.code, 0, result.err)
        self.assertRegex(result.out, r"warning +cores +1 of \d+ cores for each rank")
        self.assertIn("mpirun --map-by slot:PE=2 --bind-to core", result.out)

    def test_is_explained(self):
        result = run([BINARY, "doctor", "--help"])
        self.assertEqual(result.code, 0)
        self.assertIn("BROKEN", result.out)


if __name__ == "__main__":
    unittest.main()
