"""Tests of one workload with limiters and without, on records made of plain numbers."""

import tempfile
import unittest
from dataclasses import replace
from pathlib import Path

from records import record, sweep
from twinax_results import speedup, table
from twinax_results.load import Trial
from twinax_results.published import Published
from twinax_results.speedup_figure import limiter_speedup
from twinax_results.summary import SweepSummary
from twinax_results.sweep_figures import draw
from twinax_results.verdict import verdict_of

LIMITER, MEMORY = "fsdp.limiter", "emulate.memory"


def made(seconds: dict, published=(), retries: int = 0, stalled: float = 0.0, **changes) -> SweepSummary:
    """Six runs, all alike, of each (limiter, memory) with its seconds a step, on 2 ranks; without limiter and with little memory `retries` of
    all ranks and `stalled` seconds in every step."""
    records = []
    for (limiter, memory), step in seconds.items():
        for repeat in range(6):
            one = record({LIMITER: limiter, MEMORY: memory}, repeat, [step], environment={"ranks": 2, "accelerator": "a100", "dilation": 5.0})
            waits = limiter == "none" and memory
            one.steps["allocator_retries"] = one.steps["step"] * 0 + (retries if waits else 0)
            one.steps["allocator_stalled_seconds"] = one.steps["seconds"] * 0 + (stalled if waits else 0)
            records.append(one)
    axes = {LIMITER: list(dict.fromkeys(limiter for limiter, _ in seconds)), MEMORY: [True, False]}
    return SweepSummary(replace(sweep(axes, {LIMITER: "none"}, records), published=list(published), **changes))


BOTH = {("none", True): 3.0, ("window", True): 1.5, ("none", False): 1.0, ("window", False): 1.25}


class Speedups(unittest.TestCase):
    def test_each_combination_is_compared_with_itself_without_limiter(self):
        found = speedup.speedups_of(made(BOTH, retries=2, stalled=0.1))
        self.assertEqual([(one.limiter, one.where, one.ratio.value, one.ratio.low, one.ratio.high) for one in found],
                         [("window", "emulate.memory true", 2.0, 2.0, 2.0), ("window", "emulate.memory false", 0.8, 0.8, 0.8)])  # fmt: skip

    def test_published_rows_stand_beside_the_points_that_they_belong_to(self):
        rows = [Published("a", "A then", "a paper", {MEMORY: True}, speedup=2.23), Published("b", "B then", "a paper", {LIMITER: "block"}, speedup=3.05)]
        pressed, ample = speedup.speedups_of(made(BOTH, rows))
        self.assertEqual(([row.name for row in pressed.published], ample.published), (["a"], []))

    def test_a_note_says_what_a_retry_costs_in_both_clocks(self):
        # 12 retries of 2 ranks in a step, in which a rank stands still for 0.9 s.
        notes = speedup.notes_of(speedup.speedups_of(made(BOTH, [Published("a", "A then", "a paper", {MEMORY: True}, speedup=2.23)], 12, 0.9)))
        self.assertEqual(notes, [
            "Window limiter at emulate.memory true: 2.00 [2.00, 2.00] times as fast as without; published 2.23 (A then); without 6.0 retries a step, "
            "150 ms each (30.0 ms emulated); with it no retries.",
            "Window limiter at emulate.memory false: 0.80 [0.80, 0.80] times as fast as without; without no retries; with it no retries.",
            "Published: a paper.",
        ])  # fmt: skip

    def test_the_verdict_gives_the_range_and_what_was_published(self):
        sentence = verdict_of(made(BOTH, [Published("a", "A then", "a paper", {MEMORY: True}, speedup=2.23)]))
        self.assertEqual(sentence, "Emulated: with the window limiter a step is 0.80 [0.80, 0.80] (emulate.memory false) to 2.00 [2.00, 2.00] "
                                   "(emulate.memory true) times as fast as without, published 2.23 (A then).")  # fmt: skip

    def test_a_sweep_whose_batches_differ_has_none(self):
        self.assertEqual(speedup.speedups_of(made(BOTH, retries=2, stalled=0.1, fit="train.batch")), [])

    def test_a_window_that_nothing_was_published_of_and_no_retry_has_its_own_figure_already(self):
        self.assertEqual(speedup.speedups_of(made(BOTH)), [])

    def test_other_limiters_are_compared_too(self):
        found = speedup.speedups_of(made({("none", True): 3.0, ("block", True): 2.0, ("window", True): 1.5}))
        self.assertEqual([(one.limiter, round(one.ratio.value, 9)) for one in found], [("block", 1.5), ("window", 2.0)])

    def test_the_figure_is_drawn(self):
        summary = made(BOTH, [Published("a", "A then", "a paper", {MEMORY: True}, speedup=2.23)], 12, 0.9)
        with tempfile.TemporaryDirectory() as folder:
            drawn = limiter_speedup(summary, Path(folder), "limiter_speedup")
            self.assertIn("Published: a paper.", drawn.note)
            self.assertTrue(drawn.png.is_file() and drawn.svg.is_file())


class Refused(unittest.TestCase):
    """A point that its memory does not hold is a row with its reason."""

    def summary(self) -> SweepSummary:
        full = [record({"fsdp.strategy": "full"}, i, [1.0]) for i in range(6)]
        made = sweep({"fsdp.strategy": ["full", "replicate"]}, {"fsdp.strategy": "full"}, full)
        refused = {"fsdp.strategy": "replicate"}
        trials = [Trial(refused, -1, 0, "out of memory", "out of the memory budget of 8.0 MiB:\n  a rank keeps 16.0 MiB")]
        return SweepSummary(replace(made, points=[*made.points, refused], trials=trials))

    def test_it_has_a_row_and_a_reason(self):
        summary = self.summary()
        _, rows = table.rows_of(summary)
        self.assertEqual((rows[1][0], rows[1][1], "out of memory" in rows[1]), ("replicate", "0", True))
        self.assertIn("fsdp.strategy=replicate: out of memory: out of the memory budget of 8.0 MiB: a rank keeps 16.0 MiB.", table.notes_of(summary))

    def test_the_figures_are_of_the_others(self):
        with tempfile.TemporaryDirectory() as folder:
            self.assertIn("step_time", [figure.name for figure in draw(self.summary(), Path(folder))])


if __name__ == "__main__":
    unittest.main()
