"""A T5 on a text of the user's: bytes and a trained vocabulary, bits a byte, the record's utilizations, and what can go wrong."""
import unittest

import h5py
import numpy as np

from command import BINARY, CommandTest, run

T5 = {"model__kind": "t5", "model__layers": 1, "model__decoder_layers": 2, "model__d_kv": 12, "model__d_ff": 96, "train__global_batch": 6}


class T5Command(CommandTest):
    def prepare(self, *arguments):
        return run([BINARY, "data", "prepare", self.text, *arguments])

    def record_of(self, **options):
        path = self.folder / "run.h5"
        result = self.train(record__path=path, **{**T5, **options})
        self.assertEqual(result.code, 0, result.err)
        return path, result

    def test_any_number_of_ranks_has_the_losses_of_one(self):
        losses = []
        for ranks, options in ((1, {}), (3, {}), (2, {"fsdp__strategy": "replicate", "train__batch": 2}),
                               (2, {"transport": "mpi", "fsdp__limiter": "none", "fsdp__prefetch": 2})):
            path, _ = self.record_of(ranks=ranks, **options)
            with h5py.File(path) as file:
                losses.append(file["steps/loss"][:])
                # 64 inputs at most: of 70 bytes of text 11 are hidden in 4 spans, which makes 16 targets.
                self.assertEqual(set(file["steps/tokens"][:]), {6 * 16})
        for other in losses[1:]:
            np.testing.assert_allclose(other, losses[0], rtol=1e-5)
        self.assertLess(losses[0][-1], losses[0][0])

    def test_bits_a_byte_are_over_the_hidden_bytes(self):
        path, result = self.record_of(train__evaluate_every=20, train__evaluate_sequences=10)
        with h5py.File(path) as file:
            # 10 rows of 16 targets stand for 11 hidden bytes each.
            expected = file["evaluation/loss"][-1] / np.log(2) * 16 / 11
            self.assertAlmostEqual(file["evaluation/bits_per_byte"][-1], expected, places=9)
        self.assertRegex(result.out, f"bits a token, {expected:.4f} a byte")

    def test_a_vocabulary_is_trained_before_it_is_used(self):
        result = self.train(data__tokenizer="sentencepiece", **T5)
        self.assert_refused(result, "data.tokenizer = sentencepiece", f"twinax data prepare {self.text} --tokenizer sentencepiece")
        result = self.prepare("--tokenizer", "sentencepiece", "--vocabulary", 400)
        self.assertEqual(result.code, 0, result.err)
        self.assertRegex(result.out, "a vocabulary trained on .*text.txt\n.* tokens of .*sentencepiece, [0-9]+ in all")
        for kind in ({}, T5):
            path = self.folder / "pieces.h5"
            result = self.train(2, data__tokenizer="sentencepiece", train__evaluate_every=20, record__path=path, **kind)
            self.assertEqual(result.code, 0, result.err)
            with h5py.File(path) as file:  # a piece stands for more than a byte here
                self.assertLess(file["evaluation/bits_per_byte"][-1], file["evaluation/loss"][-1] / np.log(2) * (16 / 11 if kind else 1))

    def test_the_record_has_utilizations_of_the_emulated_cluster(self):
        path, _ = self.record_of(emulate__accelerator="a100")
        with h5py.File(path) as file:
            steps, dilation = file["steps"], file["environment"].attrs["dilation"]
            np.testing.assert_allclose(steps["flops_per_second"][:], steps["flops"][:] / steps["seconds"][:])
            np.testing.assert_allclose(steps["model_flops_utilization"][:], steps["flops_per_second"][:] * dilation / 312e12)
            np.testing.assert_array_less(steps["hardware_flops_utilization"][:], 1)
            np.testing.assert_allclose(steps["hardware_flops"][:], steps["flops"][:])
        path, _ = self.record_of()
        with h5py.File(path) as file:
            self.assertTrue(np.isnan(file["steps/model_flops_utilization"][:]).all())

    def test_a_shape_comes_from_the_catalog(self):
        result = run([BINARY, "config", "--set", "model.name=t5-11b", "--set", "model.layers=2"])
        self.assertEqual(result.code, 0, result.err)
        for line in ('kind = "t5"', "layers = 2", "decoder_layers = 24", "d_ff = 10240", "vocabulary = 32128"):
            self.assertIn(f"\n{line}\n", result.out)
        self.assert_refused(self.train(model__name="t5-11"), "model.name = t5-11", "did you mean t5-11b?")

    def test_shapes_that_can_not_be_are_refused(self):
        self.assert_refused(self.train(**{**T5, "model__context": 2}), "model.context = 2", "needs 3 at least")
        self.assert_refused(self.train(**{**T5, "model__vocabulary": 262}), "model.vocabulary = 262", "needs 263")


if __name__ == "__main__":
    unittest.main()
