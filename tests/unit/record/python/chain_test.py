"""Tests of the chain from memory to speed, and of where published figures fall, on records made of plain numbers."""

import math
import tempfile
import unittest
from dataclasses import replace
from pathlib import Path

from records import record, sweep
from twinax_results import chain, chain_figure, words
from twinax_results.load import Trial
from twinax_results.published import Published, meeting, regions_of, side_of
from twinax_results.statistics import Estimate
from twinax_results.summary import SweepSummary
from twinax_results.verdict import verdict_of

LIMITER, RATE = "fsdp.limiter", "net.usable_rate"
RATES = ("120Gbit/s", "60Gbit/s", "30Gbit/s")
BATCHES = {"none": 8, "window": 20}
# Seconds a sample on two ranks at each rate; on one rank a sample takes a tenth of a second.
PER_SAMPLE = {"none": (0.2, 0.4, 0.8), "window": (0.1, 0.125, 0.25)}


def exact(value: float) -> Estimate:
    return Estimate(value, value, value, 6)


def row(limiter: str, efficiency: float, **changes) -> Published:
    return Published(limiter, f"{limiter} then", "a page", {LIMITER: limiter}, efficiency, **changes)


def made(published=(), trials=(), retries=0, stalled=0.0) -> SweepSummary:
    """Six runs of each point, all alike; `retries` of all ranks and `stalled` seconds in every step without limiter."""
    records = []
    for ranks in (1, 2):
        for limiter, batch in BATCHES.items():
            for rate, seconds in zip(RATES, PER_SAMPLE[limiter], strict=True):
                if ranks == 1 and rate != RATES[0]:
                    continue  # one rank uses no network
                point = {"ranks": ranks, LIMITER: limiter, RATE: rate}
                for repeat in range(6):
                    step = batch * (0.1 if ranks == 1 else seconds)
                    one = record(point, repeat, [step], tokens=batch * ranks, environment={"ranks": ranks, "accelerator": "a100", "dilation": 4.0})
                    waits = limiter == "none" and ranks == 2
                    one.steps["allocator_retries"] = one.steps["step"] * 0 + (retries if waits else 0)
                    one.steps["allocator_stalled_seconds"] = one.steps["seconds"] * 0 + (stalled if waits else 0)
                    records.append(one)
    fits = [Trial(one.point, BATCHES[one.point[LIMITER]], 0, "fits") for one in records if one.repeat == 0]
    axes = {"ranks": [1, 2], LIMITER: list(BATCHES), RATE: list(RATES)}
    return SweepSummary(replace(sweep(axes, {"ranks": 1}, records), fit="train.batch", trials=[*fits, *trials], published=list(published)))


class Regions(unittest.TestCase):
    def test_a_line_without_width_is_passed_at_a_point(self):
        curve = [(10.0, exact(0.2)), (20.0, exact(0.6))]
        ((low, high),) = regions_of(curve, 0.3, is_log=False)
        self.assertAlmostEqual(low, 12.5)
        self.assertAlmostEqual(high, 12.5)

    def test_a_logarithmic_axis_is_interpolated_in_the_logarithm(self):
        ((low, _),) = regions_of([(10.0, exact(0.0)), (1000.0, exact(1.0))], 0.5, is_log=True)
        self.assertAlmostEqual(low, 100.0)

    def test_an_interval_makes_a_region(self):
        curve = [(0.0, Estimate(0.5, 0.4, 0.6, 6)), (10.0, Estimate(1.5, 1.4, 1.6, 6))]
        ((low, high),) = regions_of(curve, 1.0, is_log=False)
        self.assertAlmostEqual(low, 4.0)  # where the upper line passes
        self.assertAlmostEqual(high, 6.0)

    def test_regions_of_neighbouring_segments_are_one(self):
        curve = [(0.0, Estimate(0.0, -0.1, 0.1, 6)), (1.0, Estimate(1.0, 0.9, 1.1, 6)), (2.0, Estimate(2.0, 1.9, 2.1, 6))]
        ((low, high),) = regions_of(curve, 1.0, is_log=False)
        self.assertAlmostEqual(low, 0.9)
        self.assertAlmostEqual(high, 1.1)

    def test_a_line_that_turns_is_passed_twice(self):
        found = regions_of([(0.0, exact(0.0)), (1.0, exact(1.0)), (2.0, exact(0.0))], 0.5, is_log=False)
        self.assertEqual(found, [(0.5, 0.5), (1.5, 1.5)])

    def test_what_lies_beyond_all_measured_falls_nowhere(self):
        curve = [(1.0, Estimate(0.5, 0.4, 0.6, 6)), (2.0, Estimate(0.7, 0.65, 0.75, 6))]
        self.assertEqual((regions_of(curve, 0.76, False), side_of(curve, 0.76)), ([], "above"))
        self.assertEqual((regions_of(curve, 0.39, False), side_of(curve, 0.39)), ([], "below"))

    def test_the_most_rows_that_share_a_value_are_found(self):
        self.assertEqual(meeting([[(1, 3)], [(2, 5)], [(8, 9)]]), ([0, 1], (2, 3)))
        self.assertEqual(meeting([[(1, 3)], [(2, 5), (8, 9)], [(2.5, 4)]]), ([0, 1, 2], (2.5, 3)))
        self.assertEqual(meeting([[], []]), ([], None))


class Quantities(unittest.TestCase):
    def test_values_have_the_unit_of_the_first(self):
        self.assertEqual(words.quantities(["120Gbit/s", "500Mbit/s"]), ([120.0, 0.5], "Gbit/s"))
        self.assertEqual(words.quantities(["0us", "2ms"]), ([0.0, 2000.0], "us"))
        self.assertEqual(words.quantities([1, 2.5]), ([1.0, 2.5], ""))

    def test_what_is_no_quantity_is_none(self):
        for values in (["none", "a"], [True, False], ["1us", "1B"], ["4k"], ["5parsec"], []):
            self.assertIsNone(words.quantities(values), values)


class TheChain(unittest.TestCase):
    def test_efficiency_is_seconds_a_sample_on_one_rank_over_those_on_many(self):
        lines = {line.limiter: [(x, round(y.value, 9)) for x, y in line.curve] for line in chain.chain_of(made()).lines}
        self.assertEqual(lines, {"none": [(30.0, 0.125), (60.0, 0.25), (120.0, 0.5)], "window": [(30.0, 0.4), (60.0, 0.8), (120.0, 1.0)]})

    def test_there_is_none_without_a_fit_or_an_axis_of_quantities(self):
        summary = made()
        self.assertIsNone(chain.chain_of(SweepSummary(replace(summary.sweep, fit=""))))
        named = {"ranks": ["1", "2"], LIMITER: list(BATCHES), RATE: ["a", "b", "c"]}
        self.assertIsNone(chain.chain_of(SweepSummary(replace(summary.sweep, axes=named))))

    def test_one_rate_may_explain_all_rows(self):
        text = chain.chain_of(made([row("none", 0.25), row("window", 0.8)])).conclusion()
        self.assertIn("one net.usable_rate explains all 2 published rows, 60 Gbit/s: none then (25%) falls at 60 Gbit/s", text)

    def test_rows_that_no_one_rate_explains_are_said_to_be_so(self):
        text = chain.chain_of(made([row("none", 0.125), row("window", 1.0)])).conclusion()
        self.assertIn("no one net.usable_rate explains all 2 published rows: none then (12%) falls at 30 Gbit/s; window then (100%) falls at 120 Gbit/s", text)

    def test_of_three_rows_the_two_that_agree_are_named(self):
        text = chain.chain_of(made([row("none", 0.25), row("window", 0.8), row("none", 0.1)])).conclusion()
        self.assertIn("none then (10%) lies below all measured (12% at least)", text)
        self.assertIn("none then and window then agree at 60 Gbit/s, none then does not", text)

    def test_batches_stand_beside_the_published_ones(self):
        text = chain.batch_sentence(chain.chain_of(made([row("none", 0.2, batch=20), row("window", 0.9, batch=50)])))
        self.assertIn("no limiter 8 (published 20), window limiter 20 (2.50 times; published 50, 2.50 times)", text)

    def test_the_verdict_says_what_fits_and_what_is_explained(self):
        sentence = verdict_of(made([row("none", 0.125), row("window", 1.0)]))
        self.assertTrue(sentence.startswith("Emulated: the largest train.batch a rank without retries on 2 ranks: no limiter 8, window limiter 20"), sentence)
        self.assertIn("no one net.usable_rate explains all 2 published rows", sentence)


class Retries(unittest.TestCase):
    def test_a_retry_costs_what_a_rank_stood_still_for_it(self):
        # Each of 2 ranks waits twice in a step, in all for half a second.
        notes = " ".join(chain.notes_of(chain.chain_of(made(retries=4, stalled=0.5))))
        self.assertIn("A retry stops a rank for 250 ms by the wall clock here (62.5 ms emulated)", notes)

    def test_the_retries_that_would_explain_a_lower_row_are_counted(self):
        # Without limiter a step takes 1.6, 3.2 and 6.4 s; to fall from 50% and 25% to 20% it takes 1.5 and 0.25 times as long again.
        notes = " ".join(chain.notes_of(chain.chain_of(made([row("none", 0.2)], retries=2, stalled=0.1))))
        self.assertIn("above its published 20% at 60 Gbit/s and 120 Gbit/s: 8.0 to 24 retries a step and rank at that cost", notes)

    def test_without_a_measured_cost_the_time_is_said(self):
        notes = " ".join(chain.notes_of(chain.chain_of(made([row("none", 0.2)]))))
        self.assertIn("0.20 to 0.60 s a step (emulated) of standing still; no run had a retry", notes)

    def test_trials_tell_the_cost_as_well(self):
        point = {"ranks": 2, LIMITER: "none", RATE: "30Gbit/s"}
        summary = made(trials=[Trial(point, 9, 4, "retries", stalled_seconds=0.6)])
        self.assertAlmostEqual(chain.chain_of(summary).retry_seconds.value, 0.3)
        self.assertTrue(math.isnan(chain.chain_of(made(trials=[Trial(point, 9, 4, "retries")])).retry_seconds.value))


class TheFigure(unittest.TestCase):
    def test_it_says_what_it_shows(self):
        with tempfile.TemporaryDirectory() as folder:
            drawn = chain_figure.chain(made([row("none", 0.25, batch=20), row("window", 0.8, batch=50)]), Path(folder), "chain")
            self.assertIn("One net.usable_rate explains all 2 published rows", drawn.note)
            self.assertTrue(drawn.png.is_file() and drawn.svg.is_file())


if __name__ == "__main__":
    unittest.main()
