"""The examples of docs/python.md run as they stand, one after the other, in an empty folder."""
import contextlib
import importlib.util
import io
import os
import pathlib
import re
import tempfile
import unittest

PAGE = pathlib.Path(__file__).parents[2] / "docs/python.md"


class Page(unittest.TestCase):
    def test_examples(self):
        examples = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
        self.assertGreaterEqual(len(examples), 6)
        have_torch = importlib.util.find_spec("torch") is not None
        if importlib.util.find_spec("numpy") is None:
            self.skipTest("NumPy is not installed")
        before = os.getcwd()
        with tempfile.TemporaryDirectory() as folder:
            os.chdir(folder)
            self.addCleanup(os.chdir, before)
            for number, example in enumerate(examples):
                said = io.StringIO()
                with self.subTest(number), contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
                    if not have_torch and ("import torch" in example or "gausscope.inria" in example):
                        self.skipTest("PyTorch is not installed")
                    exec(compile(example, f"{PAGE}, example {number + 1}", "exec"), {})
            os.chdir(before)


if __name__ == "__main__":
    unittest.main()
