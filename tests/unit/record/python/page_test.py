"""Opens the report's page in headless Chromium, where that is installed: no errors, every figure there, and the hover texts work."""

import html
import json
import os
import re
import shutil
import subprocess
import sys
import unittest

from records import WrittenCase

CHROMIUM = next((path for name in ("chromium", "chromium-browser", "google-chrome") if (path := shutil.which(name))), None)
if CHROMIUM is None:
    print("skipped: there is no chromium (Debian package chromium)")
    sys.exit(77)

FLAGS = ("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
         "--disable-component-update", "--disable-sync", "--enable-logging=stderr")  # fmt: skip

EARLY = "<script>window.faults = []; addEventListener('error', (e) => faults.push(String(e.message || (e.target && e.target.src) || e)), true);</script>"
LATE = """<script>
addEventListener('load', () => {
  const bar = document.querySelector('svg.timeline rect.op');
  if (bar) bar.dispatchEvent(new PointerEvent('pointermove', { bubbles: true, clientX: 300, clientY: 300 }));
  const tip = document.getElementById('tip');
  const seen = {
    faults,
    images: [...document.images].map((image) => image.complete ? image.naturalWidth : 0),
    drawings: [...document.querySelectorAll('details[open] svg.timeline')].map((svg) => svg.getBoundingClientRect().width),
    timelines: document.querySelectorAll('svg.timeline').length,
    figures: document.querySelectorAll('figure').length,
    width: document.documentElement.scrollWidth - innerWidth,
    resources: performance.getEntriesByType('resource').map((entry) => entry.name).filter((name) => !name.startsWith('data:')),
    tip: [tip.style.display, tip.textContent],
  };
  const out = document.createElement('pre');
  out.id = 'seen';
  out.textContent = JSON.stringify(seen);
  document.body.append(out);
});
</script>"""


class Page(WrittenCase):
    def look_at(self, *files) -> dict:
        """Reports the files and says what a browser finds in the page."""
        out = self.folder / "out"
        command = [sys.executable, "-m", "twinax_results", "report", *map(str, files), "-o", str(out)]
        subprocess.run(command, check=True, capture_output=True, env=os.environ)
        text = (out / "report.html").read_text(encoding="utf-8")
        probed = out / "probed.html"
        probed.write_text(text.replace("<head>", "<head>" + EARLY, 1).replace("</body>", LATE + "</body>", 1), encoding="utf-8")
        profile = self.folder / "profile"
        profile.mkdir()
        done = subprocess.run([CHROMIUM, *FLAGS, f"--user-data-dir={profile}", "--window-size=1200,900", "--dump-dom", probed.as_uri()],
                              capture_output=True, text=True, timeout=100, check=False)  # fmt: skip
        self.assertEqual([line for line in done.stderr.splitlines() if ":CONSOLE" in line], [])
        found = re.search(r'<pre id="seen">(.*?)</pre>', done.stdout, re.DOTALL)
        self.assertIsNotNone(found, done.stderr[-2000:])
        seen = json.loads(html.unescape(found.group(1)))
        self.assertEqual(seen["faults"], [])
        self.assertEqual(seen["resources"], [])
        self.assertTrue(all(width > 0 for width in seen["images"] + seen["drawings"]), seen)
        self.assertEqual(len(seen["images"]) + seen["timelines"], seen["figures"])
        self.assertLessEqual(seen["width"], 0, "the page is wider than its window")
        return seen

    def test_a_single_run_has_its_figures_and_its_step(self):
        seen = self.look_at(self.write("single", "single.h5"))
        self.assertEqual((len(seen["images"]), seen["timelines"], len(seen["drawings"])), (4, 1, 1))
        self.assertEqual(seen["tip"][0], "block")
        self.assertIn("rank 0, compute lane, forward", seen["tip"][1])

    def test_a_sweep_has_a_step_of_each_point_of_which_the_first_is_open(self):
        seen = self.look_at(self.write("demo", "demo"))
        self.assertEqual((len(seen["images"]), seen["timelines"], len(seen["drawings"])), (4, 6, 1))


if __name__ == "__main__":
    unittest.main()
