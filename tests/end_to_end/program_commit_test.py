"""The commit that a program says it is of, as the build writes it. Run: program_commit_test.py CMAKE Commit"""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "tools" / "cmake" / "program_commit.cmake"
CMAKE = "cmake"


class Commit(unittest.TestCase):
    def setUp(self):
        if shutil.which("git") is None:
            self.skipTest("git is not installed")
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="gausscope-commit-"))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        self.source, self.header = self.folder / "source", self.folder / "build" / "commit.h"
        (self.folder / "build").mkdir()
        self.source.mkdir()
        (self.source / "main.cpp").write_text("int main() {}\n")
        (self.source / ".gitignore").write_text("/build*/\n*.log\n")

    def git(self, *words, where=None):
        environment = {**os.environ, "GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_SYSTEM": "/dev/null"}
        for name in ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE"):
            environment.pop(name, None)
        done = subprocess.run(["git", "-c", "user.name=n", "-c", "user.email=e@e", "-c", "init.defaultBranch=main", "-C",
                               where or self.source, *words], capture_output=True, text=True, env=environment)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout.strip()

    def commit(self, text="first"):
        if not (self.source / ".git").exists():
            self.git("init", "-q")
        self.git("add", "-A")
        self.git("commit", "-q", "-m", text)
        return self.git("rev-parse", "--short=12", "HEAD")

    def built(self, source=None, env=None):
        done = subprocess.run([CMAKE, f"-DSOURCE={source or self.source}", f"-DHEADER={self.header}", "-P", SCRIPT],
                              capture_output=True, text=True, env={**os.environ, **(env or {})})
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "", ""))
        self.assertEqual(os.listdir(self.header.parent), [self.header.name])  # nothing beside it
        return re.search(r'#define GAUSSCOPE_COMMIT "(.*)"', self.header.read_text()).group(1)

    def test_follows_every_commit(self):
        first = self.commit()
        self.assertEqual(self.built(), first)
        (self.source / "main.cpp").write_text("int main() { return 1; }\n")
        second = self.commit("second")
        self.assertNotEqual(first, second)
        self.assertEqual(self.built(), second)
        self.git("checkout", "-q", first)  # `git switch`, then a build
        self.assertEqual(self.built(), first)

    def test_changes_are_marked_and_told_apart(self):
        head = self.commit()
        seen = set()
        for text in ("int a;\n", "int b;\n"):
            (self.source / "main.cpp").write_text(text)
            seen.add(self.built())
        self.git("add", "-A")  # staged and not committed
        self.assertIn(self.built(), seen)
        self.git("checkout", "-q", "-f", "HEAD")
        self.assertEqual(self.built(), head)
        (self.source / "new file; of mine.cpp").write_text("int c;\n")  # the build takes it up by its name
        seen.add(self.built())
        (self.source / "new file; of mine.cpp").write_text("int d;\n")
        seen.add(self.built())
        (self.source / "new file; of mine.cpp").unlink()
        (self.source / "main.cpp").unlink()
        seen.add(self.built())
        (self.source / "main.cpp").write_bytes(b"\0\xff;[\n" * 9)
        seen.add(self.built())
        self.assertEqual(len(seen), 6)
        for commit in seen:
            self.assertRegex(commit, "^" + head + r"\+changes\.[0-9a-f]{8}$")

    def test_files_that_git_ignores_are_no_changes(self):
        head = self.commit()
        (self.source / "build").mkdir()
        (self.source / "build" / "made.cpp").write_text("int e;\n")
        (self.source / "notes.txt").write_text("of nobody's concern\n")
        self.assertEqual(self.built(), head)

    def test_nothing_new_writes_nothing(self):
        self.commit()
        self.built()
        os.utime(self.header, (1000, 1000))
        self.built()
        self.assertEqual(self.header.stat().st_mtime, 1000)
        (self.source / "main.cpp").write_text("int f;\n")
        self.built()
        self.assertNotEqual(self.header.stat().st_mtime, 1000)

    def test_sources_without_a_repository_of_their_own_are_unknown(self):
        self.assertEqual(self.built(), "unknown")  # an archive
        self.git("init", "-q", where=self.folder)  # which somebody unpacked inside another repository
        self.git("add", "source", where=self.folder)
        self.git("commit", "-q", "-m", "theirs", where=self.folder)
        self.assertEqual(self.built(), "unknown")
        self.git("init", "-q")  # a repository without a commit
        self.assertEqual(self.built(), "unknown")

    def test_worktrees_shallow_clones_links_and_hooks(self):
        head = self.commit()
        (self.source / "main.cpp").write_text("int g;\n")
        last = self.commit("last")
        tree, shallow, link = (self.folder / name for name in ("tree", "shallow", "link"))
        self.git("worktree", "add", "-q", "--detach", str(tree), head)
        self.assertEqual(self.built(tree), head)
        subprocess.run(["git", "clone", "-q", "--depth=1", f"file://{self.source}", shallow], check=True, capture_output=True)
        self.assertEqual(self.built(shallow), last)
        link.symlink_to(self.source)
        self.assertEqual(self.built(link), last)
        self.assertEqual(self.built(tree, {"GIT_DIR": str(self.source / ".git"), "GIT_WORK_TREE": str(self.source)}), head)

    def test_without_git_and_where_git_refuses_it_is_unknown(self):
        self.commit()
        self.assertEqual(self.built(env={"GIT_TEST_ASSUME_DIFFERENT_OWNER": "1", "GIT_CONFIG_GLOBAL": "/dev/null"}), "unknown")
        (self.source / ".git" / "HEAD").write_text("damaged")
        self.assertEqual(self.built(), "unknown")


if __name__ == "__main__":
    CMAKE = sys.argv.pop(1)
    unittest.main()
