"""What all figures share: colours that colour-blind readers tell apart, axes, notes, and files (PNG and SVG)."""

import textwrap
from dataclasses import dataclass
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
from matplotlib import pyplot  # noqa: E402  (the backend is chosen first)
from matplotlib.figure import Figure  # noqa: E402

# Okabe and Ito's palette.
BLUE, ORANGE, GREEN, VERMILION, SKY, PURPLE = "#0072B2", "#E69F00", "#009E73", "#D55E00", "#56B4E9", "#CC79A7"
INK, GREY, PALE = "#222222", "#8A8A8A", "#C9C9C9"
CYCLE = (BLUE, VERMILION, GREEN, PURPLE, ORANGE, SKY)
MARKERS = ("o", "s", "D", "^", "v", "P")

PART_COLOURS = {"computing": BLUE, "hidden": SKY, "exposed": VERMILION, "waiting": PALE}
PART_NAMES = {
    "computing": "computing",
    "hidden": "computing, communication hidden beneath",
    "exposed": "waiting for communication (exposed)",
    "waiting": "other",
}

WIDTH = 9.6  # inches; at this width the text of a figure is as large as that of a page around it
DOTS_PER_INCH = 150
STYLE = {
    "font.size": 10.5,
    "axes.titlesize": 10.5,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.edgecolor": GREY,
    "axes.labelcolor": INK,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "text.color": INK,
    "xtick.color": INK,
    "ytick.color": INK,
    "axes.axisbelow": True,
    "axes.grid": True,
    "grid.color": "#E6E6E6",
    "grid.linewidth": 0.8,
    "legend.frameon": False,
    "legend.fontsize": 9.5,
    "lines.linewidth": 1.8,
    "savefig.facecolor": "white",
    "svg.hashsalt": "twinax",  # the same figure is the same file
}
matplotlib.rcParams.update(STYLE)


@dataclass(frozen=True)
class Drawn:
    """A figure that was written: `name`.png and `name`.svg."""

    name: str
    title: str
    note: str
    png: Path
    svg: Path


def begin(title: str, rows: float, panels: int = 1, widths: tuple[float, ...] | None = None, share_y: bool = False):
    """A figure `rows` inches high beside its title and note, and its panels from left to right."""
    figure, axes = pyplot.subplots(
        1, panels, figsize=(WIDTH, rows), squeeze=False, sharey=share_y, gridspec_kw={"width_ratios": widths} if widths else None
    )
    figure.set_label(title)  # drawn by finish()
    return figure, axes[0]


def finish(figure: Figure, folder: Path, name: str, note: str, legend_rows: int = 0) -> Drawn:
    """Lays title, legend, panels and note out from top to bottom, and writes both files."""
    title = figure.get_label()
    height = figure.get_size_inches()[1]
    title_lines = textwrap.wrap(title, 92)
    note_lines = textwrap.wrap(note, 142)
    top = 0.16 + 0.24 * len(title_lines) + 0.25 * legend_rows
    bottom = 0.14 + 0.165 * len(note_lines)
    total = height + top + bottom
    figure.set_size_inches(WIDTH, total)
    figure.text(0.012, 1 - 0.12 / total, "\n".join(title_lines), fontsize=13, fontweight="bold", va="top", linespacing=1.25)
    figure.text(0.012, 0.10 / total, "\n".join(note_lines), fontsize=8.8, color="#555555", va="bottom", linespacing=1.25)
    if figure.legends:
        legend = figure.legends[0]
        legend.set_bbox_to_anchor((0.008, 1 - (0.14 + 0.24 * len(title_lines)) / total), transform=figure.transFigure)
    figure.tight_layout(rect=(0, bottom / total, 1, 1 - top / total), w_pad=1.6)
    png, svg = folder / f"{name}.png", folder / f"{name}.svg"
    figure.savefig(png, dpi=DOTS_PER_INCH, metadata={"Software": None})
    figure.savefig(svg, metadata={"Date": None, "Creator": None})
    pyplot.close(figure)
    return Drawn(name, title, note, png, svg)


def legend_above(figure: Figure, handles, columns: int) -> int:
    """One legend for all panels, between title and panels. Returns the number of its rows, for finish()."""
    figure.legend(handles=handles, loc="upper left", ncol=columns, borderaxespad=0, handletextpad=0.5, columnspacing=1.4)
    return -(-len(handles) // columns)


def horizontal(axis) -> None:
    """Named rows: nothing is measured along y."""
    axis.grid(False, axis="y")
    axis.tick_params(axis="y", length=0)
    axis.spines["left"].set_visible(False)
