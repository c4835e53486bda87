#!/usr/bin/env python3
"""Twinax's GPT against PyTorch's, one rank, one core, the same model and batch: rounds in rotation, medians, ratios with intervals.

compare.py GPT_BENCH [--models small tiny] [--rounds 6] [--steps 3]

A round is one process of each program in turn, on the same core, of so many steps; the unit of the statistics is the round. Intervals are
paired bootstraps of the ratio of medians (95%). Times are CPU time, so that other load weighs little; it still slows memory and caches.
Exit code 77 where PyTorch is not installed.
"""
import argparse
import os
import pathlib
import platform
import random
import re
import statistics
import subprocess
import sys

PYTHON = os.environ.get("TWINAX_PYTHON", "/usr/bin/python3")


def run(command, core):
    environment = {name: value for name, value in os.environ.items() if name not in ("OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE")}
    environment.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1")
    done = subprocess.run(command, env=environment, capture_output=True, text=True, preexec_fn=lambda: os.sched_setaffinity(0, {core}))
    if done.returncode == 77:
        print(done.stdout.strip())
        sys.exit(77)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)} failed with {done.returncode}:\n{done.stdout}{done.stderr}")
    words = re.search(r"^model (.*)$", done.stdout, re.MULTILINE).group(1).split()
    return dict(zip(words[1::2], map(float, words[2::2])))


def ratio_interval(above, below, draws=4000):
    """The ratio of medians of paired rounds with its 95% interval."""
    generator = random.Random(1)
    n = len(above)
    ratios = []
    for _ in range(draws):
        picked = [generator.randrange(n) for _ in range(n)]
        ratios.append(statistics.median(above[i] for i in picked) / statistics.median(below[i] for i in picked))
    ratios.sort()
    return statistics.median(above) / statistics.median(below), ratios[draws * 25 // 1000], ratios[draws * 975 // 1000]


def conditions(core):
    """What the figures hold for."""
    cpu = platform.machine()
    with open("/proc/cpuinfo") as info:
        cpu = next((line.split(":", 1)[1].strip() for line in info if line.startswith("model name")), cpu)
    torch = subprocess.run([PYTHON, "-c", "import torch; print(torch.__version__)"], capture_output=True, text=True).stdout.strip()
    return f"{cpu}, core {core} of {os.cpu_count()}, load {os.getloadavg()[0]:.1f}; one thread each, fp32; PyTorch {torch}"


def measure(model, options, core):
    """The model's row of the table."""
    peer = str(pathlib.Path(__file__).with_name("torch_gpt.py"))
    ours, theirs = [], []
    for round_number in range(options.rounds):
        ours.append(run([options.bench, model, "1", str(options.steps)], core))
        theirs.append(run([PYTHON, peer, model, "1", str(options.steps)], core))
        print(f"{model}, round {round_number + 1} of {options.rounds}: Twinax {ours[-1]['tokens_per_s']:.0f} tokens/s, "
              f"PyTorch {theirs[-1]['tokens_per_s']:.0f}", file=sys.stderr, flush=True)
    speed = [result["tokens_per_s"] for result in ours]
    peer_speed = [result["tokens_per_s"] for result in theirs]
    step_s = [result["step_s"] for result in ours]
    products_s = [result["linear_s"] + result["attention_s"] for result in ours]
    return dict(
        model=model,
        speed=statistics.median(speed),
        peer_speed=statistics.median(peer_speed),
        faster=ratio_interval(speed, peer_speed),
        over_products=ratio_interval(step_s, products_s),
    )


def with_interval(triple):
    return "{:.2f} [{:.2f} {:.2f}]".format(*triple)


def exit_code(options, missed):
    """0; with --strict 1 if any goal is missed, and says which."""
    if not options.strict:
        return 0
    for goal in missed:
        print(f"missed: {goal}", file=sys.stderr)
    return 1 if missed else 0


def add_strict(parser):
    """For all comparisons that have goals."""
    parser.add_argument("--strict", action="store_true", help="end with code 1, and say which, if a goal is missed")


def print_table(rows, rounds):
    line = "{:<7} {:>17} {:>18} {:>20} {:>22}"
    print(line.format("model", "Twinax, tokens/s", "PyTorch, tokens/s", "Twinax / PyTorch", "step / its products"))
    for row in rows:
        print(line.format(row["model"], f"{row['speed']:.0f}", f"{row['peer_speed']:.0f}", with_interval(row["faster"]),
                          with_interval(row["over_products"])))
    print(line.format("goal", "", "", ">= 1", "<= 1.25"))
    print(f"Medians of {rounds} rounds [95% interval]. A step is forward, backward and AdamW; its products are the same matrix products alone.")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bench", help="the program gpt_bench")
    parser.add_argument("--models", nargs="+", default=["small", "tiny"], choices=["small", "tiny"])
    parser.add_argument("--rounds", type=int, default=6, help="at least 6 for an interval that means something (default 6)")
    parser.add_argument("--steps", type=int, default=3, help="steps a round, after one to warm up (default 3)")
    options = parser.parse_args()
    core = max(os.sched_getaffinity(0))
    rows = [measure(model, options, core) for model in options.models]
    print(conditions(core))
    print_table(rows, options.rounds)


if __name__ == "__main__":
    main()
