#!/usr/bin/env python3
"""A GPT in PyTorch, as GPT-2 defines it: the peer that Twinax's is compared with, in values (check_dump.py) and in speed (this script).

torch_gpt.py small|tiny [rounds] [steps a round]: one line a round with seconds a step (CPU time of the process, one thread), then the median.
Exit code 77 where PyTorch is not installed. Start it with OPENBLAS_CORETYPE and OPENBLAS_L2_SIZE unset (compare.py does).
"""
import statistics
import sys
import time

try:
    import torch
    from torch.nn import functional
except ImportError as missing:
    print(f"skipped: {missing} (Debian: python3-torch)")
    sys.exit(77)

MODELS = {
    "small": dict(layers=4, width=256, heads=8, context=256, vocabulary=8192, batch=4),
    "tiny": dict(layers=4, width=128, heads=4, context=256, vocabulary=256, batch=8),
}


def parameter_shapes(layers, width, context, vocabulary, tied=True):
    """Name to (shape, standard deviation of the initial values; None = ones, 0 = zeroes)."""
    residual = 0.02 / (2 * layers) ** 0.5
    shapes = {"wte.weight": ((vocabulary, width), 0.02), "wpe.weight": ((context, width), 0.02)}
    for layer in range(layers):
        name = f"h.{layer}"
        for norm in ("ln_1", "ln_2"):
            shapes[f"{name}.{norm}.weight"] = ((width,), None)
            shapes[f"{name}.{norm}.bias"] = ((width,), 0)
        for linear, outputs, inputs, stddev in (
            ("attn.c_attn", 3 * width, width, 0.02),
            ("attn.c_proj", width, width, residual),
            ("mlp.c_fc", 4 * width, width, 0.02),
            ("mlp.c_proj", width, 4 * width, residual),
        ):
            shapes[f"{name}.{linear}.weight"] = ((outputs, inputs), stddev)
            shapes[f"{name}.{linear}.bias"] = ((outputs,), 0)
    shapes["ln_f.weight"] = ((width,), None)
    shapes["ln_f.bias"] = ((width,), 0)
    if not tied:
        shapes["lm_head.weight"] = ((vocabulary, width), 0.02)
    return shapes


def make_parameters(shapes, generator, dtype=torch.float32):
    parameters = {}
    for name, (shape, stddev) in shapes.items():
        if stddev is None:
            value = torch.ones(shape, dtype=dtype)
        else:
            value = torch.randn(shape, generator=generator, dtype=dtype) * stddev
        parameters[name] = value.requires_grad_()
    return parameters


def attention(x, p, name, heads):
    batch, length, width = x.shape
    qkv = functional.linear(x, p[f"{name}.c_attn.weight"], p[f"{name}.c_attn.bias"])
    q, k, v = (part.view(batch, length, heads, width // heads).transpose(1, 2) for part in qkv.split(width, dim=2))
    scores = q @ k.transpose(2, 3) * (width // heads) ** -0.5
    future = torch.ones(length, length, dtype=torch.bool).triu(1)
    weights = scores.masked_fill(future, float("-inf")).softmax(dim=3)
    out = (weights @ v).transpose(1, 2).reshape(batch, length, width)
    return functional.linear(out, p[f"{name}.c_proj.weight"], p[f"{name}.c_proj.bias"])


def gelu(u):
    """The tanh form; torch.nn.functional has it from 1.12 on."""
    return functional.gelu(u, approximate="tanh")


def loss_of(p, tokens, heads):
    """The mean loss over all targets of tokens [sequences, length + 1]."""
    inputs, targets = tokens[:, :-1], tokens[:, 1:]
    width = p["wte.weight"].shape[1]
    layers = sum(name.endswith("ln_1.weight") for name in p)
    x = p["wte.weight"][inputs] + p["wpe.weight"][: inputs.shape[1]]

    def norm(value, name):
        return functional.layer_norm(value, (width,), p[f"{name}.weight"], p[f"{name}.bias"], eps=1e-5)

    for layer in range(layers):
        name = f"h.{layer}"
        x = x + attention(norm(x, f"{name}.ln_1"), p, f"{name}.attn", heads)
        u = functional.linear(norm(x, f"{name}.ln_2"), p[f"{name}.mlp.c_fc.weight"], p[f"{name}.mlp.c_fc.bias"])
        x = x + functional.linear(gelu(u), p[f"{name}.mlp.c_proj.weight"], p[f"{name}.mlp.c_proj.bias"])
    logits = functional.linear(norm(x, "ln_f"), p.get("lm_head.weight", p["wte.weight"]))
    return functional.cross_entropy(logits.reshape(-1, logits.shape[-1]), targets.reshape(-1))


def main():
    if len(sys.argv) < 2 or sys.argv[1] not in MODELS:
        sys.exit(f"usage: torch_gpt.py {'|'.join(MODELS)} [rounds] [steps]")
    rounds = int(sys.argv[2]) if len(sys.argv) > 2 else 7
    steps = int(sys.argv[3]) if len(sys.argv) > 3 else 3
    torch.set_num_threads(1)
    model = dict(MODELS[sys.argv[1]])
    batch, heads = model.pop("batch"), model.pop("heads")
    generator = torch.Generator().manual_seed(1)
    p = make_parameters(parameter_shapes(**model), generator)
    tokens = torch.randint(model["vocabulary"], (batch, model["context"] + 1), generator=generator)
    decaying = [value for value in p.values() if value.dim() > 1]
    others = [value for value in p.values() if value.dim() == 1]
    optimizer = torch.optim.AdamW([dict(params=decaying, weight_decay=0.1), dict(params=others, weight_decay=0.0)], lr=1e-3)

    def step():
        loss = loss_of(p, tokens, heads)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
        return loss.item()

    step()
    seconds = []
    for round_number in range(rounds):
        before = time.process_time()
        for _ in range(steps):
            loss = step()
        seconds.append((time.process_time() - before) / steps)
        print(f"round {round_number} step_s {seconds[-1]:.5f}", flush=True)
    middle = statistics.median(seconds)
    print(f"model {sys.argv[1]} loss {loss:.4f} step_s {middle:.5f} tokens_per_s {batch * model['context'] / middle:.0f}")


if __name__ == "__main__":
    main()
