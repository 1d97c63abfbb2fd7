"""Splits source files for tests/size.py and tools/check_style: into code without its text, and prose (the text of comments,
strings and pages) without code. Both parts keep every offset and newline of the file, so a place in them is its place in the file.
"""
import bisect
import io
import pathlib
import re
import token
import tokenize

CPP = (".h", ".cpp", ".cu", ".cuh")
PRODUCT = ("app", "base", "panels", "profiler", "renderer", "trainer")
CODE = "\0"  # stands for each character of code in prose, so that no phrase continues across code

CPP_TOKEN = re.compile(r"""
    (?P<raw>\b(?:u8|[uUL])?R"(?P<mark>[^()\\\s]{0,16})\((?P<inside>.*?)\)(?P=mark)")
  | (?P<comment>//(?:\\\n|[^\n])*|/\*.*?\*/)
  | (?P<string>"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])+')
  | \b\d(?:['.]?\w)*  # a number: a ' in it begins no string
    """, re.S | re.X)
SHELL_TOKEN = re.compile(r"""
    (?P<string>"(?:\\.|[^"\\])*"|'[^']*')
  | (?P<comment>(?<!\S)\#[^\n]*)
  | \\.
    """, re.S | re.X)
NAME_ONLY = re.compile(r"""\w*(["']{1,3})[a-z0-9_.:/\\-]*\1""")  # a string that is a key, a path or a command
QUOTED_CODE = re.compile(r'''"[a-z0-9_.:/-]+"|`[^`\n]+`|\b[\w.:]+\([\w, ]*\)''')


def files(root, folders, wanted):
    """(path, text) of the wanted files in the folders, in order; a folder may also name one file."""
    root = pathlib.Path(root)
    for folder in folders:
        base = root / folder
        for file in sorted(base.rglob("*")) if base.is_dir() else [base]:
            if file.is_file() and wanted(path := file.relative_to(root).as_posix()):
                yield path, file.read_text(encoding="utf-8", errors="replace")


class Lines:
    """Line numbers of offsets."""

    def __init__(self, text):
        self.starts = [0, *(found.end() for found in re.finditer("\n", text))]

    def line(self, offset):
        return bisect.bisect_right(self.starts, offset)


def blanked(text):
    return re.sub(r"[^\n]", " ", text) if "\n" in text else " " * len(text)


def hidden(text):
    return re.sub(r"\S", CODE, text)


def without_code(text):
    """Prose without the code that it quotes: `code`, "key" and call(argument)."""
    return QUOTED_CODE.sub(lambda found: hidden(found.group()), text)


def comment_prose(text):
    """A comment without its marks."""
    text = re.sub(r"^(?:[/*#!<]+)|\*/$", lambda found: blanked(found.group()), text)
    return without_code(re.sub(r"(?m)^[ \t]*\*(?!\*)", lambda found: blanked(found.group()), text))


def string_prose(text):
    """A string without quotes, escapes and, in Python's f-strings, expressions."""
    if NAME_ONLY.fullmatch(text):
        return hidden(text)
    if re.match(r"[rR]?[fF]", text):
        text = re.sub(r"\{[^{}]*\}", lambda found: hidden(found.group()), text)
    text = re.sub(r"^\w*(\"\"\"|'''|[\"'])|(\"\"\"|'''|[\"'])$", lambda found: blanked(found.group()), text)
    return without_code(re.sub(r"\\[^\n]", "  ", text))


def cpp_code(text):
    return CPP_TOKEN.sub(lambda found: blanked(found.group()) if found.lastgroup else found.group(), text)


def prose(text, pattern):
    parts, at = [], 0
    for found in pattern.finditer(text):
        kind, word = found.lastgroup, found.group()
        if kind is None:
            continue
        parts.append(hidden(text[at:found.start()]))
        if kind == "raw":
            begin, end = found.span("inside")
            parts += [" " * (begin - found.start()), text[begin:end], " " * (found.end() - end)]
        else:
            parts.append(comment_prose(word) if kind == "comment" else string_prose(word))
        at = found.end()
    return "".join([*parts, hidden(text[at:])])


def cpp_prose(text):
    return prose(text, CPP_TOKEN)


def shell_prose(text):
    return prose(text, SHELL_TOKEN)


def python_prose(text):
    starts, parts, at = Lines(text).starts, [], 0
    readers = {token.COMMENT: comment_prose, token.STRING: string_prose}
    if hasattr(token, "FSTRING_MIDDLE"):  # from Python 3.12 on: the text of an f-string, without its expressions
        readers[token.FSTRING_MIDDLE] = without_code
    for word in tokenize.generate_tokens(io.StringIO(text).readline):
        if word.type in readers:
            begin, end = (starts[row - 1] + column for row, column in (word.start, word.end))
            parts += [hidden(text[at:begin]), readers[word.type](text[begin:end])]
            at = end
    return "".join([*parts, hidden(text[at:])])


def page_lines(text):
    """(line, whether it is code) of a page in Markdown."""
    fenced, code, blank = False, False, True
    for line in text.splitlines(keepends=True):
        fence = line.lstrip().startswith("```")
        fenced ^= fence
        if line.strip():
            code = line.startswith(("    ", "\t")) and (code or blank)
        blank = not line.strip()
        yield line, fenced or fence or code


def page_prose(text):
    """A page without code, targets of links, and tags."""
    text = "".join(hidden(line) if code else line for line, code in page_lines(text))
    return re.sub(r"`[^`\n]+`|(?<=\])\([^)\s]*\)|https?://\S+|<[^>\n]*>", lambda found: hidden(found.group()), text)
