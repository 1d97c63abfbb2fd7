#!/usr/bin/env python3
"""Fails when the sources grow beyond the numbers of tests/size.txt, which may only fall.

size.py            reports sizes, the largest offenders and the distance to the goals; checks
size.py --lower    stores today's numbers where they are lower

Counted are lines of C++ and CUDA in the product and in the tests, files of more than 500 lines (of Python also), functions of
more than 60 (kernels and other device code aside), and classes of more than 25 methods (constructors, destructors and defaulted
or deleted functions aside).

Functions are found without a compiler: comments, strings and preprocessor lines are blanked, braces paired, and each brace at
the scope of a namespace or class judged by the declaration before it. A function reaches from its first line to its last brace,
with the lambdas and classes in it. A brace that cannot be paired or judged is a fault, never passed over.
"""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tools"))
import ratchet  # noqa: E402
import source_text as source  # noqa: E402

STORED = ROOT / "tests/size.txt"
FOLDERS = (*source.PRODUCT, "assets", "tests", "tools")
FILE_LINES, FUNCTION_LINES, METHODS = 500, 60, 25
PRODUCT, TESTS = "lines product", "lines tests"
# kind: (what the report calls it, goal, what to do when it rises)
KINDS = {
    "lines": ("", None, "Remove as many as you add"),
    "file": (f"files over {FILE_LINES} lines", 0, "Split the file"),
    "function": (f"functions over {FUNCTION_LINES} lines", 6, "Split the function"),
    "class": (f"classes over {METHODS} methods", 0, "Move methods to a class of their own, or make them functions"),
}
LINE_GOALS = {PRODUCT: 142_000, TESTS: 70_000}

DIRECTIVE = re.compile(r"(?m)^[ \t]*#(?:\\\n|[^\n])*")
LABELS = re.compile(r"(?:\s|\b(?:public|private|protected)\s*:(?!:))*")
SPACE = re.compile(r"(?:\bnamespace\b[\w\s:]*|\bextern)$")
CLASS = re.compile(r"(?:(?:typedef|static|const|constexpr|inline)\s+)*(?:class|struct|union)\b")
MACRO_LINES = re.compile(r"^(?:[A-Z]+_\w+\s*\([^()]*\)\s*)+(?=\w)")
WITH_ARGUMENTS = re.compile(r"\b(?:GS_KERNEL|__attribute__|alignas|explicit|decltype|noexcept|requires)\s*(?=\()")
TEMPLATE_ARGUMENTS = re.compile(r"(?<=\w)(?<!operator)<[^<>()]*(?:\([^<>()]*\)[^<>()]*)*>")
OPERATOR = re.compile(r"\boperator\s*(\(\s*\)|[^\s\w(]+|[\w:\s*&<>]+?)\s*\(")
NAME = re.compile(r"((?:\w+\s*::\s*)*~?\w+)\s*$")
SPECIFIERS = re.compile(r"(?:\s|&|\b(?:const|noexcept|override|final|mutable|try|[A-Z]+_\w+)\b|->.*|\brequires\b.*)*$", re.S)
LAMBDA = re.compile(r"=.*\]\s*(?:\(.*\)[^()]*)?$", re.S)
DEVICE_CODE = re.compile(r"\b(?:__global__|__device__|GS_KERNEL|GS_DEVICE)\b")


def after_pair(text, pair):
    """What follows the first opening mark of the pair and its partner. A > in parentheses is no partner of <."""
    depth = parentheses = 0
    for at in range(text.find(pair[0]), len(text)):
        parentheses += (text[at] == "(") - (text[at] == ")")
        if pair == "()" or parentheses == 0:
            depth += (text[at] == pair[0]) - (text[at] == pair[1])
        if depth == 0:
            return text[at + 1:]
    return ""


def plain(head):
    """A declaration without template parameters and arguments, attributes, and specifiers and macros that have arguments."""
    for pattern, pair in ((re.compile(r"\btemplate\s*(?=<)"), "<>"), (WITH_ARGUMENTS, "()")):
        while found := pattern.search(head):
            head = head[:found.start()] + after_pair(head[found.start():], pair)
    while found := TEMPLATE_ARGUMENTS.search(head):
        head = head[:found.start()] + head[found.end():]
    return MACRO_LINES.sub("", re.sub(r"\[\[.*?\]\]", "", head, flags=re.S).strip())


def function_name(head):
    """The function that a plain declaration declares, or None."""
    if found := OPERATOR.search(head):
        return "operator" + re.sub(r"\s+", " ", found.group(1))
    before, paren, rest = head.partition("(")
    name = NAME.search(before)
    if not paren or not name or re.search("[={]", before) or before.count("<") != before.count(">"):
        return None
    if rest.lstrip().startswith("*") or re.match(r"(?:friend|using|typedef|static_assert)\b", head):
        return None
    if re.match(r"(?:TYPED_)?TEST", name[1]):
        return f"{name[1]}({' '.join(rest.split(')')[0].split())})"
    return re.sub(r"\s", "", name[1])


def class_name(head):
    found = re.search(r"([\w:]+)\s*(?:\bfinal\s*)?$", re.split(r"(?<!:):(?!:)", head)[0])
    return found[1] if found else "unnamed"


class Reader:
    """The functions of a file, (name, first line, last line, is device code), and the methods of its classes."""

    def __init__(self, path, text):
        self.path, self.functions, self.methods, self.faults = path, [], {}, []
        self.lines = source.Lines(text)
        self.code = DIRECTIVE.sub(lambda found: source.blanked(found.group()), source.cpp_code(text))
        if self.pair():
            self.scope(0, len(self.code), [])

    def fault(self, at, what):
        self.faults.append(f"{self.path}:{self.lines.line(at)}: {what}: tests/size.py must learn this form")

    def pair(self):
        self.ends, opened = {}, []
        for found in re.finditer(r"[(){}]", self.code):
            mark = found.group()
            if mark in "({":
                opened.append(found.start())
            elif opened and self.code[opened[-1]] + mark in ("()", "{}"):
                self.ends[opened.pop()] = found.start()
            else:
                self.fault(found.start(), f"cannot pair '{mark}'")
                return False
        for at in opened[-1:]:
            self.fault(at, f"cannot pair '{self.code[at]}'")
        return not opened

    def head(self, start, end):
        return plain(LABELS.sub("", self.code[start:end], count=1))

    def scope(self, at, end, names):
        start = at
        while found := re.compile("[({;]").search(self.code, at, end):
            at = found.start()
            if found.group() == ";":
                self.method(self.head(start, at), names)
                start = at = at + 1
            elif found.group() == "(":
                at = self.ends[at] + 1
            else:
                close = self.ends[at]
                head = self.head(start, at)
                kind = self.opens(head, at)
                if kind == "namespace":
                    self.scope(at + 1, close, names)
                elif kind == "class":
                    self.scope(at + 1, close, [*names, class_name(head)])
                elif kind == "function":
                    self.function(start, at, close, head, names)
                at = close + 1
                start = start if kind == "value" else at

    def opens(self, head, at):
        if SPACE.search(head):
            return "namespace"
        if CLASS.match(head) and not re.search("[(=]", head):
            return "class"
        if function_name(head) is None:
            if LAMBDA.search(head):
                return "function"
            if not re.search(r"[\w=\]>]$", head):
                self.fault(at, "cannot judge '{'")
            return "value"
        rest = after_pair(after_pair(head, "()") if "operator(" in head.replace(" ", "") else head, "()")
        if re.match(r"[\w\s]*:(?!:)", rest):  # members' first values, each in parentheses or braces
            return "function" if head[-1] in ")}." else "value"
        if SPECIFIERS.match(rest):
            return "function"
        if not rest.endswith("="):
            self.fault(at, "cannot judge '{'")
        return "value"

    def function(self, start, at, close, head, names):
        name = function_name(head) or head.split("=")[0].split()[-1]
        if name == "catch" and self.functions:  # of a function that is one try block
            self.functions[-1][2] = self.lines.line(close)
            return
        self.method(head, names)
        first = self.lines.line(LABELS.match(self.code, start).end())
        self.functions.append(["::".join([*names, name]), first, self.lines.line(close),
                               bool(DEVICE_CODE.search(self.code, start, at))])

    def method(self, head, names):
        name = function_name(head) if names else None
        if name and name.lstrip("~") != names[-1].split("::")[-1] and not re.search(r"=\s*(?:default|delete)$", head):
            self.methods.setdefault("::".join(names), []).append(name)


def measure(root):
    """({key: number}, {key: line of a function}, faults)"""
    now, places, faults = {PRODUCT: 0, TESTS: 0}, {}, []

    def add(key, count, line=1):
        while key in now:  # overloads
            key += "'"
        now[key], places[key] = count, line

    for path, text in source.files(root, FOLDERS, lambda path: path.endswith((*source.CPP, ".py"))):
        lines = text.count("\n")
        if lines > FILE_LINES:
            add(f"file {path}", lines)
        if path.endswith(".py"):
            continue
        now[TESTS if path.startswith("tests/") else PRODUCT] += lines
        reader = Reader(path, text)
        faults += reader.faults
        for name, first, last, device in reader.functions:
            if last - first + 1 > FUNCTION_LINES and not device:
                add(f"function {path} {name}", last - first + 1, first)
        for name, methods in reader.methods.items():
            if len(methods) > METHODS:
                add(f"class {path} {name}", len(methods))
    return now, places, faults


def report(now):
    rows = [(key.replace(" ", " of the "), now[key], goal) for key, goal in LINE_GOALS.items()]
    rows += [(name, sum(key.startswith(kind + " ") for key in now), goal) for kind, (name, goal, _) in KINDS.items() if name]
    for name, count, goal in rows:
        far = f"{count - goal:,} to go" if count > goal else "reached"
        print(f"{name:<24} {count:>8,}   goal {goal:>8,}   {far}")
    for kind in ("file", "function", "class"):
        worst = sorted((-count, key.partition(" ")[2]) for key, count in now.items() if key.startswith(kind + " "))
        for count, name in worst[:4]:
            print(f"  {kind:<9}{-count:>4}  {name}")


def main(arguments):
    now, places, faults = measure(ROOT)
    stored = ratchet.load(STORED)
    if "--lower" in arguments:
        print(f"tests/size.txt: {ratchet.lower(STORED, stored, now)} numbers lowered")
        return 0
    report(now)
    for key in ratchet.risen(stored, now):
        kind, _, name = key.partition(" ")
        path, _, what = name.partition(" ")
        place = f"{path}:{places[key]}: {what}" if key in places else name
        unit = "methods" if kind == "class" else "lines"
        limit = stored.get(key) or {"file": FILE_LINES, "function": FUNCTION_LINES, "class": METHODS}[kind]
        faults.append(f"{place.removesuffix(': ')} has {now[key]:,} {unit}, {limit:,} are allowed. {KINDS[kind][2]}. If it only "
                      f"moved or must grow, write '{now[key]} {key}' into tests/size.txt and say why in the commit.")
    for line in faults:
        print(line)
    if note := ratchet.note(stored, now, "tests/size.py --lower"):
        print(note)
    print(f"size: {len(faults)} faults")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
