"""gausscope.attach() in programs that end, crash, are killed and fork, and the program that follows one."""
import os
import socket
import subprocess
import sys
import unittest

from attaching import HAVE_TORCH, SNAPSHOT, WANT, Attached, Looker, gaussians, rows_of
import gausscope
from gausscope.program import program_path
import numpy as np


class Processes(Attached):
    TRAINER = """
import sys, gausscope, numpy as np
viewer = gausscope.attach(budget=1)
print("ready", flush=True)
g = np.random.default_rng(1)
step = 0
while True:
    n = 50 + step % 7
    viewer.step(step, 1.0, means=g.normal(size=(n, 3)), quats=g.normal(size=(n, 4)), scales=g.uniform(0.1, 1, (n, 3)),
                opacities=g.uniform(0.1, 0.9, n), colors=g.uniform(size=(n, 3)))
    viewer.wait()
    step += 1
"""

    def start(self, code=TRAINER):
        process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        self.assertEqual(process.stdout.readline(), "ready\n")
        return process

    def snapshot(self, looker):
        looker.send(WANT)
        while True:
            for record in looker.receive(wait=True):
                if record["kind"] == SNAPSHOT:
                    return record

    def test_a_killed_trainer_leaves_its_last_whole_snapshot(self):
        process = self.start()
        looker = Looker(process.pid, self.folder)
        self.snapshot(looker)
        record = self.snapshot(looker)
        process.kill()
        process.wait()
        while None not in (records := looker.receive(wait=True)):
            self.assertTrue(records)
        means, quats = rows_of(record, 3, 4)
        self.assertTrue(np.isfinite(means).all() and means.any() and quats.any())
        self.assertRaises(ConnectionRefusedError, Looker, process.pid, self.folder)

    def test_a_trainer_that_raises_says_goodbye(self):
        process = self.start(self.TRAINER.replace("    step += 1", "    step += 1\n    if viewer.copies: 1 / 0"))
        looker = Looker(process.pid, self.folder)
        looker.send(WANT)
        last = []
        while None not in last:
            last += looker.receive(wait=True)
        self.assertEqual(last[-2]["text"], "the training has ended")
        process.wait()
        self.assertEqual(os.listdir(self.folder), [])

    def test_a_child_serves_nobody_and_takes_nothing_away(self):
        viewer = self.attach()
        looker, _ = self.looked_at(viewer)
        child = os.fork()
        if child == 0:
            try:
                looker.send(WANT)
                good = viewer.step(2, **gaussians()) == {} and viewer.wait() == {} and viewer.copies == 1
                viewer.close()
                again = gausscope.attach()  # its own is another
                os._exit(0 if good and again._path != viewer._path else 1)
            except BaseException:
                os._exit(2)
        self.assertEqual(os.waitpid(child, 0)[1], 0)
        viewer.seconds = 0
        viewer.step(3, **gaussians())
        self.assertEqual([r["step"] for r in looker.of(SNAPSHOT)], [3])

    @unittest.skipUnless(HAVE_TORCH, "PyTorch is not installed")
    def test_forked_data_loaders(self):
        import torch
        viewer = self.attach()
        looker = Looker()
        loader = torch.utils.data.DataLoader(list(range(12)), batch_size=2, num_workers=2, multiprocessing_context="fork")
        seen = 0
        for step, batch in enumerate(loader):
            looker.send(WANT)
            viewer.seconds = 0
            viewer.step(step, batch.float().mean(), **gaussians())
            seen += len(looker.of(SNAPSHOT))
        self.assertEqual(seen, 6)

    def test_a_stale_socket_of_our_number_is_replaced(self):
        os.mkdir(self.folder, 0o700)
        stale = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        stale.bind(os.path.join(self.folder, f"{os.getpid()}.training"))
        stale.close()
        viewer = self.attach()
        Looker()
        viewer.step(0, **gaussians())


class Program(Attached):
    start = Processes.start
    TRAINER = Processes.TRAINER.replace("budget=1", "budget=1, editable={'lr': (0.1, 0, 1)}, steps=10**6").replace(
        "    step += 1", "    step += 1\n    if viewer['lr'] == 0.5: break")

    def test_the_studio_follows_pauses_and_changes_a_training(self):
        process = self.start(self.TRAINER)
        picture, window, script = (os.path.join(os.path.dirname(self.folder), name) for name in ("p.png", "w.png", "s.txt"))
        with open(script, "w", encoding="utf-8") as file:
            file.write(f"""wait-loaded
wait-step 20
view.mode isects
wait-frame
train.pause
wait-idle
screenshot {picture} 320 240 plain
train.step 3
wait-idle
screenshot.window {window}
train.set lr 0.5
train.start
wait-idle
quit
""")
        done = subprocess.run([program_path(), "attach", str(process.pid), "--headless", "--backend", "cpu", "--script", script],
                              capture_output=True, text=True)
        if "has no studio" in done.stderr:
            self.skipTest("the program is built without the studio")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertTrue(os.path.getsize(picture) > 500 and os.path.getsize(window) > 5000)
        self.assertEqual(process.wait(60), 0)

    def test_the_list_names_trainings(self):
        process = self.start()
        listed = gausscope.call("attach", progress=False)["processes"]
        self.assertEqual([(one["pid"], one["role"]) for one in listed], [(process.pid, "training")])


if __name__ == "__main__":
    unittest.main()
