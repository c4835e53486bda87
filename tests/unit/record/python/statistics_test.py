"""Tests of intervals and ratios against enumerations and published values."""

import itertools
import math
import unittest

import records  # noqa: F401  (skips all tests where packages are missing)
import numpy
from twinax_results.statistics import median_interval, order_statistics, ratio_of_medians


def coverage(runs: int, k: int) -> float:
    """How often the k-th smallest and k-th largest of `runs` values enclose the median: every pattern of values above and below it."""
    enclosing = sum(k <= sum(pattern) <= runs - k for pattern in itertools.product((0, 1), repeat=runs))
    return enclosing / 2**runs


class OrderStatistics(unittest.TestCase):
    def test_five_runs_enclose_nothing(self):
        self.assertLess(coverage(5, 1), 0.95)
        self.assertIsNone(order_statistics(5))

    def test_six_runs_give_smallest_and_largest(self):
        self.assertEqual(order_statistics(6), (1, 6))

    def test_ten_runs_give_second_and_ninth(self):
        self.assertEqual(order_statistics(10), (2, 9))

    def test_the_interval_covers_95_percent_and_the_next_narrower_does_not(self):
        for runs in range(6, 17):
            low, high = order_statistics(runs)
            self.assertEqual(low + high, runs + 1)
            self.assertGreaterEqual(coverage(runs, low), 0.95)
            self.assertLess(coverage(runs, low + 1), 0.95)


class MedianInterval(unittest.TestCase):
    def test_six_values(self):
        estimate = median_interval([5.0, 1.0, 4.0, 2.0, 6.0, 3.0])
        self.assertEqual((estimate.value, estimate.low, estimate.high, estimate.runs), (3.5, 1.0, 6.0, 6))

    def test_ten_values(self):
        estimate = median_interval([float(value) for value in range(10, 0, -1)])
        self.assertEqual((estimate.value, estimate.low, estimate.high), (5.5, 2.0, 9.0))

    def test_too_few_values_have_a_median_and_no_interval(self):
        estimate = median_interval([3.0, 1.0, 2.0])
        self.assertEqual((estimate.value, estimate.has_interval), (2.0, False))

    def test_unknown_values_do_not_count(self):
        self.assertEqual(median_interval([math.nan, 2.0]).runs, 1)
        self.assertTrue(math.isnan(median_interval([]).value))


class RatioOfMedians(unittest.TestCase):
    def test_what_slows_both_runs_of_a_pair_cancels(self):
        below = {repeat: 1.0 + repeat for repeat in range(6)}
        estimate = ratio_of_medians({repeat: 1.5 * value for repeat, value in below.items()}, below)
        self.assertEqual((estimate.value, estimate.low, estimate.high), (1.5, 1.5, 1.5))

    def test_the_interval_is_that_of_all_ways_to_draw_the_pairs(self):
        above = dict(enumerate([2.0, 2.3, 1.9, 2.6, 2.2, 2.1]))
        below = dict(enumerate([1.0, 1.1, 1.2, 1.0, 0.9, 1.3]))
        ratios = []
        for drawn in itertools.product(range(6), repeat=6):
            over, under = sorted(above[i] for i in drawn), sorted(below[i] for i in drawn)
            ratios.append((over[2] + over[3]) / (under[2] + under[3]))
        low, high = numpy.quantile(ratios, [0.025, 0.975])
        estimate = ratio_of_medians(above, below)
        self.assertAlmostEqual(estimate.value, (2.1 + 2.2) / (1.0 + 1.1))
        self.assertAlmostEqual(estimate.low, low, delta=0.03)
        self.assertAlmostEqual(estimate.high, high, delta=0.03)

    def test_the_same_draws_each_time(self):
        above, below = dict(enumerate([3.0, 1.0, 2.0, 5.0, 4.0, 6.0])), dict(enumerate([1.0, 2.0, 1.5, 1.2, 1.1, 1.9]))
        self.assertEqual(ratio_of_medians(above, below), ratio_of_medians(above, below))

    def test_only_repeats_that_both_have_are_compared(self):
        estimate = ratio_of_medians({0: 2.0, 1: 4.0, 7: 1000.0}, {0: 1.0, 1: 2.0, 3: 1000.0})
        self.assertEqual((estimate.value, estimate.runs, estimate.has_interval), (2.0, 2, False))

    def test_no_repeat_in_common_is_no_ratio(self):
        self.assertEqual(ratio_of_medians({0: 1.0}, {1: 1.0}).runs, 0)


if __name__ == "__main__":
    unittest.main()
