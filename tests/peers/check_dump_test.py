#!/usr/bin/env python3
"""check_dump.py accepts a dump whose gradients are right, by central differences of the loss, and names what is wrong in any other."""
import os
import sys
import tempfile
import unittest

import check_dump  # exits with 77 where PyTorch or h5py is not installed
import h5py
import torch
import torch_gpt
import torch_t5

SHAPE = dict(layers=2, width=8, context=6, vocabulary=11)
HEADS = 2


def make_dump(tied=True):
    """A step as an independent writer would dump it, made by PyTorch in double precision and rounded."""
    generator = torch.Generator().manual_seed(3)
    p = torch_gpt.make_parameters(torch_gpt.parameter_shapes(**SHAPE, tied=tied), generator)
    p = {name: (value.detach() + 0.05 * torch.randn(value.shape, generator=generator)) for name, value in p.items()}
    exact = {name: value.double().requires_grad_() for name, value in p.items()}
    tokens = torch.randint(SHAPE["vocabulary"], (3, SHAPE["context"] + 1), generator=generator)
    loss = torch_gpt.loss_of(exact, tokens, HEADS)
    loss.backward()
    return dict(
        parameters=p,
        gradients={name: value.grad.float() for name, value in exact.items()},
        batch=dict(tokens=tokens),
        loss=float(loss),
        heads=HEADS,
    )


def make_t5_dump():
    """The same of a T5."""
    generator = torch.Generator().manual_seed(4)
    shapes = torch_t5.parameter_shapes(2, 2, 8, 6, HEADS, 10, 11)
    p = {name: torch.randn(shape, generator=generator) * (1 if len(shape) == 1 else 0.4) for name, shape in shapes.items()}
    exact = {name: value.double().requires_grad_() for name, value in p.items()}
    batch = {part: torch.randint(11, (3, length), generator=generator) for part, length in (("inputs", 20), ("targets", 18))}
    loss = torch_t5.loss_of(exact, batch["inputs"], batch["targets"], HEADS)
    loss.backward()
    return dict(
        parameters=p, gradients={name: value.grad.float() for name, value in exact.items()}, batch=batch, loss=float(loss), heads=HEADS
    )


def write(dump, path):
    with h5py.File(path, "w") as file:
        for group in ("parameters", "gradients"):
            for name, tensor in dump[group].items():
                file[f"{group}/{name}"] = tensor.numpy()
        for part, tokens in dump["batch"].items():
            file[f"batch/{part}"] = tokens.numpy()
        file["loss"] = dump["loss"]
        file.attrs["heads"] = dump["heads"]


class CheckDump(unittest.TestCase):
    def check_written(self, dump):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "dump.h5")
            write(dump, path)
            return check_dump.check(check_dump.read_dump(path), 1e-4)

    def assert_refused(self, dump, reason):
        with self.assertRaisesRegex(check_dump.Mismatch, reason):
            self.check_written(dump)

    def test_right_gradients_are_accepted_with_either_head(self):
        for tied in (True, False):
            error, _ = self.check_written(make_dump(tied))
            self.assertLess(error, 1e-6)

    def test_a_t5_is_known_by_its_inputs_and_targets(self):
        error, _ = self.check_written(make_t5_dump())
        self.assertLess(error, 1e-6)
        dump = make_t5_dump()
        for group in ("parameters", "gradients"):
            del dump[group]["encoder.block.0.layer.0.SelfAttention.relative_attention_bias.weight"]
        self.assert_refused(dump, "relative_attention_bias.weight has shape none, expected")

    def test_buckets_of_exact_powers_are_the_upper_ones(self):
        both = {8: 8, 11: 8, 12: 9, 16: 10, 31: 11, 32: 12, 63: 13, 64: 14, 91: 15, 128: 15, 900: 15}
        for distance, expected in both.items():
            self.assertEqual(torch_t5.bucket(-distance, True), expected)
            self.assertEqual(torch_t5.bucket(distance, True), expected + 16)
        for distance, expected in {15: 15, 16: 16, 32: 21, 64: 26, 128: 31, 900: 31}.items():
            self.assertEqual(torch_t5.bucket(-distance, False), expected)
        self.assertEqual(torch_t5.bucket(5, False), 0)

    def test_pytorchs_gradients_are_central_differences_of_its_loss(self):
        for make, model in ((make_dump, torch_gpt), (make_t5_dump, torch_t5)):
            self.check_central_differences(make(), model)

    def check_central_differences(self, dump, model):
        _, gradients = check_dump.reference(dump)
        exact = {name: value.double() for name, value in dump["parameters"].items()}
        for name in exact:
            at = exact[name].numel() // 2
            flat = exact[name].view(-1)
            kept = flat[at].item()
            losses = []
            for moved in (kept + 1e-5, kept - 1e-5):
                flat[at] = moved
                losses.append(float(model.loss_of(exact, *dump["batch"].values(), HEADS)))
            flat[at] = kept
            self.assertAlmostEqual((losses[0] - losses[1]) / 2e-5, gradients[name].view(-1)[at].item(), delta=1e-7, msg=name)

    def test_a_gradient_that_is_off_is_named(self):
        for make in (make_dump, make_t5_dump):
            for name in make()["gradients"]:
                dump = make()
                dump["gradients"][name] *= 1.001
                self.assert_refused(dump, f"/gradients/{name} differs by 1.00e-03")

    def test_nan_and_zeroes_are_no_gradients(self):
        for value in (float("nan"), 0.0):
            dump = make_dump()
            dump["gradients"]["h.1.mlp.c_fc.bias"].fill_(value)
            self.assert_refused(dump, "/gradients/h.1.mlp.c_fc.bias differs")

    def test_another_loss_or_number_of_heads_is_refused(self):
        dump = make_dump()
        dump["loss"] *= 1.001
        self.assert_refused(dump, "^/loss differs by 1.00e-03")
        dump = make_dump()
        dump["heads"] = 4
        self.assert_refused(dump, "/gradients/h.0.attn.c_attn.weight differs")

    def test_a_transposed_weight_is_refused(self):
        dump = make_dump()
        for group in ("parameters", "gradients"):
            dump[group]["h.0.mlp.c_fc.weight"] = dump[group]["h.0.mlp.c_fc.weight"].t().contiguous()
        self.assert_refused(dump, r"/parameters/h.0.mlp.c_fc.weight has shape \(8, 32\), expected \(32, 8\)")

    def test_a_missing_or_surplus_tensor_is_refused(self):
        dump = make_dump()
        del dump["gradients"]["ln_f.bias"]
        self.assert_refused(dump, r"/gradients/ln_f.bias has shape none, expected \(8,\)")
        dump = make_dump()
        dump["parameters"]["h.0.attn.scale"] = torch.ones(1)
        self.assert_refused(dump, "/parameters/h.0.attn.scale has shape")

    def test_tokens_outside_the_vocabulary_are_refused(self):
        dump = make_dump()
        dump["batch"]["tokens"][1, 2] = SHAPE["vocabulary"]
        self.assert_refused(dump, "/batch/tokens holds 0 to 11")
        dump = make_t5_dump()
        dump["batch"]["targets"][1, 2] = -1
        self.assert_refused(dump, "/batch/targets holds -1 to 10")


if __name__ == "__main__":
    sys.exit(unittest.main())
