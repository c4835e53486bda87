#!/usr/bin/env python3
"""Compares a step that `twinax train --dump FILE.h5` wrote with PyTorch: the loss, and the gradient of every parameter.

check_dump.py FILE.h5 [--tolerance 1e-4] [-- COMMAND ...]

Reads /parameters, the attribute `heads` and the batch (of a GPT /batch/tokens, of a T5 /batch/inputs and /batch/targets), computes loss and
gradients (of the mean over the batch, in double precision) by torch_gpt.py or torch_t5.py, and compares them with /loss and /gradients: |difference| <= tolerance * |PyTorch's|, by the Euclidean norm of each tensor.
COMMAND, if given, is run first, to write FILE.h5. Exit code 0: all agree; 1: not; 77: PyTorch or h5py is not installed.
"""
import argparse
import os
import subprocess
import sys

SKIPPED = 77

try:
    import h5py
    import torch
except ImportError as missing:
    print(f"skipped: {missing} (Debian: python3-torch, python3-h5py)")
    sys.exit(SKIPPED)

import torch_gpt
import torch_t5


class Mismatch(Exception):
    """What a dump says that PyTorch doesn't, or that no GPT or T5 has."""


def read_tensors(group):
    return {name: torch.from_numpy(data[()]) for name, data in group.items()}


def read_dump(path):
    with h5py.File(path, "r") as file:
        batch = ("inputs", "targets") if "batch/inputs" in file else ("tokens",)
        for name in ("parameters", "gradients", "loss", *(f"batch/{part}" for part in batch)):
            if name not in file:
                raise Mismatch(f"/{name} is missing")
        if "heads" not in file.attrs:
            raise Mismatch("the attribute heads of the root is missing")
        return dict(
            parameters=read_tensors(file["parameters"]),
            gradients=read_tensors(file["gradients"]),
            batch={part: torch.from_numpy(file[f"batch/{part}"][()]).long() for part in batch},
            loss=float(file["loss"][()]),
            heads=int(file.attrs["heads"]),
        )


def gpt_shapes(dump):
    """What a GPT with this embedding and these tokens must hold; tokens are checked."""
    parameters = dump["parameters"]
    for name in ("wte.weight", "wpe.weight"):
        if name not in parameters:
            raise Mismatch(f"/parameters/{name} is missing")
    vocabulary, width = parameters["wte.weight"].shape
    context = parameters["wpe.weight"].shape[0]
    layers = sum(name.endswith(".ln_1.weight") for name in parameters)
    tokens = dump["batch"]["tokens"]
    if tokens.dim() != 2 or tokens.shape[0] < 1 or not 2 <= tokens.shape[1] <= context + 1:
        raise Mismatch(f"/batch/tokens has shape {tuple(tokens.shape)}, expected [sequences, length + 1] with length <= {context}")
    if width % dump["heads"] != 0:
        raise Mismatch(f"heads = {dump['heads']} doesn't divide the width {width}")
    shapes = torch_gpt.parameter_shapes(layers, width, context, vocabulary, "lm_head.weight" not in parameters)
    return vocabulary, {name: shape for name, (shape, _) in shapes.items()}


def t5_shapes(dump):
    """The same of a T5."""
    parameters = dump["parameters"]
    first = "encoder.block.0.layer"
    for name in ("shared.weight", f"{first}.0.SelfAttention.q.weight", f"{first}.1.DenseReluDense.wi_0.weight"):
        if name not in parameters:
            raise Mismatch(f"/parameters/{name} is missing")
    vocabulary, width = parameters["shared.weight"].shape
    inner = parameters[f"{first}.0.SelfAttention.q.weight"].shape[0]
    blocks = [sum(n.startswith(f"{stack}.") and n.endswith(".SelfAttention.q.weight") for n in parameters) for stack in ("encoder", "decoder")]
    inputs, targets = dump["batch"]["inputs"], dump["batch"]["targets"]
    if inputs.dim() != 2 or targets.dim() != 2 or inputs.shape[0] != targets.shape[0] or 0 in inputs.shape or 0 in targets.shape:
        raise Mismatch(f"/batch/inputs and /batch/targets have shapes {tuple(inputs.shape)} and {tuple(targets.shape)}")
    if inner % dump["heads"] != 0:
        raise Mismatch(f"heads = {dump['heads']} doesn't divide the {inner} channels of q")
    feed_forward = parameters[f"{first}.1.DenseReluDense.wi_0.weight"].shape[0]
    return vocabulary, torch_t5.parameter_shapes(*blocks, width, inner, dump["heads"], feed_forward, vocabulary)


def check_names_and_shapes(dump):
    """The parameters are those of a GPT or T5 with names and shapes as PyTorch's users know them, and each has a gradient of its shape."""
    vocabulary, expected = t5_shapes(dump) if "inputs" in dump["batch"] else gpt_shapes(dump)
    for group in ("parameters", "gradients"):
        found = {name: tuple(tensor.shape) for name, tensor in dump[group].items()}
        if found != expected:
            names = sorted(name for name in found.keys() | expected.keys() if found.get(name) != expected.get(name))
            raise Mismatch("; ".join(f"/{group}/{n} has shape {found.get(n, 'none')}, expected {expected.get(n, 'none')}" for n in names))
        for name, tensor in dump[group].items():
            if tensor.dtype != torch.float32:
                raise Mismatch(f"/{group}/{name} is {tensor.dtype}, expected fp32")
    for part, tokens in dump["batch"].items():
        if tokens.min() < 0 or tokens.max() >= vocabulary:
            raise Mismatch(f"/batch/{part} holds {int(tokens.min())} to {int(tokens.max())}, the vocabulary is {vocabulary}")


def reference(dump):
    """PyTorch's loss and gradients, in double precision."""
    parameters = {name: tensor.double().requires_grad_() for name, tensor in dump["parameters"].items()}
    model = torch_t5 if "inputs" in dump["batch"] else torch_gpt
    loss = model.loss_of(parameters, *dump["batch"].values(), dump["heads"])
    loss.backward()
    return float(loss), {name: tensor.grad for name, tensor in parameters.items()}


def relative_error(value, expected):
    """|value - expected| / |expected|; 0 where both are 0; never NaN."""
    difference = float((value.double() - expected).norm())
    if difference == 0:
        return 0.0
    norm = float(expected.norm())
    return difference / norm if norm > 0 and difference == difference else float("inf")


def check(dump, tolerance):
    """The largest relative error and where it is. Raises Mismatch with every tensor that is off."""
    check_names_and_shapes(dump)
    loss, gradients = reference(dump)
    errors = {"/loss": relative_error(torch.tensor(dump["loss"]), torch.tensor(loss, dtype=torch.float64))}
    for name, expected in gradients.items():
        errors[f"/gradients/{name}"] = relative_error(dump["gradients"][name], expected)
    off = [f"{name} differs by {error:.2e}" for name, error in errors.items() if not error <= tolerance]
    if off:
        raise Mismatch("; ".join(off) + f" (relative to PyTorch's; tolerance {tolerance:g})")
    worst = max(errors, key=errors.get)
    return errors[worst], worst


def main():
    ours = sys.argv[1:]
    command = []
    if "--" in ours:
        at = ours.index("--")
        ours, command = ours[:at], ours[at + 1 :]
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", help="the dump")
    parser.add_argument("--tolerance", type=float, default=1e-4)
    options = parser.parse_args(ours)
    if command:
        if os.path.exists(options.file):
            os.remove(options.file)  # what is checked is what the command writes
        done = subprocess.run(command)
        if done.returncode != 0:
            sys.exit(f"{' '.join(command)} ended with {done.returncode}")
    torch.set_num_threads(1)
    try:
        dump = read_dump(options.file)
        error, where = check(dump, options.tolerance)
    except (Mismatch, OSError) as fault:
        sys.exit(f"{options.file}: {fault}")
    print(f"{options.file}: loss {dump['loss']:.6f} and {len(dump['gradients'])} gradients agree with PyTorch: "
          f"at most {error:.1e} off, in {where}")


if __name__ == "__main__":
    main()
