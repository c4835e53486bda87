#!/usr/bin/env python3
"""Twinax's transport over UCX against UCX itself (ucx_perftest): messages from one process to another, in rotation.

compare_ucx.py UCX_BENCH [--sizes 65536 ...] [--rounds 7] [--megabytes 2000] [--wires shm tcp] [--strict]

A round is one run of each program in turn, of the same size, number of messages, window and wires; each process has a core of its own and
polls. The spread is that of the rounds' ratios. ucx_perftest runs with the error handling that Twinax needs to notice a peer's death (-e), and
without: over TCP UCX 1.13 then copies large messages once less. Exit code 77 where ucx_perftest (Debian: ucx-utils) or a second core is missing.
With --strict it is 1 if the median ratio to ucx_perftest -e is under the goal at a size of 64 KiB or more.
"""
import argparse
import os
import re
import shutil
import socket
import statistics
import subprocess
import sys
import time

from compare import add_strict, exit_code

SKIPPED = 77
WINDOW = 8
LEAST, FROM_BYTES = 0.90, 64 << 10
MPIRUN = [os.environ.get("TWINAX_MPIRUN", "mpirun"), "--oversubscribe", "--bind-to", "none", "-n", "2"]


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def environment_of(wires):
    errors = {"UCX_POSIX_ERROR_HANDLING": "y", "UCX_SYSV_ERROR_HANDLING": "y", "UCX_CMA_MEMORY_INVALIDATE": "y"}  # Twinax's own defaults
    return {**os.environ, **errors, "UCX_TLS": f"self,{wires}", "UCX_NET_DEVICES": "lo" if wires == "tcp" else "all", "UCX_WARN_UNUSED_ENV_VARS": "n"}


def raw(size, messages, wires, *flags):
    """Bytes a second of ucx_perftest."""
    first, second = sorted(os.sched_getaffinity(0))[:2]
    port = str(free_port())
    words = ["ucx_perftest", "-t", "tag_bw", "-s", str(size), "-n", str(messages), "-w", str(messages // 10 + WINDOW), "-O", str(WINDOW), "-p", port,
             "-f", *flags]
    environment = environment_of(wires)
    server = subprocess.Popen([*words, "-c", str(second)], env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    try:
        for _ in range(50):  # until the server listens
            client = subprocess.run([*words, "-c", str(first), "127.0.0.1"], env=environment, capture_output=True, text=True, timeout=120)
            if client.returncode == 0 or server.poll() is not None:
                break
            time.sleep(0.05)
        server.wait(timeout=10)
    finally:
        server.kill()
    numbers = re.findall(r"^ *\d+(?: +(?:[\d.]+|inf)){7}$", client.stdout, re.MULTILINE)
    if client.returncode != 0 or not numbers:
        sys.exit(f"ucx_perftest failed with {client.returncode}:\n{client.stdout}{client.stderr}")
    return float(numbers[-1].split()[5]) * 2**20  # overall bandwidth, in MiB


def ours(bench, size, messages, wires):
    """Bytes a second of the transport."""
    done = subprocess.run([*MPIRUN, bench, str(size), str(messages), str(WINDOW)], env=environment_of(wires), capture_output=True, text=True,
                          timeout=120)
    found = re.search(r"^ucx_bench bytes \d+ bytes_per_s (\S+)$", done.stdout, re.MULTILINE)
    if done.returncode != 0 or not found:
        sys.exit(f"ucx_bench failed with {done.returncode}:\n{done.stdout}{done.stderr}")
    return float(found.group(1))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bench", help="the program ucx_bench")
    parser.add_argument("--sizes", type=int, nargs="+", default=[64 << 10, 256 << 10, 1 << 20, 8 << 20], help="bytes of a message")
    parser.add_argument("--rounds", type=int, default=7, help="default 7")
    parser.add_argument("--megabytes", type=float, default=2000, help="sent in a run, at least 40 messages (default 2000)")
    parser.add_argument("--wires", nargs="+", default=["shm", "tcp"], choices=["shm", "tcp"])
    add_strict(parser)
    options = parser.parse_args()
    if shutil.which("ucx_perftest") is None:
        print("skipped: ucx_perftest is not installed (Debian: ucx-utils)")
        return SKIPPED
    if len(os.sched_getaffinity(0)) < 2:
        print("skipped: two processes that poll need two cores")
        return SKIPPED
    line = "{:<6} {:>9} {:>13} {:>13} {:>19} {:>20} {:>20}"
    print(line.format("wires", "bytes", "Twinax, GB/s", "perftest -e", "perftest, no errors", "Twinax / -e", "Twinax / no errors"))
    missed = []
    for wires in options.wires:
        for size in options.sizes:
            messages = max(40, int(options.megabytes * 1e6 / size))
            rounds = [(ours(options.bench, size, messages, wires), raw(size, messages, wires, "-e"), raw(size, messages, wires))
                      for _ in range(options.rounds)]
            spreads = []
            for peer in (1, 2):
                ratios = sorted(figures[0] / figures[peer] for figures in rounds)
                if peer == 1 and size >= FROM_BYTES and statistics.median(ratios) < LEAST:
                    missed.append(f"{wires}, {size} bytes: {statistics.median(ratios):.2f} < {LEAST:.2f}")
                spreads.append(f"{statistics.median(ratios):.2f} [{ratios[0]:.2f} {ratios[-1]:.2f}]")
            print(line.format(wires, size, *(f"{statistics.median(column) / 1e9:.2f}" for column in zip(*rounds)), *spreads), flush=True)
    print(line.format("goal", "", "", "", "", f">= {LEAST:.2f}", ""))
    print(f"Medians of {options.rounds} rounds [least, largest ratio]; {WINDOW} messages in flight; load {os.getloadavg()[0]:.1f}.")
    return exit_code(options, missed)


if __name__ == "__main__":
    sys.exit(main())
