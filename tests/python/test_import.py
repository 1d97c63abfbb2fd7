"""What importing the module costs and loads."""
import importlib.util
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

import gausscope


class Import(unittest.TestCase):
    def test_loads_neither_torch_nor_numpy(self):
        code = "import gausscope, sys; print(sorted({'torch', 'numpy'} & set(sys.modules)))"
        self.assertEqual(subprocess.check_output([sys.executable, "-c", code], text=True).strip(), "[]")

    def test_version_comes_from_the_library(self):
        self.assertRegex(gausscope.version(), r"^\d+\.\d+\.\d+$")

    def test_names_are_listed_and_others_refused(self):
        self.assertIn("rasterization", dir(gausscope))
        with self.assertRaisesRegex(AttributeError, "nonsense"):
            gausscope.nonsense  # noqa: B018

    def test_an_error_is_what_other_rasterizers_raise(self):
        for kind in (ValueError, RuntimeError, AssertionError):
            self.assertTrue(issubclass(gausscope.Error, kind))

    def test_a_library_that_is_not_there_is_named(self):
        code = "import gausscope\ntry: gausscope.version()\nexcept ImportError as e: print(e)"
        out = subprocess.check_output([sys.executable, "-c", code], text=True, env={
            **os.environ, "GAUSSCOPE_LIBRARY": "/nowhere/lib.so"})
        self.assertIn("/nowhere/lib.so", out)

    def said_of(self, library):
        code = "import gausscope\ntry: gausscope.version()\nexcept ImportError as e: print(e)"
        return subprocess.check_output([sys.executable, "-c", code], text=True,
                                       env={**os.environ, "GAUSSCOPE_LIBRARY": str(library)})

    def test_a_file_that_is_no_library_of_ours_is_named(self):
        with tempfile.TemporaryDirectory() as folder:
            text = pathlib.Path(folder, "text.so")
            text.write_text("no library")
            self.assertIn(f"{text} is not gausscope's library", self.said_of(text))
        other = importlib.util.find_spec("_ctypes")
        if other and other.origin and other.origin.endswith(".so"):
            self.assertIn("is not gausscope's library", self.said_of(other.origin))

    @unittest.skipUnless(shutil.which("cc"), "no C compiler is installed")
    def test_a_library_of_another_version_is_refused(self):
        with tempfile.TemporaryDirectory() as folder:
            source, library = pathlib.Path(folder, "other.c"), pathlib.Path(folder, "libother.so")
            source.write_text('const char* gausscope_version(void) { return "9.8.7"; }\n'
                              'void gausscope_lists_free(void* lists) { (void)lists; }\n')
            subprocess.run(["cc", "-shared", "-fPIC", "-o", library, source], check=True)
            said = self.said_of(library)
        for word in (str(library), "9.8.7", gausscope.version(), "install both together", "GAUSSCOPE_LIBRARY"):
            self.assertIn(word, said)


INTERPRETERS = """
try: import _interpreters as interpreters
except ImportError: import _xxsubinterpreters as interpreters
import gausscope
work = f'''
import gausscope
assert gausscope.version() == {gausscope.version()!r}
for i in range(100):
    with gausscope.stage("inside"): pass
'''
made = [interpreters.create() for i in range(2)]
for i in range(2):
    for one in made:
        wrong = interpreters.run_string(one, work)
        assert not wrong, wrong
for one in made:
    interpreters.destroy(one)
with gausscope.stage("outside"):
    print(gausscope.version())
"""
FILES = """
import os, signal, tempfile, threading
import numpy as np
import gausscope
arrays = dict(means=np.arange(30000.0).reshape(-1, 3), scales=np.ones((10000, 3)), opacities=np.full(10000, 0.5),
              colors=np.full((10000, 3), 0.25))
done = []
with tempfile.TemporaryDirectory() as folder:
    def work(number):
        for i in range(3):
            path = f"{folder}/{number}.ply"
            gausscope.save(path, arrays)
            assert (gausscope.load(path)["means"] == arrays["means"]).all()
            try:
                gausscope.load(f"{folder}/nothing-{number}.ply")
            except gausscope.NotFound as error:
                assert f"nothing-{number}.ply" in str(error), error
            else:
                raise AssertionError("a file was read that does not exist")
        done.append(number)
    threads = [threading.Thread(target=work, args=(n,)) for n in range(8)]
    for thread in threads: thread.start()
    for thread in threads: thread.join()
    assert sorted(done) == list(range(8)), done
    child = os.fork()
    if child == 0:
        signal.alarm(300)
        try:
            work(8)
        finally:
            os._exit(0 if 8 in done else 1)
    print(os.waitpid(child, 0)[1])
"""


class Surroundings(unittest.TestCase):
    def says(self, code, words):
        done = subprocess.run([sys.executable, "-c", code], text=True, capture_output=True)
        self.assertEqual((done.returncode, done.stdout.strip()), (0, words), done.stderr)

    @unittest.skipUnless(any(map(importlib.util.find_spec, ("_interpreters", "_xxsubinterpreters"))),
                         "this Python has no interpreters beside the main one")
    def test_interpreters_beside_each_other(self):
        self.says(INTERPRETERS, gausscope.version())

    @unittest.skipUnless(importlib.util.find_spec("numpy"), "NumPy is not installed")
    def test_files_by_eight_threads_and_in_a_child_after_a_fork(self):
        self.says(FILES, "0")


if __name__ == "__main__":
    unittest.main()
