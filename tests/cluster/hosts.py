"""Several hosts on one machine for tests, made by hosts.sh: each with its own network, processes, shared memory and sshd."""
import fcntl
import os
import pathlib
import shlex
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
SOURCE = HERE.parents[1]
SCRIPT = HERE / "hosts.sh"
STATE = pathlib.Path("/run/twinax-hosts")
LOCK = pathlib.Path("/run/lock/twinax-hosts")
SKIPPED = 77
# A host that falls silent is noticed by mpirun's own daemons after 8 s; without these, mpirun would wait for its answer for hours.
KEEP_ALIVE = ["--mca", "oob_tcp_keepalive_time", "4", "--mca", "oob_tcp_keepalive_intvl", "1", "--mca", "oob_tcp_keepalive_probes", "4"]


def script(*words, timeout=60, name=None):
    """Runs hosts.sh to its end."""
    environment = {**os.environ, "TWINAX_HOSTS_SHARE": f"{SOURCE}:{pathlib.Path(os.environ.get('TWINAX_BINARY', '/')).parent}"}
    if name:
        environment["TWINAX_HOSTS_NAME"] = name
    return subprocess.run([SCRIPT, *map(str, words)], capture_output=True, text=True, timeout=timeout, env=environment, check=False)


def skip_unless_possible():
    """Ends the program with the code of a skipped test, and the reason, where hosts can't be made."""
    checked = script("check")
    if checked.returncode != 0:
        print(f"skipped: {checked.stderr.strip() or checked.stdout.strip()}")
        sys.exit(SKIPPED)


class Hosts:
    """`with Hosts(3) as hosts:` tx1, tx2 and tx3; one job of the machine at a time has them."""

    def __init__(self, count, name=None):
        self.count, self.name = count, name
        self.names = [f"tx{i + 1}" for i in range(count)]

    def __enter__(self):
        self.lock = open(LOCK, "w", encoding="ascii")  # pylint: disable=consider-using-with
        fcntl.flock(self.lock, fcntl.LOCK_EX)
        made = script("up", self.count, name=self.name)
        if made.returncode != 0:
            self.lock.close()
            raise RuntimeError(f"hosts.sh up: {made.stderr}")
        self.scratch = STATE / "scratch"
        self.scratch.mkdir()
        return self

    def __exit__(self, *unused):
        script("down")
        self.lock.close()

    def shape(self, rate):
        """The kernel's shaper on every NIC, both directions."""
        assert script("shape", rate).returncode == 0

    def unplug(self, host):
        assert script("unplug", host).returncode == 0

    def plug(self, host):
        assert script("plug", host).returncode == 0

    def mpirun(self, ranks, command, launcher=(), transport="mpi", device="eth0", **environment):
        """The words that run `command` from tx1 on one rank a host, in turn; `device` is the one that is named, None names none."""
        variables = {"XDG_CACHE_HOME": self.scratch / "cache", "UCX_WARN_UNUSED_ENV_VARS": "n", **environment}
        if transport == "ucx" and device:
            variables["UCX_NET_DEVICES"] = device
        named = ["--mca", "oob_tcp_if_include", device, "--mca", "btl_tcp_if_include", device] if device else []
        exports = [word for variable in variables for word in ("-x", variable)]
        return [SCRIPT, "exec", "tx1", "env", *(f"{key}={value}" for key, value in variables.items()), "mpirun", "--bind-to", "none",
                "--map-by", "node", "--hostfile", STATE / "hostfile", "--mca", "plm_rsh_args", f"-F {STATE / 'ssh_config'}",
                *named, *launcher, *exports, "-n", ranks, *command]

    def start(self, *arguments, **keywords):
        """Starts an mpirun; its output is one text."""
        words = [str(word) for word in self.mpirun(*arguments, **keywords)]
        return subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)

    def run(self, *arguments, timeout=120, **keywords):
        """Runs an mpirun to its end."""
        words = [str(word) for word in self.mpirun(*arguments, **keywords)]
        try:
            return subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=timeout, check=False)
        except subprocess.TimeoutExpired as late:
            raise AssertionError(f"longer than {timeout} s: {shlex.join(words)}\n{late.output}") from late

    def processes(self, program):
        """Processes of a program on the hosts: {rank: process id}, as this machine numbers them."""
        found = {}
        for name in self.names:
            ids = subprocess.run(["ip", "netns", "pids", f"twinax-{name}"], capture_output=True, text=True, check=False).stdout.split()
            for process in ids:
                try:
                    if pathlib.Path(f"/proc/{process}/exe").readlink() != pathlib.Path(program).resolve():
                        continue
                    words = pathlib.Path(f"/proc/{process}/environ").read_bytes().decode(errors="replace").split("\0")
                    found[int(dict(word.split("=", 1) for word in words if "=" in word)["OMPI_COMM_WORLD_RANK"])] = int(process)
                except (OSError, KeyError, ValueError):
                    continue
        return found
