"""Tests of the whole report, as `twinax report` calls it."""

import os
import re
import subprocess
import sys
import unittest
import xml.etree.ElementTree
from pathlib import Path

from records import WrittenCase


class Report(WrittenCase):
    def report(self, *files, expect: int = 0) -> subprocess.CompletedProcess:
        self.out = self.folder / "out"
        command = [sys.executable, "-m", "twinax_results", "report", *map(str, files), "-o", str(self.out)]
        done = subprocess.run(command, capture_output=True, text=True, env=os.environ)
        self.assertEqual(done.returncode, expect, done.stderr)
        return done

    def figures(self) -> set[str]:
        """The figures' names; each is a PNG and an SVG that is well-formed."""
        names = {path.stem for path in self.out.glob("*.png")}
        self.assertEqual(names, {path.stem for path in self.out.glob("*.svg")})
        for name in names:
            self.assertEqual((self.out / f"{name}.png").read_bytes()[:8], b"\x89PNG\r\n\x1a\n")
            self.assertTrue(xml.etree.ElementTree.parse(self.out / f"{name}.svg").getroot().tag.endswith("svg"))
        return names

    def page(self) -> str:
        """The page's text; it needs nothing beside it."""
        text = (self.out / "report.html").read_text(encoding="utf-8")
        self.assertEqual(re.findall(r'(?:src|href)="(?!data:image/svg\+xml;base64,)[^"]*"', text), [])
        return text

    def test_a_sweep_becomes_figures_a_table_a_sentence_and_a_page(self):
        folder = self.write("demo", "demo")
        done = self.report(*sorted(folder.glob("*.h5")))
        self.assertEqual(done.stderr, "")
        self.assertEqual(self.figures(), {"slowdown", "step_time", "limiter", "loss"})
        self.assertEqual(len(re.findall(r"^(?:infiniband-hdr|ethernet-\w+) +(?:window|none) +6 ", done.stdout, re.MULTILINE)), 6)
        sentence = next(line for line in done.stdout.splitlines() if line.startswith("Emulated ("))
        self.assertIn("2 nodes with 1 a100 each, 4096 tokens a node and step, a model of 1.3 billion parameters", sentence)
        self.assertIn("Ethernet 25G falls behind InfiniBand HDR", sentence)
        self.assertIn(sentence, self.page())
        self.assertEqual(self.page().count("<figure>"), 4 + 6)  # and a step of each point

    def test_the_slowdown_is_the_one_that_was_written(self):
        # write_records: compute 3.24 j, transfers of 12.96 and 1.296, of which the smaller of 90% and 0.8 compute is hidden; j in [1, 1.02].
        done = self.report(self.write("demo", "demo"))
        row = re.search(r"^ethernet-25g +window .*$", done.stdout, re.MULTILINE).group(0)
        slowdown = float(re.findall(r"([\d.]+) \[", row)[2])
        self.assertGreaterEqual(slowdown, (16.2 - 2.592 * 1.02) / 3.3696 - 0.005)
        self.assertLessEqual(slowdown, (16.2 - 2.592) / 3.3696 + 0.005)

    def test_faults_are_named(self):
        folder = self.write("faulty", "faulty")
        output = self.report(folder).stdout
        self.assertRegex(output, r"(?m)^ethernet-25g +none +6 .* oversubscribed ")
        self.assertRegex(output, r"(?m)^ethernet-100g +none +4 ")
        self.assertIn("net.profile=ethernet-100g fsdp.limiter=none: too few runs (4) for an interval.", output)
        self.assertIn("the machine's rate drifted by more than 5% (at most -8%) in net.profile=ethernet-25g fsdp.limiter=window.", output)
        self.assertIn(f"Left out: {folder}/ethernet-100g_none_4.h5: is incomplete (5 steps so far).", output)
        self.assertIn("ethernet-100g_none_4.h5", self.page())

    def test_what_fits_has_a_figure_and_a_column(self):
        output = self.report(self.write("fit", "fit")).stdout
        self.assertIn("fit", self.figures())
        self.assertRegex(output, r"(?m)^fsdp.limiter +train.batch that fits +runs ")
        self.assertRegex(output, r"(?m)^window +36 +6 ")
        self.assertRegex(output, r"(?m)^none +none +0 ")
        self.assertIn('fsdp.limiter=none: nothing fits: out of memory at 8: "h.0" takes 3.0 MiB more.', output)

    def test_a_scaling_sweep_has_its_efficiency(self):
        output = self.report(self.write("scaling", "scaling")).stdout
        self.assertIn("efficiency", self.figures())
        self.assertRegex(output, r"efficiency on 4 ranks is \d+% on InfiniBand HDR and \d+% on Ethernet 25G")

    def test_a_single_run(self):
        output = self.report(self.write("single", "single.h5")).stdout
        self.assertEqual(self.figures(), {"loss", "step_time", "memory", "ranks"})
        self.assertIn("60 steps on 2 ranks", output)
        self.assertIn("bits a byte on held-out text", output)
        self.assertIn("s by the wall clock, ", output)
        self.assertTrue((self.out / "timeline.trace.json").is_file())
        self.assertIn("wall clock [", self.page())
        self.assertIn("emulated [", self.page())

    def test_a_benchmark(self):
        output = self.report(self.write("bench", "bench.h5")).stdout
        self.assertEqual(self.figures(), {"all_gather", "messages"})
        self.assertIn("bench: bench, 9 figures on 2 ranks, mpi; emulated Ethernet 25G; all checked elements right.", output)
        self.assertIn("all checked elements right", self.page())

    def test_a_killed_run_is_drawn_and_said_to_be_incomplete(self):
        writer, path = self.grow(steps=5)
        writer.kill()
        writer.wait()
        self.assertIn("incomplete: it is still running, or was ended before its time", self.report(path).stdout)
        self.assertIn("step_time", self.figures())

    def test_several_subjects_have_figures_of_their_own(self):
        self.report(self.write("demo", "demo"), self.write("single", "single.h5"))
        self.assertTrue({"demo-slowdown", "single-loss"} <= self.figures())

    def test_the_same_records_give_the_same_files(self):
        folder = self.write("single", "single.h5")
        self.report(folder)
        first = {path.name: path.read_bytes() for path in self.out.iterdir()}
        self.report(folder)
        self.assertEqual(first, {path.name: path.read_bytes() for path in self.out.iterdir()})

    def test_nothing_to_read_is_an_error(self):
        done = self.report(self.folder / "none.h5", expect=1)
        self.assertEqual(done.stderr, f"twinax report: {self.folder}/none.h5: there is no such file\n")
        self.assertFalse(Path(self.out).exists())


if __name__ == "__main__":
    unittest.main()
