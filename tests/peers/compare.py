#!/usr/bin/env python3
"""Twinax's GPT against PyTorch's, one rank, one core, the same model and batch: rounds in rotation, medians, ratios with intervals.

compare.py GPT_BENCH [--models small tiny] [--rounds 6] [--steps 3]

A round is one process of each program in turn, on the same core, of so many steps; the unit of the statistics is the round. Intervals are paired
bootstraps of the ratio of medians (95%). Exit code 77 where PyTorch is not installed.
"""
import argparse
import os
import pathlib
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


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bench", help="the program gpt_bench")
    parser.add_argument("--models", nargs="+", default=["small", "tiny"], choices=["small", "tiny"])
    parser.add_argument("--rounds", type=int, default=6, help="at least 6 for an interval that means something (default 6)")
    parser.add_argument("--steps", type=int, default=3, help="steps a round, after one to warm up (default 3)")
    options = parser.parse_args()
    peer = str(pathlib.Path(__file__).with_name("torch_gpt.py"))
    core = max(os.sched_getaffinity(0))
    for model in options.models:
        ours, theirs = [], []
        for _ in range(options.rounds):
            ours.append(run([options.bench, model, "1", str(options.steps)], core))
            theirs.append(run([PYTHON, peer, model, "1", str(options.steps)], core))
            print(f"{model}: twinax {ours[-1]['tokens_per_s']:.0f}, PyTorch {theirs[-1]['tokens_per_s']:.0f} tokens/s, "
                  f"step / products {ours[-1]['ratio']:.3f}", flush=True)
        speed = [result["tokens_per_s"] for result in ours]
        peer_speed = [result["tokens_per_s"] for result in theirs]
        ratio, low, high = ratio_interval(speed, peer_speed)
        bound, bound_low, bound_high = ratio_interval([result["step_s"] for result in ours],
                                                      [result["linear_s"] + result["attention_s"] for result in ours])
        print(f"result {model} rounds {options.rounds} twinax_tokens_per_s {statistics.median(speed):.0f} "
              f"pytorch_tokens_per_s {statistics.median(peer_speed):.0f} ratio {ratio:.3f} low {low:.3f} high {high:.3f} "
              f"step_over_products {bound:.3f} low {bound_low:.3f} high {bound_high:.3f}")


if __name__ == "__main__":
    main()
