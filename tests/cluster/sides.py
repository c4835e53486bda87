"""The two sides of a comparison: a command on hosts with a real wire between them, and on this machine with an emulated one."""
import argparse
import os
import pathlib
import re
import subprocess
import sys

import hosts as cluster

ENVIRONMENT = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
# Both libraries' rendezvous over TCP lets the two directions of a connection wait for each other (121 to 190 of 239 MB/s); without it,
# plain sockets, Open MPI and UCX all fill both.
FULL_DUPLEX = ["--mca", "btl_tcp_flags", "1"]
UNITS = {"s": 1, "ms": 1e-3, "us": 1e-6}


class Sides:
    """Runs a command on either side; `emulated` are the words that emulate the wire."""

    def __init__(self, hosts, emulated):
        self.hosts, self.emulated = hosts, emulated

    def output(self, is_wire, ranks, command, transport):
        """What the command prints; ends the program if it fails."""
        command = [*command, "--set", f"net.transport={transport}"]
        if is_wire:
            words = self.hosts.mpirun(ranks, command, launcher=FULL_DUPLEX, transport=transport, UCX_RNDV_THRESH="inf", **ENVIRONMENT)
        else:
            words = ["mpirun", "--oversubscribe", "--bind-to", "none", "-n", ranks, *command, *self.emulated]
        cache = {"XDG_CACHE_HOME": str(self.hosts.scratch / "cache")}
        done = subprocess.run([str(w) for w in words], env={**os.environ, **ENVIRONMENT, **cache}, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            sys.exit(f"{' '.join(map(str, words))}: code {done.returncode}\n{done.stdout}{done.stderr}")
        return done.stdout


def step_ms(output):
    """The median step that `twinax train` printed, in ms."""
    found = re.search(r"median step ([0-9.]+) (\w+)", output)
    return 1e3 * float(found[1]) * UNITS[found[2]]


def parser_of(description):
    """What all comparisons are told."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("twinax", type=pathlib.Path, help="the program")
    parser.add_argument("--rounds", type=int, default=6)
    parser.add_argument("--transports", nargs="+", default=["mpi", "ucx"])
    parser.add_argument("--quick", action="store_true", help="one small round, to see that it runs")
    return parser


def read_options(parser):
    """The options, on a machine that can make hosts; elsewhere the program ends as a skipped test."""
    options = parser.parse_args()
    options.twinax = options.twinax.resolve()
    os.environ.setdefault("TWINAX_BINARY", str(options.twinax))
    cluster.skip_unless_possible()
    if options.quick:
        options.rounds = 1
    return options
