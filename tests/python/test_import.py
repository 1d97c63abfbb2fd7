"""What importing the module costs and loads."""
import os
import subprocess
import sys
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


if __name__ == "__main__":
    unittest.main()
