"""What type checkers see of the package, by a user's program."""
import importlib.util
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

import gausscope

GOOD = """
import numpy as np
import gausscope

splats: gausscope.Splats = gausscope.load("a.ply")
means: np.ndarray = splats["means"]
view: gausscope.View = gausscope.Capture("photos", downscale=2).train[0]
focal: float = view.K[0, 0]
metrics: dict[str, object] = gausscope.train("photos", "out", steps=100)
worst = gausscope.Run("out").evaluate()["test"]
lost: list[str] = gausscope.save("b.spz", splats)

@gausscope.stage("step")
def step(scale: float) -> float:
    return scale + len(gausscope.Capture.__doc__ or "")

viewer = gausscope.attach(editable={"lr": (1e-3, 0.0, 1.0)}, photos=[{"path": "a.png"}])
changed: dict[str, float] = viewer.step(1, 0.5, means=means, quats=means, scales=means, opacities=means, sh=means)
rate: float = viewer["lr"] * viewer.share

try:
    step(1.0)
except gausscope.Error as error:
    print(error.kind)
"""
BAD = """
import gausscope
number: int = gausscope.load("a.ply")
gausscope.load(3)
gausscope.Capture("photos", downscale="2")
gausscope.nonsense()
"""


class Types(unittest.TestCase):
    def test_every_name_has_a_home(self):
        self.assertEqual(sorted(gausscope.__all__), sorted(gausscope._HOMES))

    @unittest.skipUnless(importlib.util.find_spec("mypy"), "mypy is not installed")
    def test_mypy_passes_a_users_program_and_finds_its_faults(self):
        package = pathlib.Path(gausscope.__file__).parents[1]
        with tempfile.TemporaryDirectory() as folder:
            for name, text in (("good.py", GOOD), ("bad.py", BAD)):
                (pathlib.Path(folder) / name).write_text(text)
                done = subprocess.run([sys.executable, "-m", "mypy", "--strict", "--follow-imports=silent", "--cache-dir",
                                       os.path.join(folder, "cache"), name], cwd=folder, capture_output=True, text=True,
                                      env={**os.environ, "MYPYPATH": str(package)})
                if name == "good.py":
                    self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
                else:
                    self.assertEqual([line.split(":")[1] for line in done.stdout.splitlines()[:-1]], ["3", "4", "5", "6"],
                                     done.stdout + done.stderr)


if __name__ == "__main__":
    unittest.main()
