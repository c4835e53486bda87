"""C++ read as text: enough of it to find functions and declarations in code that clang-format has laid out."""

import re
from typing import NamedTuple


class Function(NamedTuple):
    """A function's definition: its name, its first line (from 1) and how many lines it takes."""

    name: str
    line: int
    lines: int


class Declaration(NamedTuple):
    """What is declared at the level of namespaces: its text up to the first brace, and its first and last line (from 1)."""

    text: str
    first: int
    last: int


_TOKEN = re.compile(
    r"""(?P<comment>//[^\n]*|/\*.*?\*/)
      |(?P<raw>R"(?P<mark>[^()\s\\]{0,16})\(.*?\)(?P=mark)")
      |(?P<string>"(?:\\.|[^"\\\n])*")
      |(?P<char>(?<![0-9A-Za-z_])'(?:\\.|[^'\\\n])+')
      |(?P<directive>(?:^|(?<=\n))[ \t]*\#(?:\\\n|[^\n])*)""",
    re.VERBOSE | re.DOTALL,
)


def blanked(text: str) -> str:
    """The text with comments, literals and preprocessor lines replaced by blanks; every line keeps its number.

    A string leaves `""`, so that what stands around it stays an expression.
    """

    def blank(match: re.Match) -> str:
        kept = re.sub(r"[^\n]", " ", match.group())
        return '""' + kept[2:] if match.lastgroup in ("string", "raw") else kept

    return _TOKEN.sub(blank, text)


def _closing(code: str, opening: int) -> int:
    """Where the brace at `opening` is closed; the end of the text if it never is."""
    depth = 0
    for i in range(opening, len(code)):
        if code[i] == "{":
            depth += 1
        elif code[i] == "}":
            depth -= 1
            if depth == 0:
                return i
    return len(code) - 1


def _kind(head: str) -> str:
    """What a brace after `head` opens: a namespace, a type, a function, or an initializer."""
    plain = re.sub(r"\[\[.*?\]\]|\balignas\s*\([^()]*\)", " ", head, flags=re.DOTALL)
    plain = re.sub(r"^\s*(?:(?:public|private|protected)\s*:(?!:)\s*)+", "", plain)
    if re.match(r"\s*(inline\s+)?namespace\b", plain) or re.match(r'\s*extern\s*""\s*$', plain):
        return "namespace"
    plain = re.sub(r"^\s*template\s*<.*>\s*(?=class|struct|union)", "", plain, flags=re.DOTALL)
    if re.match(r"\s*(typedef\s+)?(class|struct|union|enum)\b", plain) and "(" not in plain:
        return "type"
    if ")" not in plain:
        return "initializer"
    in_member_list = re.search(r"\)[^:()]*(?<!:):(?!:)", plain) is not None
    if in_member_list and re.search(r"[\w>]\s*$", plain):
        return "initializer"  # a member's, as in `A() : a_{1} {`
    return "function"


def _name(head: str) -> str:
    match = re.search(r"([~\w:]+|operator\s*\S+?)\s*\(", head)
    return match.group(1) if match else "a function"


class _Reader:
    """Walks over blanked code once and collects what it meets."""

    def __init__(self, text: str):
        self.code = blanked(text)
        self.functions: list[Function] = []
        self.declarations: list[Declaration] = []

    def line(self, at: int) -> int:
        return self.code.count("\n", 0, at) + 1

    def start(self, begin: int, end: int) -> int:
        """Where a declaration begins, after blanks and labels."""
        return begin + re.match(r"\s*(?:(?:public|private|protected)\s*:(?!:)\s*)*", self.code[begin:end]).end()

    def scope(self, begin: int, end: int, is_public: bool) -> None:
        """Reads a file's, a namespace's or a type's inside; `is_public` if its declarations are collected."""
        at = head = begin
        parentheses = 0
        while at < end:
            letter = self.code[at]
            parentheses += {"(": 1, ")": -1}.get(letter, 0)
            if letter == ";" and parentheses == 0:
                self.declare(head, at, is_public)
                head = at + 1
            elif letter == "{" and parentheses == 0:
                close = min(_closing(self.code, at), end)
                if self.brace(head, at, close, is_public):
                    head = close + 1
                at = close
            at += 1

    def brace(self, head: int, opening: int, close: int, is_public: bool) -> bool:
        """Reads what a brace holds; whether the declaration ends with it."""
        before = self.code[head:opening]
        kind = _kind(before)
        if kind == "namespace":
            self.scope(opening + 1, close, is_public and "detail" not in before)
        elif kind == "type":
            self.scope(opening + 1, close, False)
        elif kind == "function":
            first = self.start(head, opening)
            self.functions.append(Function(_name(before), self.line(first), self.line(close) - self.line(first) + 1))
            self.declare(head, close, is_public)
        return kind in ("namespace", "function")

    def declare(self, head: int, last: int, is_public: bool) -> None:
        first = self.start(head, last)
        until, brace, _ = self.code[first:last].partition("{")
        text = " ".join((until + brace).split())
        if is_public and text:
            self.declarations.append(Declaration(text, self.line(first), self.line(last)))


def read(text: str) -> tuple[list[Function], list[Declaration]]:
    """All functions that a text defines (lambdas inside them are part of them), and what it declares in its namespaces."""
    reader = _Reader(text)
    reader.scope(0, len(reader.code), True)
    return reader.functions, reader.declarations
