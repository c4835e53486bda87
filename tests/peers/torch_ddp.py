#!/usr/bin/env python3
"""PyTorch's DistributedDataParallel over gloo on torch_gpt.py's model: one process with one thread a rank.

torch_ddp.py small|tiny [ranks] [steps]: one line with seconds a step (wall clock of rank 0, the median after one step) and tokens/s of all
ranks, each with the model's batch. Exit code 77 where PyTorch is not installed.
"""
import os
import socket
import statistics
import subprocess
import sys
import time

import torch_gpt  # exits with 77 where PyTorch is missing
import torch
from torch import distributed, nn


class Gpt(nn.Module):
    """torch_gpt's parameters as a module, so that they can be wrapped; the forward pass is the loss."""

    def __init__(self, heads, **shape):
        super().__init__()
        self.heads = heads
        self.names = {}
        generator = torch.Generator().manual_seed(1)
        for name, value in torch_gpt.make_parameters(torch_gpt.parameter_shapes(**shape), generator).items():
            self.names[name] = name.replace(".", "_")
            self.register_parameter(self.names[name], nn.Parameter(value.detach()))

    def forward(self, tokens):
        return torch_gpt.loss_of({name: getattr(self, attribute) for name, attribute in self.names.items()}, tokens, self.heads)


def train(model_name, steps):
    torch.set_num_threads(1)
    distributed.init_process_group("gloo")
    rank, ranks = distributed.get_rank(), distributed.get_world_size()
    shape = dict(torch_gpt.MODELS[model_name])
    batch, heads = shape.pop("batch"), shape.pop("heads")
    model = nn.parallel.DistributedDataParallel(Gpt(heads, **shape))
    generator = torch.Generator().manual_seed(2 + rank)
    tokens = torch.randint(shape["vocabulary"], (batch, shape["context"] + 1), generator=generator)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, weight_decay=0.1)
    seconds = []
    for _ in range(steps + 1):
        begin = time.perf_counter()
        optimizer.zero_grad(set_to_none=True)
        loss = model(tokens)
        loss.backward()
        optimizer.step()
        seconds.append(time.perf_counter() - begin)
    middle = statistics.median(seconds[1:])
    if rank == 0:
        print(f"model {model_name} loss {loss.item():.4f} step_s {middle:.5f} tokens_per_s {ranks * batch * shape['context'] / middle:.0f}")
    distributed.destroy_process_group()


def main():
    if len(sys.argv) < 2 or sys.argv[1] not in torch_gpt.MODELS:
        sys.exit(f"usage: torch_ddp.py {'|'.join(torch_gpt.MODELS)} [ranks] [steps]")
    ranks = sys.argv[2] if len(sys.argv) > 2 else "2"
    steps = sys.argv[3] if len(sys.argv) > 3 else "5"
    if "RANK" in os.environ:
        train(sys.argv[1], int(steps))
        return
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    common = {**os.environ, "WORLD_SIZE": ranks, "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port), "OMP_NUM_THREADS": "1",
              "OPENBLAS_NUM_THREADS": "1"}
    words = [sys.executable, "-B", __file__, sys.argv[1], ranks, steps]
    processes = [subprocess.Popen(words, env={**common, "RANK": str(rank)}) for rank in range(int(ranks))]
    sys.exit(max(abs(process.wait()) for process in processes))


if __name__ == "__main__":
    main()
