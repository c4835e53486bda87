"""What is one node is decided by what ranks can share, not by the host's name or by what MPI believes."""
import sys
import unittest

import h5py
import numpy as np

import hosts as cluster

sys.path.insert(0, str(cluster.SOURCE / "tests" / "cli"))
from command import BINARY, EXPERIMENT, MPIRUN, SMALL, CommandTest, run  # noqa: E402  pylint: disable=wrong-import-position

TRANSPORTS = ["mpi", "ucx"]
# The last of three ranks sees none of the others' processes.
LAST_APART = 'if [ "$OMPI_COMM_WORLD_RANK" = 2 ]; then exec unshare --pid --fork --kill-child --mount-proc "$@"; else exec "$@"; fi'


class Sharing(CommandTest):
    def words(self, text, record, transport):
        settings = {**SMALL, "data.path": text, "net.transport": transport, "record.path": record}
        return [BINARY, "train", EXPERIMENT, "--quiet", *(word for key, value in settings.items() for word in ("--set", f"{key}={value}"))]

    def expected(self):
        reference = self.folder / "reference.h5"
        self.assertEqual(self.train(1, "loopback", record__path=reference).code, 0)
        with h5py.File(reference) as file:
            return file["steps/loss"][:]

    def compare(self, record, expected, hosts, ranks_per_node):
        with h5py.File(record) as file:
            np.testing.assert_allclose(file["steps/loss"][:], expected, rtol=1e-5)
            self.assertRegex(file["environment"].attrs["hosts"].decode(), hosts)
            self.assertEqual(file["environment"].attrs["ranks_per_node"], ranks_per_node)

    def test_ranks_of_one_machine_that_see_no_processes_of_each_other_are_nodes_of_their_own(self):
        # Open MPI reads other processes' memory by their numbers, which mean others here.
        no_reading = ["--mca", "btl_vader_single_copy_mechanism", "none"]
        record = self.folder / "apart.h5"
        result = run([*MPIRUN, *no_reading, "-n", 3, "sh", "-c", LAST_APART, "sh", *self.words(self.text, record, "mpi")])
        self.assertEqual(result.code, 0, result.err)
        self.assertIn("count as 2 nodes, of the host's ranks 0,1 | 2", result.err)
        self.compare(record, self.expected(), r"^(\S+):0-1 \1#2:2$", 2)

    def test_hosts_of_one_name_are_nodes_of_their_own(self):
        expected = self.expected()
        with cluster.Hosts(3, name="twin") as hosts:
            text = hosts.scratch / "text.txt"
            text.write_text(self.text.read_text())
            for transport in TRANSPORTS:
                with self.subTest(transport=transport):
                    record = hosts.scratch / f"{transport}.h5"
                    done = hosts.run(3, self.words(text, record, transport), transport=transport)
                    self.assertEqual(done.returncode, 0, done.stdout)
                    self.compare(record, expected, r"^twin:0 twin#2:1 twin#3:2$", 1)


if __name__ == "__main__":
    cluster.skip_unless_possible()
    unittest.main()
