"""Tests of a step's timeline: its events, its curves, its trace and its drawing."""

import json
import re
import tempfile
import unittest
import xml.etree.ElementTree
from pathlib import Path

from records import record

import numpy
from twinax_results import timeline_page
from twinax_results.timeline import kind_of, steps_of, timeline_of, write_trace

FLIGHT = ("taken_seconds", "memory_taken_bytes", "memory_given_bytes", "gather_credits_taken", "gather_credits_given", "reduction_credits_taken",
          "reduction_credits_given")  # fmt: skip


def columns(*events: dict) -> dict:
    """The columns of /timeline from events, of which each says what differs from the default."""
    default = {"rank": 0, "lane": "compute", "op": "forward h.0", "kind": "forward", "unit": 1, "step": 4, "begin_seconds": 0.0, "end_seconds": 0.0, "bytes": 0}
    default |= dict.fromkeys(FLIGHT, 0)
    return {name: numpy.array([{**default, **event}[name] for event in events]) for name in default}


def two_gathers(rank: int = 0) -> list[dict]:
    """Gathers at 10 and 13, of which the first is released by a forward from 12 to 14, the second by none."""
    gather = {"rank": rank, "lane": "collective", "kind": "gather", "gather_credits_taken": 1, "memory_taken_bytes": 100, "bytes": 50}
    return [
        {**gather, "op": "gather h.0", "taken_seconds": 10.0, "begin_seconds": 10.0, "end_seconds": 12.0},
        {**gather, "op": "gather h.1", "taken_seconds": 11.0, "begin_seconds": 13.0, "end_seconds": 16.0},
        {"rank": rank, "taken_seconds": 10.5, "begin_seconds": 12.0, "end_seconds": 14.0, "gather_credits_given": 1, "memory_given_bytes": 100},
    ]


class Timeline(unittest.TestCase):
    def test_times_are_since_the_step_began(self):
        timeline = timeline_of(record(timeline=columns(*two_gathers())))
        self.assertEqual([(event.begin, event.end) for event in timeline.events], [(0, 2), (3, 6), (2, 4)])
        self.assertEqual(timeline.duration, 6)

    def test_a_curve_rises_when_memory_is_taken_and_falls_when_its_last_user_ends(self):
        curve = timeline_of(record(timeline=columns(*two_gathers()))).curve(0, "memory")
        self.assertEqual(list(zip(curve.times, curve.values)), [(0, 100), (0.5, 100), (1, 200), (2, 200), (4, 100), (6, 100)])

    def test_curves_count_each_pool_and_each_rank_by_itself(self):
        timeline = timeline_of(record(timeline=columns(*two_gathers(0), *two_gathers(1)[:1])))
        self.assertEqual(max(timeline.curve(0, "gather_credits").values), 2)
        self.assertEqual(max(timeline.curve(1, "gather_credits").values), 1)
        self.assertEqual(max(timeline.curve(0, "reduction_credits").values), 0)

    def test_a_limit_is_drawn_where_the_limiter_bounds_the_units_of_both_pools(self):
        for limiter in ("window", "block", "pingpong"):
            self.assertEqual(timeline_page.limit_of({"limiter": limiter, "limit": 3, "strategy": "full"}), 3)
            self.assertEqual(timeline_page.limit_of({"limiter": limiter, "limit": 3, "strategy": "keep"}), 0, "units are kept as they come")
            self.assertEqual(timeline_page.limit_of({"limiter": limiter, "limit": 3, "accumulate": "local"}), 0, "gradients are kept as they come")
        for limiter in ("none", "bytes"):
            self.assertEqual(timeline_page.limit_of({"limiter": limiter, "limit": 3}), 0)
        self.assertEqual(timeline_page.limit_of({}), 0, "an earlier record")

    def test_the_last_kept_step_is_shown_unless_another_is_named(self):
        kept = record(timeline=columns({"step": 7, "end_seconds": 1.0}, {"step": 8, "end_seconds": 2.0}))
        self.assertEqual(steps_of(kept), [7, 8])
        self.assertEqual(timeline_of(kept).step, 8)
        self.assertEqual(timeline_of(kept, 7).duration, 1)
        self.assertIsNone(timeline_of(kept, 6))

    def test_a_record_without_events_has_none(self):
        self.assertIsNone(timeline_of(record()))
        self.assertIsNone(timeline_of(record(timeline=columns())))

    def test_a_record_that_does_not_say_what_was_taken_has_events_but_no_curves(self):
        old = {name: values for name, values in columns(*two_gathers()).items() if name not in (*FLIGHT, "kind")}
        timeline = timeline_of(record(timeline=old))
        self.assertFalse(timeline.has_flight)
        self.assertEqual([event.kind for event in timeline.events], ["gather", "gather", "forward"])
        self.assertNotIn("<path", timeline_page.svg(timeline))

    def test_kinds_are_known_by_the_names_of_operations(self):
        self.assertEqual([kind_of(op) for op in ("gather h.3", "reduce root", "norm", "total", "optimize h.1", "all to all")],
                         ["gather", "reduce", "optimize", "exchange", "optimize", "exchange"])  # fmt: skip


class Trace(unittest.TestCase):
    def test_has_a_process_a_rank_a_thread_a_lane_and_microseconds(self):
        timeline = timeline_of(record(timeline=columns(*two_gathers())))
        with tempfile.TemporaryDirectory() as folder:
            write_trace(timeline, Path(folder) / "run.trace.json")
            trace = json.loads((Path(folder) / "run.trace.json").read_text())
            self.assertEqual([path.name for path in Path(folder).iterdir()], ["run.trace.json"])
        spans = [event for event in trace["traceEvents"] if event["ph"] == "X"]
        self.assertEqual([(span["name"], span["tid"], span["ts"], span["dur"]) for span in spans],
                         [("gather h.0", 1, 0, 2e6), ("gather h.1", 1, 3e6, 3e6), ("forward h.0", 0, 2e6, 2e6)])  # fmt: skip
        self.assertEqual(spans[0]["args"], {"unit": 1, "step": 4, "bytes": 50})
        names = {event["args"]["name"] for event in trace["traceEvents"] if event["ph"] == "M"}
        self.assertEqual(names, {"rank 0", "compute", "collective"})
        memory = [(event["ts"], event["args"]["value"]) for event in trace["traceEvents"] if event["ph"] == "C" and event["name"].startswith("memory")]
        self.assertEqual(max(value for _, value in memory), 200)


class Drawing(unittest.TestCase):
    def svg(self, made) -> xml.etree.ElementTree.Element:
        return xml.etree.ElementTree.fromstring(timeline_page.svg(timeline_of(made)))

    def bars(self, svg) -> list:
        return svg.findall("{*}rect[@class='op']")

    def test_a_bar_lies_where_its_operation_ran_and_says_what_it_is(self):
        bars = self.bars(self.svg(record(timeline=columns(*two_gathers()))))
        places = [(float(bar.get("x")), float(bar.get("width"))) for bar in bars]
        second = timeline_page.PLOT / 6
        expected = [(2, 2), (0, 2), (3, 3)]  # the compute lane's row is the first
        for (x, width), (begin, length) in zip(places, expected, strict=True):
            self.assertAlmostEqual(x, timeline_page.LEFT + begin * second, delta=0.01)
            self.assertAlmostEqual(width, length * second, delta=0.01)
        titles = [bar.find("{*}title").text for bar in bars]
        self.assertEqual(titles[1], "gather h.0 (unit 1)\nrank 0, collective lane, gather\n0.000 to 2.000 s: 2.00 s\nreceives 50.0 B\ntakes 100 B")

    def test_both_clocks_are_labelled_if_the_run_was_emulated(self):
        environment = {"network": "ethernet-25g", "dilation": 3.0}
        emulated = timeline_of(record(timeline=columns(*two_gathers()), environment=environment))
        self.assertIn("emulated [s]", timeline_page.svg(emulated))
        self.assertIn("wall clock [s]", timeline_page.svg(emulated))
        self.assertIn("0.000 to 0.667 s: 0.667 s emulated", timeline_page.svg(emulated))
        plain = timeline_page.svg(timeline_of(record(timeline=columns(*two_gathers()))))
        self.assertNotIn("emulated", plain)

    def test_eight_ranks_are_shown_and_the_others_named(self):
        events = [event for rank in range(10) for event in two_gathers(rank)]
        timeline = timeline_of(record(timeline=columns(*events)))
        self.assertEqual(len(re.findall(r">rank \d+<", timeline_page.svg(timeline))), 8)
        self.assertIn("2 of 10 ranks are in the trace only", timeline_page.note(timeline))

    def test_names_are_text_and_not_markup(self):
        events = two_gathers()
        events[0]["op"] = 'gather <b>&"x"'
        titles = [bar.find("{*}title").text for bar in self.bars(self.svg(record(timeline=columns(*events))))]
        self.assertTrue(titles[1].startswith('gather <b>&"x" (unit 1)'))

    def test_ticks_are_round_and_few(self):
        self.assertEqual(timeline_page.ticks(10), [0, 2, 4, 6, 8, 10])
        for most in (0.0042, 0.011, 0.9, 1.0, 37.0, 99.0, 1e-7, 1e6):
            self.assertIn(len(timeline_page.ticks(most)), range(4, 10))


if __name__ == "__main__":
    unittest.main()
