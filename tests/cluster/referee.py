#!/usr/bin/env python3
"""The shaper against the kernel's own: `--net` on one machine, and tc tbf (1 Gbit/s, burst 1 MB, both directions of each NIC) between hosts.

referee.py TWINAX [--rounds 6] [--steps 8] [--transports mpi ucx] [--quick]

The kernel shapes frames, the shaper payload: its profile has no latency, jitter or overhead, and the share of the rate that TCP leaves of a
frame (1448 of 1514 bytes at an MTU of 1500; the kernel's shaper does not count preamble, checksum and gap). Hosts are namespaces of this
machine (hosts.sh), so both sides compute and copy with the same cores. A round measures both sides one after the other. Figures are medians
over rounds; ratios are shaper over kernel, with 95% paired bootstrap intervals, and mean something only on a machine that does nothing else.

tbf lets up to 1 MB pass at once after a pause; steps are made of traffic much larger than that. Needs root; ends with code 77 and a reason
where hosts can't be made.
"""
import csv
import io
import os
import pathlib
import statistics
import sys
import tempfile

import hosts as cluster
from sides import Sides, parser_of, read_options, step_ms

sys.path.insert(0, str(cluster.SOURCE / "tests" / "peers"))
from compare import ratio_interval  # noqa: E402  pylint: disable=wrong-import-position

RATE = "1gbit"
MTU = 1500
TCP_IP = 20 + 32  # headers of IP, and of TCP with time stamps
ETHERNET = 14
SHARE = (MTU - TCP_IP) / (MTU + ETHERNET)
PROFILE = f"""[referee-1g]
rate = "1Gbit/s"
achievable = {SHARE:.6f}
latency = "0us"
in_node_rate = "100Gbit/s"
source = "tc tbf at 1 Gbit/s, less the headers of TCP and IP"
"""
# 25.4 million parameters: 152 MB each way in a step of two ranks, with little computing between.
MODEL = {"model.layers": 8, "model.width": 512, "model.heads": 8, "model.context": 16, "train.global_batch": 2, "train.evaluate_every": 0}
SMALL = {"model.layers": 2, "model.width": 64, "model.heads": 2, "model.context": 32, "train.global_batch": 2, "train.evaluate_every": 0}


class Referee(Sides):
    """Runs the same commands on hosts that the kernel shapes, and shaped on this machine."""

    def __init__(self, options, hosts, folder):
        catalog = pathlib.Path(folder) / "networks.toml"
        catalog.write_text(PROFILE)
        super().__init__(hosts, ["--net", "referee-1g", "--set", f"net.catalog={catalog}"])
        self.options = options
        self.text = hosts.scratch / "text.txt"
        self.text.write_text((cluster.SOURCE / "LICENSE").read_text() * 8)

    def rates(self, is_kernel, transport):
        """Goodput in MB/s of one stream, of both directions together, and of two senders to one receiver."""
        size = "256KiB" if self.options.quick else "1MiB"
        out = self.output(is_kernel, 3, [self.options.twinax, "bench", "net", "--test", "bandwidth,bidirectional,incast", "--sizes", size,
                                         "--csv", "--quiet"], transport)
        return {row["test"]: float(row["rate_MB_per_s"]) for row in csv.DictReader(io.StringIO(out))}

    def step(self, is_kernel, transport):
        """Median step of two ranks, fully sharded, in ms."""
        keys = {**(SMALL if self.options.quick else MODEL), "data.path": self.text, "train.steps": self.options.steps,
                "optimizer.warmup_steps": 1, "collective.algorithm": "ring"}
        out = self.output(is_kernel, 2, [self.options.twinax, "train", cluster.SOURCE / "experiments" / "gpt-small.toml", "--quiet",
                                         *(word for key, value in keys.items() for word in ("--set", f"{key}={value}"))], transport)
        return step_ms(out)

    def round(self, transport):
        """Each figure as (kernel, shaper)."""
        sides = [{**self.rates(is_kernel, transport), "step": self.step(is_kernel, transport)} for is_kernel in (True, False)]
        return {name: (sides[0][name], sides[1][name]) for name in sides[0]}


FIGURES = {"bandwidth": ("one stream", "MB/s", 0.02), "bidirectional": ("both directions", "MB/s", 0.02),
           "incast": ("two senders", "MB/s", 0.02), "step": ("FSDP step", "ms", 0.05)}


def print_table(transport, rounds):
    for name, (title, unit, within) in FIGURES.items():
        kernel, shaper = zip(*(one[name] for one in rounds))
        ratio, low, high = ratio_interval(shaper, kernel)
        verdict = "yes" if 1 - within <= low and high <= 1 + within else "no"
        print(f"{transport:<5} {title:<16} {unit:<5} {statistics.median(kernel):>10.2f} {statistics.median(shaper):>10.2f} "
              f"{ratio:>7.4f} [{low:.4f} {high:.4f}]  {within:>5.0%} {verdict}")


def main():
    parser = parser_of(__doc__)
    parser.add_argument("--steps", type=int, default=8)
    options = read_options(parser)
    if options.quick:
        options.steps = 3
    with tempfile.TemporaryDirectory(prefix="twinax-referee-") as folder, cluster.Hosts(3) as hosts:
        hosts.shape(RATE)
        referee = Referee(options, hosts, folder)
        print(f"# kernel: tc tbf {RATE}, burst 1 MB; shaper: {SHARE:.4f} of 1 Gbit/s; {options.rounds} round(s), {os.cpu_count()} cores, "
              f"load {os.getloadavg()[0]:.1f}")
        print(f"{'':<5} {'':<16} {'unit':<5} {'kernel':>10} {'shaper':>10} {'shaper / kernel':>25}  within")
        for transport in options.transports:
            print_table(transport, [referee.round(transport) for _ in range(options.rounds)])
            sys.stdout.flush()


if __name__ == "__main__":
    main()
