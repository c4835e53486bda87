"""The bytes that a step brings into each node are those of the closed forms, to the last byte."""
import unittest
from fractions import Fraction

import h5py

from command import SMALL, CommandTest

FP32 = 4
LAYERS, WIDTH, CONTEXT, VOCABULARY = SMALL["model.layers"], 128, SMALL["model.context"], 256
BLOCK = 12 * WIDTH * WIDTH + 13 * WIDTH  # parameters: four matrices of 3, 1, 4 and 4 squares of the width, their biases, two norms
ROOT = (VOCABULARY + CONTEXT) * WIDTH + 2 * WIDTH  # both embeddings, of which the head has one too, and the last norm
ALIGNMENT = 16  # elements, of a shard
STEPS = 1


def per_step(strategy):
    """Bytes that are gathered and that are summed in a step, where a sum of all on all counts twice.

    Each block is gathered for forward and again for backward, the last one once since they follow each other; the root once.
    """
    if strategy == "replicate":
        return 0, 2 * FP32 * (LAYERS * BLOCK + ROOT)
    return FP32 * ((2 * LAYERS - 1) * BLOCK + ROOT), FP32 * (LAYERS * BLOCK + ROOT)


class Traffic(CommandTest):
    def into_nodes(self, ranks, ranks_per_node, strategy, algorithm):
        """(parameters, gradients) that came into each node from others, a step."""
        record = self.folder / "run.h5"
        result = self.train(ranks, record__path=record, fsdp__strategy=strategy, collective__algorithm=algorithm, train__steps=STEPS,
                            model__width=WIDTH, net__ranks_per_node=ranks_per_node)
        self.assertEqual(result.code, 0, result.err)
        with h5py.File(record) as file:
            self.assertEqual(file.attrs["parameters"], LAYERS * BLOCK + ROOT)
            purposes = [name.decode() for name in file["links/purpose"][:]]
            sent = file["links/bytes"][:]  # from, to, purpose
        return [tuple(sum(int(sent[a, b, purposes.index(purpose)]) for a in range(ranks) for b in range(ranks)
                          if a // ranks_per_node != node and b // ranks_per_node == node) / STEPS for purpose in ("parameters", "gradients"))
                for node in range(ranks // ranks_per_node)]

    def check(self, ranks, ranks_per_node, strategy, algorithm):
        nodes = ranks // ranks_per_node
        self.assertEqual((BLOCK % (ALIGNMENT * ranks), ROOT % (ALIGNMENT * ranks)), (0, 0), "no padding")
        share = Fraction(nodes - 1, nodes) if algorithm == "hierarchical" else Fraction(ranks - 1, ranks)
        gathered, summed = per_step(strategy)
        for node, got in enumerate(self.into_nodes(ranks, ranks_per_node, strategy, algorithm)):
            with self.subTest(ranks=ranks, ranks_per_node=ranks_per_node, strategy=strategy, algorithm=algorithm, node=node):
                self.assertEqual(got, (gathered * share, summed * share))

    def test_flat(self):
        for ranks, ranks_per_node in ((2, 1), (4, 1), (4, 2), (8, 4)):
            for strategy in ("full", "replicate"):
                self.check(ranks, ranks_per_node, strategy, "ring")

    def test_hierarchical(self):
        for ranks, ranks_per_node in ((4, 2), (8, 4), (8, 2)):
            for strategy in ("full", "replicate"):
                self.check(ranks, ranks_per_node, strategy, "hierarchical")


if __name__ == "__main__":
    unittest.main()
