"""Tests of a sweep's summary, table and sentence, on records made of plain numbers."""

import math
import unittest
from dataclasses import replace

from records import record, sweep
from twinax_results import table
from twinax_results.summary import SweepSummary, figures_of
from twinax_results.verdict import verdict_of

NETWORK, LIMITER, STRATEGY = "net.profile", "fsdp.limiter", "fsdp.strategy"
FAST, SLOW = {NETWORK: "infiniband-hdr"}, {NETWORK: "ethernet-25g"}


def two_networks(slow_seconds, fast_seconds=(1.0,) * 6, **changes) -> SweepSummary:
    """Runs of two networks, one a repeat; `changes` are of the slow one's records."""
    records = [record(FAST, i, [s]) for i, s in enumerate(fast_seconds)] + [record(SLOW, i, [s], **changes) for i, s in enumerate(slow_seconds)]
    return SweepSummary(sweep({NETWORK: ["infiniband-hdr", "ethernet-25g"]}, FAST, records))


class Figures(unittest.TestCase):
    def test_warm_up_steps_do_not_count(self):
        self.assertEqual(figures_of(record(seconds=[9.0, 2.0, 4.0], warmup_steps=1))["wall"], 3.0)

    def test_a_larger_model_stood_for_takes_as_many_times_longer(self):
        emulated = {"environment": {"dilation": 4.0, "model_factor": 5.0, "token_factor": 10.0}}
        figures = figures_of(record(seconds=[2.0], **emulated))
        self.assertEqual((figures["cluster"], figures["tokens_per_second"]), (2.5, 32.0))

    def test_the_clusters_clock_is_the_wall_clock_by_the_dilation(self):
        figures = figures_of(record(seconds=[2.0], environment={"dilation": 4.0}))
        self.assertEqual((figures["cluster"], figures["tokens_per_second"]), (0.5, 16.0))

    def test_the_parts_of_a_step_add_up(self):
        figures = figures_of(record(seconds=[8.0]))
        self.assertEqual([figures[part] for part in ("computing", "hidden", "exposed", "waiting")], [3.0, 1.0, 2.0, 2.0])

    def test_the_bound_ratio_is_of_each_step(self):
        self.assertAlmostEqual(figures_of(record(seconds=[1.0, 2.0, 3.0]))["bound_ratio"], 1 / 0.8)


class Ratios(unittest.TestCase):
    def test_slowdown_is_against_the_baselines_network(self):
        fast, slow = two_networks([2.0] * 6).points
        self.assertTrue(fast.is_reference)
        self.assertEqual((slow.slowdown.value, slow.slowdown.low, slow.slowdown.high), (2.0, 2.0, 2.0))

    def test_slowdown_compares_the_same_number_of_ranks(self):
        records = [record({**network, "ranks": n}, 0, [seconds], environment={"ranks": n})
                   for network, n, seconds in ((FAST, 1, 1.0), (FAST, 2, 3.0), (SLOW, 1, 1.0), (SLOW, 2, 6.0))]  # fmt: skip
        summary = SweepSummary(sweep({NETWORK: ["infiniband-hdr", "ethernet-25g"], "ranks": [1, 2]}, {**FAST, "ranks": 1}, records))
        self.assertEqual(summary.points[3].slowdown.value, 2.0)

    def test_efficiency_is_the_rate_of_a_rank_against_the_baselines(self):
        records = [record({"ranks": n}, 0, [seconds], tokens=8 * n, environment={"ranks": n}) for n, seconds in ((1, 1.0), (2, 1.25))]
        one, two = SweepSummary(sweep({"ranks": [1, 2]}, {"ranks": 1}, records)).points
        self.assertEqual((one.efficiency.value, two.efficiency.value), (1.0, 0.8))

    def test_without_ranks_in_the_baseline_efficiency_refers_to_the_fewest(self):
        records = [record({LIMITER: "window", "ranks": n}, 0, [seconds], environment={"ranks": n}) for n, seconds in ((1, 1.0), (2, 1.0))]
        one, two = SweepSummary(sweep({LIMITER: ["window"], "ranks": [1, 2]}, {LIMITER: "window"}, records)).points
        self.assertEqual((one.efficiency.value, two.efficiency.value), (1.0, 0.5))

    def test_strong_scaling_is_as_efficient_as_it_is_fast(self):
        records = [record({"ranks": n}, 0, [seconds], environment={"ranks": n}) for n, seconds in ((1, 1.0), (4, 0.5))]
        self.assertEqual(SweepSummary(sweep({"ranks": [1, 4]}, {"ranks": 1}, records)).points[1].efficiency.value, 0.5)

    def test_a_point_without_a_run_makes_no_scaling(self):
        records = [record({STRATEGY: "full"}, i, environment={"ranks": 2}) for i in range(6)]
        made = sweep({STRATEGY: ["full", "replicate"]}, {STRATEGY: "full"}, records)
        shared = SweepSummary(replace(made, points=[*made.points, {STRATEGY: "replicate"}]))
        self.assertFalse(shared.is_scaling)
        self.assertNotIn("efficiency", verdict_of(shared))

    def test_an_oversubscribed_point_gets_no_ratio(self):
        slow = two_networks([2.0] * 6, flags=("oversubscribed",)).points[1]
        self.assertEqual((slow.slowdown.runs, slow.efficiency.runs, slow.no_ratio), (0, 0, "oversubscribed"))

    def test_few_runs_are_said_to_be_too_few(self):
        slow = two_networks([2.0] * 5).points[1]
        self.assertFalse(slow.slowdown.has_interval)
        self.assertEqual(slow.notes, ["too few runs (5) for an interval"])

    def test_a_drift_over_five_percent_is_flagged(self):
        self.assertEqual(two_networks([2.0] * 6, dilation_drift=0.05).flags(), [])
        flags = two_networks([2.0] * 6, dilation_drift=-0.06).flags()
        self.assertEqual(flags, ["Flagged: the machine's rate drifted by more than 5% (at most -6%) in net.profile=ethernet-25g."])

    def test_a_bound_that_does_not_hold_is_flagged(self):
        records = [record(FAST, i, [1.0]) for i in range(6)]
        for made in records:
            made.steps["lower_bound_seconds"][:] = 1.25
        flags = SweepSummary(sweep({NETWORK: ["infiniband-hdr"]}, FAST, records)).flags()
        self.assertEqual(len(flags), 1)
        self.assertIn("the lower bound does not hold in all points", flags[0])

    def test_without_a_run_of_the_baseline_there_is_no_ratio(self):
        summary = SweepSummary(sweep({NETWORK: ["ethernet-25g"]}, FAST, [record(SLOW)]))
        self.assertTrue(math.isnan(summary.points[0].slowdown.value))
        self.assertIn("no verdict", verdict_of(summary))


class Verdict(unittest.TestCase):
    def test_a_network_within_five_percent_keeps_pace(self):
        self.assertIn("Ethernet 25G keeps pace with InfiniBand HDR, within 5% (a step takes 1.04 times as long", verdict_of(two_networks([1.04] * 6)))

    def test_an_interval_that_leaves_the_five_percent_settles_nothing(self):
        self.assertIn("whether Ethernet 25G is within 5% of InfiniBand HDR is not settled", verdict_of(two_networks([1.0, 1.1] * 3)))

    def test_a_slower_network_falls_behind_and_why(self):
        sentence = verdict_of(two_networks([1.5] * 6))
        self.assertIn("Ethernet 25G falls behind InfiniBand HDR: a step takes 1.50 times as long (95% interval 1.50 to 1.50), 25% of it", sentence)

    def test_too_few_runs_settle_nothing(self):
        self.assertIn("too few runs", verdict_of(two_networks([1.5] * 5)))

    def test_it_is_one_sentence_that_says_what_is_emulated(self):
        environment = {"network": "ethernet-25g", "accelerator": "a100", "dilation": 7.0}
        sentence = verdict_of(two_networks([1.5] * 6, environment=environment, stands_for="2 nodes with 1 a100 each"))
        self.assertNotIn("\n", sentence)
        self.assertTrue(sentence.endswith("."))
        self.assertTrue(verdict_of(two_networks([1.5] * 6)).startswith("Measured on the machine's own network"))
        self.assertTrue(sentence.startswith("Emulated"))

    def test_the_limiter_is_judged_by_time_and_memory(self):
        records = [record({**FAST, LIMITER: limiter}, i, [1.0], in_flight_bytes=held) for i in range(6) for limiter, held in (("window", 1 << 10), ("none", 1 << 13))]
        records += [record({**SLOW, LIMITER: "window"}, i, [2.0]) for i in range(6)]
        axes = {NETWORK: ["infiniband-hdr", "ethernet-25g"], LIMITER: ["window", "none"]}
        sentence = verdict_of(SweepSummary(sweep(axes, {**FAST, LIMITER: "window"}, records)))
        self.assertIn("the limiter costs no time on InfiniBand HDR (within 5%) and holds the memory in flight at 1.00 KiB instead of 8.00 KiB", sentence)


    def test_a_limiter_whose_cost_is_unclear_is_not_judged(self):
        times = {"window": [1.0, 1.2, 1.0, 1.2, 1.0, 1.2], "none": [1.2, 1.0, 1.2, 1.0, 1.2, 1.0]}
        records = [record({**FAST, LIMITER: limiter}, i, [times[limiter][i]]) for i in range(6) for limiter in times]
        records += [record({**SLOW, LIMITER: "window"}, i, [2.0]) for i in range(6)]
        axes = {NETWORK: ["infiniband-hdr", "ethernet-25g"], LIMITER: ["window", "none"]}
        sentence = verdict_of(SweepSummary(sweep(axes, {**FAST, LIMITER: "window"}, records)))
        self.assertIn("whether the limiter costs time is not settled", sentence)


class Table(unittest.TestCase):
    def test_columns_are_aligned(self):
        lines = table.aligned(["name", "number"], [["a", "1"], ["long name", "100"]]).splitlines()
        self.assertEqual(lines, ["name       number", "---------  ------", "a               1", "long name     100"])

    def test_a_model_stood_for_is_said_to_be_larger(self):
        emulated = {"parameters": 1000, "environment": {"accelerator": "a100", "model_factor": 5000.0}}
        summary = SweepSummary(sweep({NETWORK: ["infiniband-hdr"]}, FAST, [record(FAST, **emulated)]))
        self.assertIn("1000 parameters; a step of the one stood for takes 5000 times as long", " ".join(table.notes_of(summary)))


if __name__ == "__main__":
    unittest.main()
