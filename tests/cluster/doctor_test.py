"""A bridge with the same address on every host, as container engines make: named by doctor, and no trap for runs that name their device."""
import sys
import time
import unittest

import hosts as cluster

sys.path.insert(0, str(cluster.SOURCE / "tests" / "cli"))
from command import BINARY, EXPERIMENT, SMALL  # noqa: E402  pylint: disable=wrong-import-position

WATCHDOG_S = 10


class Doctor(unittest.TestCase):
    def add_bridges(self, hosts):
        """Up on the first host, down on the second, without carrier on the third."""
        for host in hosts.names:
            script = "ip link add docker0 type bridge; ip addr add 172.17.0.1/16 dev docker0; "
            if host != "tx2":
                script += "ip link set docker0 up; "
            if host == "tx1":
                script += "ip link add in0 type veth peer name out0; ip link set in0 master docker0 up; ip link set out0 up"
            self.assertEqual(cluster.script("exec", host, "sh", "-c", script).returncode, 0)

    def test_speaks_for_each_host_and_points_at_a_double_address(self):
        with cluster.Hosts(3) as hosts:
            before = hosts.run(3, [BINARY, "doctor"])
            self.assertEqual(before.returncode, 0, before.stdout)
            self.assertRegex(before.stdout, r"OK +ranks +3 on 3 node")
            self.assertRegex(before.stdout, r"OK +network +tx2: eth0: up[^\n]*, 198\.19\.77\.2\b")
            self.assertNotRegex(before.stdout, r"warning +address")
            self.add_bridges(hosts)
            for device in ("eth0", None):
                after = hosts.run(3, [BINARY, "doctor"], device=device)
                self.assertEqual(after.returncode, 0, after.stdout)
                self.assertRegex(after.stdout, r"warning +address +172\.17\.0\.1 is docker0 on tx1, docker0 on tx2, docker0 on tx3\n"
                                               r" +-> [^\n]*btl_tcp_if_include eth0[^\n]*UCX_NET_DEVICES=eth0")

    def test_runs_work_with_the_device_named_and_else_end_in_time_with_its_name(self):
        with cluster.Hosts(3) as hosts:
            self.add_bridges(hosts)
            text = hosts.scratch / "text.txt"
            text.write_text("twenty coils of twinaxial cable " * 2000)
            keys = {**SMALL, "data.path": text, "watchdog.seconds": WATCHDOG_S, "train.steps": 5}
            for transport in ("mpi", "ucx"):
                words = [BINARY, "train", EXPERIMENT, "--quiet", "--set", f"net.transport={transport}",
                         *(word for key, value in keys.items() for word in ("--set", f"{key}={value}"))]
                done = hosts.run(3, words, transport=transport)
                self.assertEqual(done.returncode, 0, done.stdout)
                begin = time.monotonic()
                unnamed = hosts.run(3, words, transport=transport, device=None)
                if unnamed.returncode != 0:  # libraries may also be lucky
                    self.assertLess(time.monotonic() - begin, WATCHDOG_S + 10, unnamed.stdout)
                    self.assertRegex(unnamed.stdout, r"tx\d has the network devices [^\n]*docker0 172\.17\.0\.1[^\n]*btl_tcp_if_include DEVICE")


if __name__ == "__main__":
    cluster.skip_unless_possible()
    unittest.main()
