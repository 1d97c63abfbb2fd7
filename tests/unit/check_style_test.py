#!/usr/bin/env python3
"""The rules of tools/check_style: which words, lines and commits it finds, and what it leaves alone."""
import contextlib
import importlib.machinery
import importlib.util
import io
import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest
from unittest import mock

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "tools/check_style"
LOADER = importlib.machinery.SourceFileLoader("check_style", str(SCRIPT))
style = importlib.util.module_from_spec(importlib.util.spec_from_loader("check_style", LOADER))
LOADER.exec_module(style)


class Words(unittest.TestCase):
    def expect(self, path, text, *places):
        self.assertEqual(style.words(path, text), list(places))

    def test_in_comments_and_strings(self):
        self.expect("a.cpp", "// is told\nf(\"Mends it\");  /* goes\n * on */ g('x');\n", (1, "told"), (2, "go on"), (2, "mend"))
        self.expect("a.h", '/// so\n/// many\nauto t = R"(lies in a\nroom)";\n', (1, "so many"), (3, "lie in"), (4, "room"))
        self.expect("a.py", '"""Is told."""\nx = f"tells {room}"  # made again, too\n', (1, "told"), (2, ", too"), (2, "made again"), (2, "tells"))
        self.expect("a.sh", 'echo "drawn anew $room"  # who is: told\nroom=1\n', (1, "anew"), (1, "told"))
        self.expect("run", "#!/bin/sh\n# taken back\n", (2, "taken back"))
        self.expect("a.md", "Is told.\n\nWhat is not there, for who wants it.\n", (1, "told"), (3, "What is not"), (3, "who is"))

    def test_not_in_code(self):
        self.expect("a.cpp", '#include "base/room.h"\nint told = mend(room);\nf("told", "doctor.mend", "a/room");\nf("so", "many");\n')
        self.expect("a.cpp", "// `told`, Run::told, told_ = told(), rest(room), trainer_told.cpp, --room, {room}, \"mend\"\n")
        self.expect("a.cpp", "constexpr int k = 1'000;  // it's\nint room = 2'000;\n")
        self.expect("a.py", 'room = told["mend"]  # says\n')
        self.expect("a.md", "See `told` and [this](docs/room.md).\n\n    room told\n\n```\nroom\n```\n")
        self.expect("a.txt", "told\n")

    def test_knows_the_context(self):
        self.expect("a.md", "Headroom, a clean room, recommend, commend; it stands in for a GPU and goes on the stack.\n")
        self.expect("a.md", "The user who is waiting. Too many, and too large, too small. untold\n")
        self.expect("a.md", "A room. <!-- style: ok -->\n")


class Pages(unittest.TestCase):
    def test_long_lines(self):
        word = "word " * 21 + "\n"
        link = "[text](" + "x" * 100 + ") https://a.org/" + "y" * 100 + "\n"
        self.assertEqual(style.wide_lines(word + "| " + word + link + "\n    " + word + "\n```\n" + word + "```\n" + word), [1, 10])


class Subjects(unittest.TestCase):
    def test_forms(self):
        for good in ("Fix undo after closing a scene", "Plain words in two headers", "Embed fonts", "Need C++20", "Bring back a test",
                     "String tables on one page", 'Revert "' + "x" * 80, "x".upper() * 72):
            self.assertIsNone(style.subject_fault(good), good)
        for bad in ("fix it", "Fixed it", "Fixing it", "Fixes it", "What is drawn", "Docs: a page", "Fix it.", "X" * 73, "", "12 files"):
            self.assertIsNotNone(style.subject_fault(bad), bad)


class Repository(unittest.TestCase):
    def setUp(self):
        self.root = pathlib.Path(tempfile.mkdtemp(prefix="gausscope-style-"))
        self.addCleanup(shutil.rmtree, self.root, ignore_errors=True)

    def git(self, *words):
        environment = {**os.environ, "GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_SYSTEM": "/dev/null"}
        done = subprocess.run(["git", "-c", "user.name=n", "-c", "user.email=e@e", "-C", self.root, *words], capture_output=True,
                              text=True, env=environment)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout.strip()

    def test_commits_after_the_base(self):
        if shutil.which("git") is None:
            self.skipTest("git is not installed")
        self.git("init", "-q", "source")
        commit = ("-C", "source", "commit", "-q", "--allow-empty", "-m")
        self.git(*commit, "told before.")
        base = self.git("-C", "source", "rev-parse", "HEAD")
        self.git(*commit, "Add a page")
        self.git(*commit, "Added a page\n\nWith a body.")
        self.git("clone", "-q", "source", "clone")
        faults, said = style.commit_faults(self.root / "clone", base)
        self.assertEqual(len(faults), 1)
        self.assertRegex(faults[0], r"commit \w+ Added a page: the subject begins with 'Added'")
        self.assertIn("2 commit subjects", said)
        self.git("clone", "-q", "--depth", "1", f"file://{self.root}/source", "shallow")
        faults, said = style.commit_faults(self.root / "shallow", base)
        self.assertEqual(faults, [])
        self.assertIn("skipped: commit subjects are not checked", said)

    def test_without_git(self):
        self.assertIn("skipped", style.commit_faults(self.root)[1])
        with mock.patch.dict(os.environ, PATH=""):
            self.assertIn("skipped", style.commit_faults(self.root)[1])

    def check(self, *arguments):
        out = io.StringIO()
        with mock.patch.multiple(style, ROOT=self.root, STORED=self.root / "stored.txt"), contextlib.redirect_stdout(out):
            code = style.main([*arguments])
        return code, out.getvalue()

    def test_numbers_fall_and_never_rise(self):
        (self.root / "app/cli").mkdir(parents=True)
        (self.root / "docs").mkdir()
        (self.root / "app/cli/a.h").write_text("// told\n// told\n")
        (self.root / "docs/a.md").write_text("word " * 30 + "\n")
        (self.root / "stored.txt").write_text("# a comment\n2 app/cli told\n1 docs/a.md columns\n3 docs anew\n")
        code, text = self.check()
        self.assertEqual(code, 0, text)
        self.assertIn("note: lower the stored numbers with tools/check_style --lower: docs anew 3 -> 0", text)
        self.assertIn("lines with any listed word: 2, goal 150, reached", text)
        self.check("--lower")
        self.assertEqual((self.root / "stored.txt").read_text(), "# a comment\n2 app/cli told\n1 docs/a.md columns\n")
        (self.root / "app/cli/b.h").write_text("int a;  // told\n")
        (self.root / "docs/b.md").write_text("word " * 30 + "\n")
        code, text = self.check()
        self.assertEqual(code, 1)
        self.assertIn("app/cli told: 3, but tools/check_style.txt allows 2.", text)
        self.assertIn("  app/cli/b.h:1: 'told': write report, say, list, show", text)
        self.assertIn("  docs/b.md:1: over 100 columns: break the line", text)
        self.assertIn("check_style: 2 faults", text)
        self.assertRegex(self.check("--report")[1], r"told +3 +0 +3\n")
        self.assertEqual(self.check("--list", "docs/b")[1], "docs/b.md:1: over 100 columns: break the line\n")


if __name__ == "__main__":
    unittest.main()
