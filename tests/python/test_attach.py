"""gausscope.attach(): what a trainer hands over, and that nothing a viewer does, or its absence, ends or slows a run."""
import fcntl
import os
import signal
import tempfile
import threading
import time
import unittest
import warnings
from unittest import mock

from attaching import (CAPTURE, HAVE_TORCH, HELLO, NEVER, PARAMETER, RECORD, RELEASE, RUN_TO, SET, SNAPSHOT, STEP, WANT, Attached,
                       Looker, gaussians, rows_of, write_png)
import gausscope
import numpy as np
from gausscope.photos import Photos


class HandingOver(Attached):
    def test_nothing_is_copied_while_nobody_looks(self):
        viewer = self.attach()
        for step in range(1000):
            self.assertEqual(viewer.step(step, 0.1, **gaussians()), {})
            self.assertEqual(viewer.wait(), {})
        self.assertEqual((viewer.copies, viewer._slots, viewer.watched, viewer.share), (0, [], False, 0.0))
        looker = Looker()  # it looks, and wants no picture
        viewer.step(1000, 0.1, **gaussians())
        self.assertEqual(viewer.copies, 0)
        kinds = [r["kind"] for r in looker.receive()]
        self.assertEqual((kinds[0], set(kinds)), (HELLO, {HELLO, STEP}))

    def test_viewers_are_looked_for_now_and_then(self):
        with mock.patch("gausscope.viewer._PIECE_S", 1e9):
            viewer = self.attach()
            viewer.step(0, **gaussians())
            looker = Looker()
            looker.send(WANT)
            with mock.patch.object(viewer, "_answer", side_effect=AssertionError):
                for step in range(1, 100):
                    viewer.step(step, **gaussians())
                self.assertRaisesRegex(gausscope.Error, "quats", viewer.step, 5, **{**gaussians(6), "quats": np.zeros((5, 4))})
            viewer._next_look = 0
            viewer.step(100, **gaussians())
            self.assertEqual([r["step"] for r in looker.of(SNAPSHOT)], [100])

    def test_a_snapshot_has_the_numbers_of_any_array(self):
        viewer = self.attach()
        for kind in (np.float64, np.float32, np.float16):
            given = {name: array.astype(kind) for name, array in gaussians(7).items()}
            given["means"] = np.asfortranarray(given["means"])
            given["quats"] = np.concatenate([given["quats"]] * 2, axis=1)[:, ::2]
            given["opacities"] = given["opacities"][:, None]
            looker, record = self.looked_at(viewer, **given, gradients=np.arange(7))
            self.assertEqual((record["a"], record["b"], record["step"]), (7, 4 | 4 << 8, 1))
            got = rows_of(record, 3, 4, 3, 1, 3, 9, 1)
            sh = given["sh"].reshape(7, -1)
            want = [given["means"], given["quats"], given["scales"], given["opacities"], sh[:, :3], sh[:, 3:],
                    np.arange(7)[:, None]]
            for a, b in zip(got, want):
                np.testing.assert_array_equal(a, b.astype(np.float32))
            looker.socket.close()
            viewer.step(2, **given)

    def test_colours_and_layouts(self):
        viewer = self.attach()
        given = gaussians(3)
        sh = given.pop("sh")
        colors = np.array([[0.5, 1, 0]] * 3)
        record = self.looked_at(viewer, **given, colors=colors)[1]
        self.assertEqual(record["b"], 1)
        np.testing.assert_allclose(0.5 + 0.28209479 * rows_of(record, 11, 3)[1], colors, atol=1e-6)
        record = self.looked_at(viewer, **given, sh0=sh[:, :1], shN=sh[:, 1:], layout="stored", antialiased=True)[1]
        self.assertEqual(record["b"], 4 | 3 << 8)

    def test_nan_and_no_gaussians_are_handed_over(self):
        viewer = self.attach()
        given = gaussians(2)
        given["means"][0, 1] = np.nan
        given["scales"][1, 1] = np.inf
        record = self.looked_at(viewer, **given)[1]
        self.assertTrue(np.isnan(rows_of(record, 3)[0][0, 1]))
        self.assertEqual(self.looked_at(viewer, **gaussians(0))[1]["a"], 0)

    def test_a_count_that_changes_with_every_step(self):
        viewer = self.attach()
        looker = Looker()
        for step in range(60):
            looker.send(WANT)
            viewer.seconds = 0
            given = gaussians(3 + (step * 37) % 101)
            viewer.step(step, **given)
            record = looker.of(SNAPSHOT)[0]
            np.testing.assert_array_equal(rows_of(record, 3)[0], given["means"].astype(np.float32))
            os.close(record["memory"])
            self.assertLessEqual(len(viewer._slots), 3)

    def test_shared_memory_cannot_shrink_and_is_not_the_trainers(self):
        viewer = self.attach()
        given = gaussians()
        looker, record = self.looked_at(viewer, **given)
        self.assertRaises(OSError, os.ftruncate, record["memory"], 16)
        self.assertTrue(fcntl.fcntl(record["memory"], 1034) & 2)  # F_GET_SEALS, F_SEAL_SHRINK
        before = given["means"].copy()
        os.pwrite(record["memory"], b"\xff" * 60, 0)
        np.testing.assert_array_equal(given["means"], before)

    def test_what_is_read_is_not_written_over(self):
        viewer = self.attach()
        first, held = self.looked_at(viewer, **gaussians(seed=1))
        was = rows_of(held, 3)[0].copy()
        second = Looker()
        for step in range(2, 9):
            second.send(WANT)
            viewer.seconds = 0
            viewer.step(step, **gaussians(seed=step))
        self.assertEqual(len(second.of(SNAPSHOT)), 7)
        np.testing.assert_array_equal(rows_of(held, 3)[0], was)
        self.assertLessEqual(len(viewer._slots), 3)

    def test_where_every_slot_is_read_a_copy_is_skipped(self):
        viewer = self.attach()
        lookers = [self.looked_at(viewer)[0] for _ in range(3)]
        last = Looker()
        last.send(WANT)
        viewer.seconds = 0
        viewer.step(9, **gaussians())
        self.assertEqual((viewer.copies, last.of(SNAPSHOT)), (3, []))
        lookers[0].send(RELEASE)
        viewer.step(10, **gaussians())
        self.assertEqual((viewer.copies, last.of(SNAPSHOT)[0]["step"]), (4, 10))

    def test_the_budget_is_kept_and_reported(self):
        viewer = self.attach(budget=0.01)
        looker, _ = self.looked_at(viewer)
        viewer.seconds = 5.0
        with mock.patch("time.perf_counter", return_value=viewer._last_step):
            for step in range(2, 50):
                looker.send(WANT)
                viewer.step(step, **gaussians())
        self.assertEqual((viewer.copies, looker.of(STEP)), (1, []))
        looked_since = viewer._looked_since
        with mock.patch("time.perf_counter", return_value=looked_since + 400):
            viewer.step(50, **gaussians())
            self.assertEqual(viewer.copies, 1)
        with mock.patch("time.perf_counter", side_effect=(looked_since + 499 + 0.01 * i for i in range(1000))):
            viewer.step(51, **gaussians())
        self.assertEqual(viewer.copies, 2)
        self.assertGreater(viewer.seconds, 5)
        self.assertAlmostEqual(looker.of(STEP)[-1]["values"][2], 0.01, places=4)

    def test_a_copy_that_a_gpu_is_still_doing_is_handed_over_later(self):
        """With the events of a GPU that is not here."""
        viewer = self.attach()
        looker = Looker()
        looker.send(WANT)
        end = mock.Mock(query=mock.Mock(return_value=False))
        with mock.patch("gausscope.viewer.fill", return_value=[mock.Mock(elapsed_time=lambda _: 250.0), end]):
            viewer.step(1, **gaussians())
            looker.send(WANT)
            viewer.step(2, **gaussians())
            self.assertEqual((viewer.copies, looker.of(SNAPSHOT)), (1, []))
            end.query.return_value = True
            viewer.step(3, **gaussians())
        self.assertEqual([r["step"] for r in looker.of(SNAPSHOT)], [1])
        self.assertGreater(viewer.seconds, 0.25)
        looker.send(WANT)
        viewer.step(4, **gaussians())
        self.assertEqual(viewer.copies, 1)  # that was more than the budget

    def test_loss_and_logged_numbers(self):
        viewer = self.attach(steps=500, name="mine")
        looker = Looker()
        viewer.step(7, 0.25, **gaussians(), log={"psnr": 21.5, "rate": np.float32(2)})
        hello, step, psnr, rate = looker.receive()
        self.assertEqual((hello["text"], hello["a"], hello["b"]), ("mine", 500, os.getpid()))
        self.assertEqual((step["step"], step["a"], step["values"][0]), (7, 5, 0.25))
        self.assertEqual([(r["text"], r["values"][0]) for r in (psnr, rate)], [("psnr", 21.5), ("rate", 2)])

    @unittest.skipUnless(HAVE_TORCH, "PyTorch is not installed")
    def test_tensors_of_a_trainer(self):
        import torch
        viewer = self.attach()
        splats = torch.nn.ParameterDict({
            "means": torch.randn(6, 3), "quats": torch.randn(6, 4), "scales": torch.randn(6, 3), "opacities": torch.randn(6),
            "sh0": torch.randn(6, 1, 3), "shN": torch.randn(6, 15, 3)})
        for kind in (torch.float32, torch.float64, torch.bfloat16):
            given = {name: tensor.to(kind) for name, tensor in splats.items()}
            looker, record = self.looked_at(viewer, **given, layout="stored")
            self.assertEqual(record["b"], 16 | 1 << 8)
            got = rows_of(record, 3, 4, 3, 1, 3, 45)
            for name, rows in zip(("means", "quats", "scales", "opacities", "sh0", "shN"), got):
                want = given[name].detach().float().reshape(6, -1).numpy()
                np.testing.assert_array_equal(rows, want, name)
        self.assertTrue(splats["means"].requires_grad)

    def test_what_does_not_fit_is_said_when_nobody_looks_too(self):
        viewer = self.attach()
        good = gaussians()
        for change, words in (
                ({"means": np.zeros((5, 2))}, r"means: \[N, 3\] is needed, not \[5, 2\]"),
                ({"quats": np.zeros((4, 4))}, r"quats: \[5, 4\] is needed for 5 means, not \[4, 4\]"),
                ({"scales": np.zeros(5)}, r"scales: \[5, 3\]"),
                ({"opacities": np.zeros((5, 2))}, r"opacities: \[5\]"),
                ({"sh": np.zeros((5, 5, 3))}, "1, 4, 9 or 16 bases"),
                ({"sh": np.zeros((5, 3))}, "1, 4, 9 or 16 bases"),
                ({"sh": None}, "colours as one of"),
                ({"colors": np.zeros((5, 3))}, "colours as one of"),
                ({"sh": None, "sh0": np.zeros((5, 1, 3)), "shN": np.zeros((5, 4, 3))}, "bases"),
                ({"sh": None, "sh0": np.zeros((5, 1, 3)), "shN": np.zeros((4, 3, 3))}, r"shN: \[5, 3, 3\]"),
                ({"gradients": np.zeros(6)}, r"gradients: \[5\]"),
                ({"layout": "log"}, 'layout is "linear"'),
                ({"means": [[0, 0, 0]]}, "not list")):
            with self.subTest(words), self.assertRaisesRegex(gausscope.Error, words):
                viewer.step(0, **{**good, **change})
        self.assertRaisesRegex(gausscope.Error, "was called before", gausscope.attach)
        viewer.close()
        for options, words in (({"budget": 0}, "budget"), ({"editable": {"lr": (3, 0, 1)}}, "'lr'"),
                               ({"capture": "x" * 500}, "path of the capture")):
            with self.subTest(words), self.assertRaisesRegex(gausscope.Error, words):
                gausscope.attach(**options)


class GivenPhotos(Attached):
    def test_photos_become_a_capture_in_the_trainers_coordinates(self):
        turn = np.array([[0, -1, 0], [1, 0, 0], [0, 0, 1.0]])
        view = np.eye(4)
        view[:3, :3], view[:3, 3] = turn, (1, 2, 3)
        K = np.array([[30, 0, 16], [0, 31, 12], [0, 0, 1.0]])
        paths = []
        for name in ("a", "b"):
            paths.append(os.path.join(os.path.dirname(self.folder), name + ".png"))
            write_png(paths[-1], np.full((24, 32, 3), 40, np.uint8))
        viewer = self.attach(photos=[dict(path=paths[0], viewmat=view, K=K, size=(32, 24)),
                                     dict(path=paths[1], viewmat=np.eye(4), K=2 * K, size=(64, 48), test=True)])
        capture = gausscope.Capture(viewer.capture)
        self.assertEqual([os.path.basename(v.name) for v in (*capture.train, *capture.test)], ["a.png", "b.png"])
        np.testing.assert_allclose(capture.train[0].viewmat, view, atol=1e-6)
        np.testing.assert_allclose(capture.test[0].K, K, atol=1e-5)  # the photo is half as large as K is for
        self.assertTrue((capture.train[0].photo() == 40).all())
        looker = Looker()
        viewer.step(0, **gaussians())
        self.assertEqual(looker.of(CAPTURE)[0]["text"], viewer.capture)
        viewer.close()
        self.assertFalse(os.path.exists(viewer.capture))

    def test_photos_in_memory_are_written_when_somebody_looks(self):
        K = np.array([[30, 0, 16], [0, 31, 12], [0, 0, 1.0]])
        pixels = np.arange(24 * 32 * 3, dtype=np.uint8).reshape(24, 32, 3)
        floats = np.linspace(0, 1, 24 * 32 * 3, dtype=np.float32).reshape(24, 32, 3)[:, ::-1]
        viewer = self.attach(photos=[dict(image=pixels, viewmat=np.eye(4), K=K),
                                     dict(image=floats, viewmat=np.eye(4), K=2 * K, size=(64, 48), test=True)])
        viewer.step(0, **gaussians())
        self.assertEqual(os.listdir(viewer.capture), ["transforms.json"])
        looker = Looker()
        time.sleep(0.06)
        viewer.step(1, **gaussians())
        self.assertEqual(looker.of(CAPTURE)[0]["text"], viewer.capture)
        capture = gausscope.Capture(viewer.capture)
        np.testing.assert_array_equal(capture.train[0].photo(), pixels)
        np.testing.assert_array_equal(capture.test[0].photo(), np.floor(floats * 255 + 0.5))
        np.testing.assert_allclose(capture.test[0].K, K, atol=1e-5)
        viewer.close()
        self.assertFalse(os.path.exists(viewer.capture))

    def test_folders_of_killed_trainers_go_and_those_in_use_stay(self):
        photo = dict(image=np.zeros((4, 4, 3)), viewmat=np.eye(4), K=np.eye(3))
        dead = tempfile.mkdtemp(prefix="gausscope-photos-")
        with open(os.path.join(dead, "transforms.json"), "w"), open(os.path.join(dead, "00000.png"), "w"):
            pass
        viewer = self.attach(photos=[photo])
        self.assertFalse(os.path.exists(dead))
        Photos([photo]).close()  # as another trainer would
        self.assertTrue(os.path.exists(viewer.capture))

    def test_writing_photos_delays_no_picture(self):
        photo = dict(image=np.zeros((4, 4, 3)), viewmat=np.eye(4), K=np.eye(3), size=np.array([4, 4]))
        viewer = self.attach(photos=[photo], budget=0.5)
        looker = Looker()
        with mock.patch("gausscope.photos.write_png", lambda *_: time.sleep(0.5)):
            viewer.step(0, **gaussians())
        looker.send(WANT)
        time.sleep(0.06)
        viewer.step(1, **gaussians())
        self.assertEqual(len(looker.of(SNAPSHOT)), 1)

    def test_a_full_disk_costs_only_the_photos(self):
        viewer = self.attach(photos=[dict(image=np.zeros((4, 4, 3)), viewmat=np.eye(4), K=np.eye(3))])
        os.unlink(os.path.join(viewer.capture, "transforms.json"))
        os.rmdir(viewer.capture)
        looker = Looker()
        with self.assertWarnsRegex(RuntimeWarning, "photos"):
            viewer.step(0, **gaussians())
        self.assertEqual(looker.of(CAPTURE), [])

    def test_photos_that_do_not_fit(self):
        for image, words in ((np.zeros((4, 4)), "height"), (np.zeros((4, 4, 3), np.int32), "int32"), (7, "tensors")):
            with self.assertRaisesRegex(gausscope.Error, words):
                gausscope.attach(photos=[dict(image=image, viewmat=np.eye(4), K=np.eye(3))])
        for photo in ({}, {"path": "a.png", "K": 3, "viewmat": 4}, {"path": "a.png", "K": np.eye(2), "viewmat": np.eye(4)}):
            with self.assertRaisesRegex(gausscope.Error, r"photos\[0\]: give dict"):
                gausscope.attach(photos=[photo])
        self.assertRaisesRegex(gausscope.Error, "not both", gausscope.attach, photos=[{}], capture="x")


class Control(Attached):
    def test_pause_set_and_continue(self):
        viewer = self.attach(editable={"lr": (1e-3, 0, 1), "decay": 0.5})
        looker = Looker()
        viewer.step(0, **gaussians())
        self.assertEqual([(r["text"], r["values"][:4]) for r in looker.of(PARAMETER)],
                         [("lr", [1e-3, 0, 1, 1e-3]), ("decay", [0.5, -float("inf"), float("inf"), 0.5])])
        looker.send(RUN_TO, 0)
        looker.send(SET, text="lr", value=0.25)
        looker.send(SET, text="lr", value=7)  # out of its range
        looker.send(SET, text="nonsense", value=1)
        self.assertEqual(viewer.step(1, **gaussians()), {"lr": 0.25})
        self.assertEqual((viewer["lr"], viewer["decay"]), (0.25, 0.5))
        looker.send(SET, text="decay", value=0.75)
        looker.send(RUN_TO, 3)
        self.assertEqual(viewer.wait(), {"decay": 0.75})
        self.assertEqual([r["values"][3:5] for r in looker.of(STEP)], [[0, 0], [1, 1], [0, 1]])
        viewer.step(2, **gaussians())
        self.assertFalse(viewer._paused())
        viewer.step(3, **gaussians())
        self.assertTrue(viewer._paused())
        looker.send(RUN_TO, NEVER)
        self.assertEqual(viewer.wait(), {})

    def test_a_paused_training_hands_over_whatever_the_budget_says(self):
        viewer = self.attach()
        looker, _ = self.looked_at(viewer)
        viewer.seconds = float("inf")
        looker.send(RUN_TO, 0)
        given = gaussians(seed=9)
        viewer.step(5, **given)
        looker.send(WANT)
        looker.send(RUN_TO, NEVER)
        viewer.wait()
        viewer.step(6, **gaussians())
        self.assertEqual(looker.of(SNAPSHOT), [])  # it continued before it was asked again
        looker.send(RUN_TO, 0)
        viewer.step(7, **given)
        self.assertEqual([r["step"] for r in looker.of(SNAPSHOT)], [7])

    def test_it_continues_when_the_viewer_that_paused_it_dies(self):
        viewer = self.attach()
        looker, other = Looker(), Looker()
        looker.send(RUN_TO, 0)
        viewer.step(0, **gaussians())
        looker.socket.close()
        self.assertEqual(viewer.wait(), {})
        self.assertEqual(len(viewer._peers), 1)

    def test_ctrl_c_ends_a_wait(self):
        viewer = self.attach()
        Looker().send(RUN_TO, 0)
        looker = Looker()
        looker.send(RUN_TO, 0)
        viewer.step(0, **gaussians())
        signal.signal(signal.SIGALRM, signal.default_int_handler)
        self.addCleanup(signal.signal, signal.SIGALRM, signal.SIG_DFL)
        signal.setitimer(signal.ITIMER_REAL, 0.2)
        self.assertRaises(KeyboardInterrupt, viewer.wait)

    def test_four_viewers_and_no_more(self):
        viewer = self.attach()
        lookers = []
        for _ in range(4):
            lookers.append(Looker())
            viewer.step(0, **gaussians())
        fifth = Looker()
        viewer.step(1, **gaussians())
        self.assertIn("4 viewers are connected", fifth.receive()[0]["text"])
        lookers[0].socket.close()
        viewer.step(2, **gaussians())
        sixth = Looker()
        viewer.step(3, **gaussians())
        self.assertEqual(sixth.receive()[0]["kind"], HELLO)

    def test_another_user_is_refused(self):
        viewer = self.attach()
        looker = Looker()
        with mock.patch("os.geteuid", return_value=os.geteuid() + 1), \
                mock.patch("struct.unpack", return_value=(1, os.getuid() or 12345, 0)):
            viewer.step(0, **gaussians())
        self.assertEqual((viewer.watched, looker.receive()), (False, [None]))
        self.assertEqual(os.stat(os.path.join(self.folder, f"{os.getpid()}.training")).st_mode & 0o777, 0o600)
        self.assertEqual(os.stat(self.folder).st_mode & 0o777, 0o700)

    def test_an_unsafe_folder_is_refused(self):
        os.mkdir(self.folder)
        os.chmod(self.folder, 0o755)
        self.assertRaisesRegex(gausscope.Error, "others can access it", gausscope.attach)
        os.rmdir(self.folder)
        os.symlink("/tmp", self.folder)
        self.assertRaisesRegex(gausscope.Error, "cannot be used", gausscope.attach)

    def test_nonsense_ends_its_connection_alone(self):
        viewer = self.attach()
        good = Looker()
        for nonsense in (b"x", b"y" * 512, b"z" * 600, RECORD.pack(b"GSTR", 2, WANT, 0, 0, 0, *[0.0] * 8, b"")):
            bad = Looker()
            bad.socket.send(nonsense)
            viewer.step(0, **gaussians())
            self.assertIn(None, bad.receive())
        good.send(999)
        good.send(SET, text="ü" * 100, value=float("nan"))
        viewer.step(1, **gaussians())
        self.assertEqual(len(viewer._peers), 1)

    def test_a_viewer_that_does_not_read_stops_nobody(self):
        viewer = self.attach(editable={"lr": (0.1, 0, 1)})
        slow = Looker()
        given = gaussians()
        last = -1
        while not any(peer.lost for peer in viewer._peers):
            last += 1
            viewer.seconds = 0  # within the budget, however busy the machine
            viewer.step(last, 0.5, **given)
        # Steps may be lost on the way, that it waits and what changed may not.
        slow.send(RUN_TO, 0)
        slow.send(SET, text="lr", value=0.25)
        while not viewer._paused():
            viewer.step(last, 0.5, **given)
        waits = threading.Thread(target=viewer.wait)
        waits.start()
        told = []
        while not any(r["kind"] == STEP and r["values"][3] == 1 for r in told):
            told += slow.receive(wait=True)
        self.assertEqual([r["values"][0] for r in told if r["kind"] == PARAMETER], [0.1, 0.25])
        self.assertEqual([r["step"] for r in told], sorted(r["step"] for r in told))
        slow.send(RUN_TO, NEVER)
        waits.join(60)
        self.assertFalse(waits.is_alive())

    def test_a_viewer_that_asks_and_never_reads_is_let_go(self):
        viewer = self.attach(editable={"lr": (0.1, 0, 1)})
        slow = Looker()
        given = gaussians()
        viewer.step(0, 0.5, **given)
        self.assertTrue(viewer.watched)
        while viewer.watched:
            for _ in range(100):
                slow.send(SET, text="lr", value=0.5)
            viewer.step(1, 0.5, **given)

    def test_what_fails_in_handing_over_is_a_warning(self):
        viewer = self.attach()
        looker = Looker()
        looker.send(WANT)
        with mock.patch("os.memfd_create", side_effect=OSError("no memory")), warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            viewer.step(0, **gaussians())
            viewer._not_before = 0
            viewer.step(1, **gaussians(), log={"x": object()})
        self.assertEqual(len(said), 2)
        self.assertIn("no memory", str(said[0].message))


if __name__ == "__main__":
    unittest.main()
