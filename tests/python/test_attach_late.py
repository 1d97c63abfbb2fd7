"""gausscope.attach(): a viewer that comes when the training has long begun."""
import os
import threading
import time
import unittest

import gausscope
from attaching import GOODBYE, STEP, Attached, Looker, gaussians
import numpy as np


class Late(Attached):
    def test_a_viewer_that_comes_late_gets_the_curves(self):
        viewer = self.attach()
        for step in range(5000):
            viewer.step(step, 5000 - step, log={"psnr": step / 100} if step % 1000 == 0 else None, **gaussians())
        for step in range(5000, 5100):  # names without end are no curves
            viewer.step(step, 0, log={f"loss {step}": 1}, **gaussians())
        looker, got = Looker(), []
        for step in range(5100, 5110):
            time.sleep(0.06)
            viewer.step(step, 0, **gaussians())
            got += looker.receive()
        steps = [r for r in got if r["kind"] == STEP and r["step"] < 5000]
        self.assertGreater(len(steps), 100)
        self.assertEqual(steps[0]["step"], 0)
        self.assertEqual([r["values"][0] for r in steps], [5000 - r["step"] for r in steps])
        self.assertEqual([r["step"] for r in steps], sorted({r["step"] for r in steps}))
        self.assertEqual({r["a"] for r in steps}, {5})
        self.assertEqual([r["step"] for r in got if r["text"] == "psnr"], [0, 1000, 2000, 3000, 4000])
        viewer.close()

    def test_the_end_is_told_behind_all_that_is_owed(self):
        viewer = self.attach()
        for step in range(399):
            viewer.step(step, 1.0, **gaussians())
        looker, got = Looker(), []
        time.sleep(0.06)
        viewer.step(399, 1.0, **gaussians())
        closing = threading.Thread(target=viewer.close)
        closing.start()
        while None not in got:
            got += looker.receive(wait=True)
        closing.join()
        self.assertEqual((got[-2]["kind"], len({r["step"] for r in got[:-2] if r["kind"] == STEP})), (GOODBYE, 399))

    def test_a_function_that_trains_ends_with_its_viewer(self):
        viewer = gausscope.attach()
        looker, _ = self.looked_at(viewer)
        del viewer
        self.assertEqual([r["text"] for r in looker.of(GOODBYE)], ["the training has ended"])
        self.assertEqual(os.listdir(self.folder), [])

    def test_what_is_no_number_ends_no_run(self):
        viewer = self.attach()
        for odd in ({"loss": 10**400}, {"loss": "x"}, {"loss": np.zeros(3)}, {"log": {1: 0.5}}, {"log": {"": 1, "a": object()}},
                    {"log": [("a", 1)]}):
            viewer.step(1, **odd, **gaussians())
        looker = Looker()
        time.sleep(0.06)
        viewer.step(2, 3.0, **gaussians())
        self.assertIn(3.0, [r["values"][0] for r in looker.of(STEP)])
        viewer.close()


if __name__ == "__main__":
    unittest.main()
