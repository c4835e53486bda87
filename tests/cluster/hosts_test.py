"""The hosts themselves: kept apart like machines, reached by ssh, and gone without a trace."""
import pathlib
import subprocess
import unittest

import hosts as cluster


def on(host, command):
    done = cluster.script("exec", host, "sh", "-c", command)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def traces():
    """What is left of hosts on this machine."""
    namespaces = subprocess.run(["ip", "netns", "list"], capture_output=True, text=True, check=True).stdout
    routes = subprocess.run(["ip", "route"], capture_output=True, text=True, check=True).stdout
    return "twinax-" in namespaces or "198.19.77" in routes or cluster.STATE.exists()


class HostsTest(unittest.TestCase):
    def test_are_kept_apart_and_reach_each_other(self):
        with cluster.Hosts(2) as hosts:
            self.assertEqual([on(host, "hostname") for host in hosts.names], ["tx1", "tx2"])
            for folder in ("/tmp", "/dev/shm"):
                on("tx1", f"touch {folder}/twinax-mark")
                self.assertEqual(on("tx2", f"test -e {folder}/twinax-mark || echo none"), "none")
                self.assertFalse(pathlib.Path(folder, "twinax-mark").exists())
            self.assertEqual(on("tx1", f"ssh -F {cluster.STATE}/ssh_config tx2 hostname"), "tx2")
            self.assertEqual(on("tx2", "ls /sys/class/net | tr '\\n' ' '"), "eth0 lo")
            processes = on("tx1", "ls /proc | grep -c '^[0-9]'")
            self.assertLess(int(processes), 10)
        self.assertFalse(traces())

    def test_that_a_killed_test_left_are_swept(self):
        self.assertEqual(cluster.script("up", 3).returncode, 0)
        with cluster.Hosts(1):
            self.assertEqual(subprocess.run(["ip", "netns", "pids", "twinax-tx3"], capture_output=True, check=False).stdout, b"")
            self.assertFalse(pathlib.Path("/run/netns/twinax-tx2").exists())
        self.assertFalse(traces())

    def test_can_be_unplugged_and_plugged(self):
        with cluster.Hosts(2) as hosts:
            hosts.unplug("tx2")
            self.assertNotEqual(cluster.script("exec", "tx1", "ssh", "-F", f"{cluster.STATE}/ssh_config", "tx2", "true").returncode, 0)
            hosts.plug("tx2")
            self.assertEqual(on("tx1", f"ssh -F {cluster.STATE}/ssh_config tx2 hostname"), "tx2")


if __name__ == "__main__":
    cluster.skip_unless_possible()
    unittest.main()
