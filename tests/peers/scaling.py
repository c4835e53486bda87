#!/usr/bin/env python3
"""Two ranks that share one model against two that train apart, and against PyTorch's DistributedDataParallel (gloo, two processes).

scaling.py TWINAX [--models small tiny] [--rounds 6] [--steps 6] [--strict]

A round is in turn: two ranks fully sharded under mpirun, in node and unshaped; two separate processes of one rank each, at the same time;
PyTorch. All have the same batch a rank, and one thread a rank. Figures are tokens/s of both ranks together by wall clock; ratios are of
medians over rounds, with their 95% paired bootstrap intervals, and mean something only on a machine that does nothing else. With --strict a
ratio under its least makes the exit code 1: 0.80 of two ranks apart, and of PyTorch's rate all (the table's goal is higher).
"""
import argparse
import os
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile

from compare import PYTHON, add_strict, exit_code, ratio_interval, with_interval

MPIRUN = os.environ.get("TWINAX_MPIRUN", "mpirun --oversubscribe --bind-to none").split()
MODELS = {"small": dict(layers=4, width=256, heads=8, context=256, vocabulary=8192, batch=4),
          "tiny": dict(layers=4, width=128, heads=4, context=256, vocabulary=256, batch=8)}
LEAST = {"apart": 0.80, "pytorch": 1.0}
ENVIRONMENT = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}


UNITS = {"s": 1, "ms": 1e-3, "us": 1e-6}


def twinax(options, model, ranks, folder):
    """The command line of a run with the model's batch on each rank."""
    shape = dict(MODELS[model])
    keys = {"data.path": options.text, "data.cache": folder, "train.steps": options.steps, "train.global_batch": shape.pop("batch") * ranks,
            "train.evaluate_every": 0, "optimizer.warmup_steps": 1, **{f"model.{name}": value for name, value in shape.items()}}
    settings = [word for key, value in keys.items() for word in ("--set", f"{key}={value}")]
    config = pathlib.Path(__file__).resolve().parents[2] / "experiments" / "gpt-small.toml"
    return [*MPIRUN, "-n", str(ranks), options.twinax, "train", str(config), "--quiet", *settings]


def tokens_per_s(commands, model, ranks):
    """Runs all commands at the same time; the sum of their rates, by the median step of each."""
    running = [subprocess.Popen(command, env=ENVIRONMENT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) for command in commands]
    rate = 0
    for process in running:
        out, err = process.communicate()
        found = re.search(r"median step ([0-9.]+) (\w+)", out)
        if process.returncode != 0 or not found:
            sys.exit(f"{' '.join(process.args)} failed with {process.returncode}:\n{out}{err}")
        rate += ranks * MODELS[model]["batch"] * MODELS[model]["context"] / (float(found[1]) * UNITS[found[2]])
    return rate


def peer_tokens_per_s(options, model):
    """PyTorch's rate; none if it is not installed."""
    peer = str(pathlib.Path(__file__).with_name("torch_ddp.py"))
    done = subprocess.run([PYTHON, "-B", peer, model, "2", str(options.steps)], env=ENVIRONMENT, capture_output=True, text=True)
    if done.returncode == 77:
        return None
    found = re.search(r"tokens_per_s ([0-9.]+)", done.stdout)
    if done.returncode != 0 or not found:
        sys.exit(f"torch_ddp.py failed with {done.returncode}:\n{done.stdout}{done.stderr}")
    return float(found[1])


def measure(options, model, folder):
    """All rounds of a model: [sharded], [apart], [PyTorch]."""
    ways = {"sharded": lambda: tokens_per_s([twinax(options, model, 2, folder)], model, 2),
            "apart": lambda: tokens_per_s([twinax(options, model, 1, folder)] * 2, model, 1),
            "pytorch": lambda: peer_tokens_per_s(options, model)}
    rates = {name: [] for name in ways}
    names = list(ways)
    for round_number in range(options.rounds):
        for turn in range(len(names)):
            name = names[(round_number + turn) % len(names)]
            rates[name].append(ways[name]())
        last = ", ".join(f"{name} {values[-1]:.0f}" if values[-1] else f"{name} missing" for name, values in rates.items())
        print(f"{model}, round {round_number + 1} of {options.rounds}, tokens/s: {last}", file=sys.stderr, flush=True)
    return rates


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("twinax", help="the program twinax")
    parser.add_argument("--text", default="build/data/bible.txt", help="text to train on (default build/data/bible.txt, by cloud/demo_text.sh)")
    parser.add_argument("--models", nargs="+", default=["small", "tiny"], choices=list(MODELS))
    parser.add_argument("--rounds", type=int, default=6, help="at least 6 for an interval that means something (default 6)")
    parser.add_argument("--steps", type=int, default=6, help="steps a round (default 6)")
    add_strict(parser)
    options = parser.parse_args()
    line = "{:<7} {:>18} {:>16} {:>18} {:>20} {:>20}"
    rows, missed = [], []
    with tempfile.TemporaryDirectory(prefix="twinax-scaling-") as folder:
        for model in options.models:
            rates = measure(options, model, folder)
            has_peer = None not in rates["pytorch"]
            ratios = {peer: ratio_interval(rates["sharded"], rates[peer]) for peer in LEAST if peer != "pytorch" or has_peer}
            missed += [f"{model}, sharded / {peer}: {ratio[0]:.2f} < {LEAST[peer]:.2f}" for peer, ratio in ratios.items() if ratio[0] < LEAST[peer]]
            rows.append(line.format(model, f"{statistics.median(rates['sharded']):.0f}", f"{statistics.median(rates['apart']):.0f}",
                                    f"{statistics.median(rates['pytorch']):.0f}" if has_peer else "-",
                                    with_interval(ratios["apart"]), with_interval(ratios["pytorch"]) if has_peer else "-"))
    print(line.format("model", "sharded, tokens/s", "apart, tokens/s", "PyTorch, tokens/s", "sharded / apart", "sharded / PyTorch"))
    print("\n".join(rows))
    print(line.format("goal", "", "", "", ">= 0.80", ">= 1.4"))
    print(f"Medians of {options.rounds} rounds in rotation [95% interval]; load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores.")
    if not has_peer:
        print("PyTorch is left out: it is not installed (Debian: python3-torch).")
    return exit_code(options, missed)


if __name__ == "__main__":
    sys.exit(main())
