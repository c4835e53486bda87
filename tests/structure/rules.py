"""The rules of the project's structure: each takes a tree and yields findings."""

import fnmatch
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import cpp_text

FILE_LIMIT = 400
TOP_CMAKE_LIMIT = 200
FUNCTION_LIMIT = 80
FORBIDDEN_NAMES = {"utils", "util", "common", "helpers", "helper", "misc"}
FOLDERS = ("include", "src", "tests", "experiments", "slurm", "cloud", ".ci")
UNFINISHED = re.compile(r"\b(" + "TO" + "DO|FIX" + r"ME)\b")
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*[<"]([^>"\n]+)[>"]', re.MULTILINE)


class Finding(NamedTuple):
    """A place that breaks a rule."""

    path: str
    line: int
    rule: str
    text: str


class Tree:
    """The project's files under a root, and the two tables that the rules read."""

    def __init__(self, root: Path):
        self.root = root
        self.paths = sorted(self._walk())
        self.layers = self._table("layers.txt")
        self.vendors = self._table("vendor.txt")
        self._texts: dict[str, str] = {}

    def _walk(self) -> Iterator[str]:
        yield from (path.name for path in self.root.iterdir() if path.is_file())
        for folder in FOLDERS:
            for path in (self.root / folder).rglob("*"):
                if path.is_file() and "__pycache__" not in path.parts:
                    yield path.relative_to(self.root).as_posix()

    def _table(self, name: str) -> dict[str, list[str]]:
        rows = {}
        for line in (self.root / "tests/structure" / name).read_text(encoding="utf-8").splitlines():
            if line.strip() and not line.startswith("#"):
                key, _, values = line.partition(": " if ": " in line else ":")
                rows[key.strip()] = values.split()
        return rows

    def text(self, path: str) -> str:
        if path not in self._texts:
            self._texts[path] = (self.root / path).read_text(encoding="utf-8", errors="replace")
        return self._texts[path]

    def cpp(self, *folders: str) -> Iterator[str]:
        """The C++ files in any of the folders."""
        for path in self.paths:
            if path.endswith((".hpp", ".cpp")) and path.startswith(tuple(folder + "/" for folder in folders)):
                yield path

    def layer_of(self, path: str) -> str:
        """The layer that a file of include/ or src/ belongs to."""
        parts = path.split("/")
        return parts[2] if parts[0] == "include" else parts[1]


def includes(tree: Tree, path: str) -> Iterator[tuple[int, str]]:
    text = tree.text(path)
    for match in INCLUDE.finditer(text):
        yield text.count("\n", 0, match.start()) + 1, match.group(1)


def layers_stand_in_order(tree: Tree) -> Iterator[Finding]:
    above: set[str] = set()
    for layer, allowed in tree.layers.items():
        for other in allowed:
            if other not in above:
                yield Finding("tests/structure/layers.txt", 1, "order", f"{layer} includes {other}, which does not stand above it")
        above.add(layer)


def includes_follow_the_table(tree: Tree) -> Iterator[Finding]:
    for path in tree.cpp("include", "src"):
        layer = tree.layer_of(path)
        if layer not in tree.layers:
            yield Finding(path, 1, "layer", f"no layer of layers.txt is called {layer}")
            continue
        for line, name in includes(tree, path):
            parts = name.split("/")
            if parts[0] == "..":
                yield Finding(path, line, "include", f"{name}: includes start at include/ or src/")
            elif parts[0] == "twinax" and len(parts) > 2 and parts[1] not in (layer, *tree.layers[layer]):
                yield Finding(path, line, "include", f"{layer} may not include {name} (layers.txt)")
            elif parts[0] in tree.layers and parts[0] != layer:
                yield Finding(path, line, "include", f"{name} is private to {parts[0]}")
            elif parts[0] in tree.layers and path.startswith("include/"):
                yield Finding(path, line, "include", f"{name} is private: it is not installed with {path}")


def vendor_headers_stay_where_they_belong(tree: Tree) -> Iterator[Finding]:
    for path in tree.cpp("include", "src"):
        for line, name in includes(tree, path):
            for header, patterns in tree.vendors.items():
                if name.startswith(header) and not any(fnmatch.fnmatchcase(path, pattern + "*") for pattern in patterns):
                    yield Finding(path, line, "vendor", f"{name} may be included in {' '.join(patterns)} only (vendor.txt)")


def links_follow_the_table(tree: Tree) -> Iterator[Finding]:
    for path in tree.paths:
        if not re.fullmatch(r"src/\w+/CMakeLists\.txt", path) or tree.layer_of(path) not in tree.layers:
            continue
        layer = tree.layer_of(path)
        for number, line in enumerate(tree.text(path).splitlines(), 1):
            for other in re.findall(r"\btwinax(?:::|_)(\w+)", line.partition("#")[0]):
                if other in tree.layers and other not in (layer, *tree.layers[layer]):
                    yield Finding(path, number, "link", f"{layer} may not link twinax::{other} (layers.txt)")


def files_are_short(tree: Tree) -> Iterator[Finding]:
    for path in tree.paths:
        if not path.endswith((".cpp", ".hpp", ".py", ".sh", ".cmake", "CMakeLists.txt")):
            continue
        limit = TOP_CMAKE_LIMIT if path == "CMakeLists.txt" else FILE_LIMIT
        lines = tree.text(path).count("\n")
        if lines > limit:
            yield Finding(path, lines, "file-length", f"{lines} lines are over the limit of {limit}: split it along a noun of the design")


def functions_are_short(tree: Tree) -> Iterator[Finding]:
    for path in tree.cpp("include", "src", "tests"):
        for function in cpp_text.read(tree.text(path))[0]:
            if function.lines > FUNCTION_LIMIT:
                yield Finding(path, function.line, "function-length", f"{function.name}: {function.lines} lines are over {FUNCTION_LIMIT}")


NEEDS_NO_DOCSTRING = re.compile(
    r"(using namespace|static_assert|friend|extern template|template\s*<\s*>)"
    r"|(template\s*<.*>\s*)?(class|struct|enum class|enum)\s+\w+(\s*:\s*[\w:]+)?$"  # declared ahead
    r"|.*\boperator\b"
    r"|[^(=]*\w::~?\w+\s*\("  # a member, defined outside its class
)


def public_names_have_docstrings(tree: Tree) -> Iterator[Finding]:
    for path in tree.cpp("include"):
        lines = tree.text(path).splitlines()
        documented_until = 0  # the last line of a documented declaration; what follows without a gap shares its docstring
        for declaration in cpp_text.read(tree.text(path))[1]:
            above = lines[declaration.first - 2].strip() if declaration.first > 1 else ""
            same_line = "///<" in lines[declaration.last - 1]
            if above.startswith("///") or same_line or declaration.first == documented_until + 1:
                documented_until = declaration.last
            elif not NEEDS_NO_DOCSTRING.match(declaration.text):
                yield Finding(path, declaration.first, "docstring", f"no /// above: {declaration.text[:70]}")


def nothing_is_left_unfinished(tree: Tree) -> Iterator[Finding]:
    for path in tree.paths:
        if path.endswith((".md", ".png", ".svg", ".h5", ".pyc")):
            continue
        for number, line in enumerate(tree.text(path).splitlines(), 1):
            if UNFINISHED.search(line):
                yield Finding(path, number, "unfinished", "unfinished ideas go to the tracker, not into the tree")


def names_say_something(tree: Tree) -> Iterator[Finding]:
    for path in tree.paths:
        if path.startswith(("include/", "src/", "tests/")):
            words = {Path(part).stem for part in path.split("/")}
            for word in sorted(words & FORBIDDEN_NAMES):
                yield Finding(path, 1, "name", f"{word} says nothing about what it holds")


RULES = (
    layers_stand_in_order,
    includes_follow_the_table,
    vendor_headers_stay_where_they_belong,
    links_follow_the_table,
    files_are_short,
    functions_are_short,
    public_names_have_docstrings,
    nothing_is_left_unfinished,
    names_say_something,
)


def findings(root: Path) -> list[Finding]:
    """Everything that the rules find in the tree under `root`."""
    tree = Tree(root)
    return [finding for rule in RULES for finding in rule(tree)]
