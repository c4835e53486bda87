#!/usr/bin/env python3
"""A wire between hosts against its emulation: `twinax calibrate net` measures it, `--net` shapes by what was measured on one machine.

reproduce_wire.py TWINAX [--rounds 6] [--rate 1gbit] [--transports mpi ucx] [--quick]

The wire is that of namespace hosts (hosts.sh), shaped by the kernel at the rate given. It is calibrated once for each transport; a round then
measures the table of `twinax bench net` on the wire and emulated, one after the other. Figures are medians over rounds; ratios are emulated
over wire, with 95% paired bootstrap intervals, and mean something only on a machine that does nothing else. Needs root; ends with code 77 and
a reason where hosts can't be made.
"""
import csv
import io
import os
import statistics
import sys

import hosts as cluster
from sides import Sides, parser_of, read_options

sys.path.insert(0, str(cluster.SOURCE / "tests" / "peers"))
from compare import ratio_interval  # noqa: E402  pylint: disable=wrong-import-position


def calibrated(options, hosts, transport):
    """The sides of a wire that has just been measured."""
    catalog = hosts.scratch / f"{transport}.toml"
    Sides(hosts, []).output(True, 2, [options.twinax, "calibrate", "net", "--name", "wire", "-o", catalog, "--quiet"], transport)
    return Sides(hosts, ["--net", "wire", "--set", f"net.catalog={catalog}", "--set", "net.ranks_per_node=1"])


def table(options, sides, is_wire, transport):
    """{(test, size, unit): figure} of the wire or of its emulation."""
    sizes = "64B,256KiB" if options.quick else "64B,4KiB,64KiB,1MiB,8MiB"
    out = sides.output(is_wire, 2, [options.twinax, "bench", "net", "--test", "latency,bandwidth,bidirectional", "--sizes", sizes, "--csv",
                                    "--quiet"], transport)
    figures = {}
    for row in csv.DictReader(io.StringIO(out)):
        is_latency = row["test"] == "latency"
        figures[row["test"], int(row["size_bytes"]), "us" if is_latency else "MB/s"] = float(row["latency_us" if is_latency else "rate_MB_per_s"])
    return figures


def print_table(transport, rounds):
    for test, size, unit in rounds[0][0]:
        wire, emulated = zip(*((one[0][test, size, unit], one[1][test, size, unit]) for one in rounds))
        ratio, low, high = ratio_interval(emulated, wire)
        print(f"{transport:<5} {test:<14} {size:>9} {unit:<5} {statistics.median(wire):>11.2f} {statistics.median(emulated):>11.2f} "
              f"{ratio:>7.3f} [{low:.3f} {high:.3f}]")


def main():
    parser = parser_of(__doc__)
    parser.add_argument("--rate", default="1gbit", help="of the kernel's shaper, or off")
    options = read_options(parser)
    with cluster.Hosts(2) as hosts:
        hosts.shape(options.rate)
        print(f"# wire: kernel's shaper {options.rate}; {options.rounds} round(s), {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}")
        print(f"{'':<5} {'':<14} {'size [B]':>9} {'unit':<5} {'wire':>11} {'emulated':>11} {'emulated / wire':>23}")
        for transport in options.transports:
            sides = calibrated(options, hosts, transport)
            print_table(transport, [[table(options, sides, is_wire, transport) for is_wire in (True, False)] for _ in range(options.rounds)])
            sys.stdout.flush()


if __name__ == "__main__":
    main()
