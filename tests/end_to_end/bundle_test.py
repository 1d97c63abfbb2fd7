#!/usr/bin/env python3
"""The bundle, as its receiver has it: unpacked into a fresh folder, in a file system with nothing else but libc.

bundle_test.py ARCHIVE. Where a root of its own cannot be had (no right to chroot), the loader is asked what it would take
instead, with an empty environment.
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import unittest

ARCHIVE = pathlib.Path(sys.argv.pop(1)) if len(sys.argv) > 1 else pathlib.Path()
LIBC = re.compile(r"^(libc|libm|libdl|libpthread|librt|libresolv)\.so|^ld-linux")
INJECTION = "libgausscope_inject.so"
CHROOT = ["chroot"] if os.geteuid() == 0 else ["unshare", "-r", "chroot"]


def run(command, **options):
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=300, **options)


def loaded(program: pathlib.Path) -> dict[str, str]:
    """What the loader takes for each library, in an empty environment."""
    text = run(["ldd", str(program)], env={"PATH": os.environ["PATH"]}).stdout
    return dict(re.findall(r"^\s*(\S+) => (.*?)(?: \(0x[0-9a-f]+\))?$", text, re.M))


class Bundle(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(tempfile.mkdtemp())
        with tarfile.open(ARCHIVE) as archive:
            archive.extractall(cls.folder)
        cls.root = cls.folder / ARCHIVE.name.removesuffix(".tar.gz")
        cls.program = cls.root / "bin/gausscope"

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.folder)

    def bare_system(self) -> pathlib.Path:
        """A root file system of libc, its loader, the bundle, an empty /tmp, and a name in /proc."""
        system = self.folder / "system"
        if system.exists():
            return system
        shutil.copytree(self.root, system / "opt/gausscope")
        (system / "tmp").mkdir()
        # The loader learns from /proc where the program lies; mounting the real one takes more rights than chroot.
        (system / "proc/self").mkdir(parents=True)
        (system / "proc/self/exe").symlink_to("/opt/gausscope/bin/gausscope")
        files = [line for line in run(["ldd", str(self.program)]).stdout.split() if line.startswith("/")]
        for file in files:
            if LIBC.match(os.path.basename(file)):
                to = system / file.lstrip("/")
                to.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(file, to)
        return system

    def in_bare_system(self, *words: str):
        system = self.bare_system()
        done = run([*CHROOT, str(system), "/opt/gausscope/bin/gausscope", *words], env={"PATH": "/usr/bin:/usr/sbin:/bin"})
        if "Operation not permitted" in done.stderr:
            self.skipTest("no right to a root file system of its own: " + done.stderr.strip())
        return done

    def test_is_small(self):
        self.assertLess(ARCHIVE.stat().st_size, 40 << 20)

    def test_holds_only_files_of_its_own(self):
        with tarfile.open(ARCHIVE) as archive:
            for entry in archive:
                self.assertTrue(entry.isfile() or entry.isdir(), entry.name)
                self.assertNotIn("..", entry.name)
        for name in ("README", "share/licenses/libtbb12.txt", "share/licenses/libimgui-dev.txt",
                     "share/licenses/fonts-roboto-unhinted.txt"):
            self.assertTrue((self.root / name).is_file(), name)

    def test_has_no_libc_and_no_driver(self):
        for file in (self.root / "lib").rglob("*.so*"):
            self.assertIsNone(re.match(r"^(libc|libm|libdl|libpthread|librt|libcuda|libcudart|libGLX_|libEGL_)\W", file.name),
                              file.name)

    def test_libraries_come_from_the_bundle(self):
        own = {f.name for f in (self.root / "lib").glob("*.so*")} - {INJECTION}
        fallback = {f.name for f in (self.root / "lib/fallback").glob("*.so*")}
        taken = loaded(self.program)
        self.assertLessEqual(own, set(taken))
        for name, file in taken.items():
            self.assertNotEqual(file, "not found", name)
            if name in own:
                self.assertTrue(file.startswith(str(self.program.parent)) or file.startswith(str(self.root)), file)
            else:
                self.assertTrue(name in fallback or LIBC.match(name), f"{name} from {file}")

    def test_its_library_for_other_programs_needs_libc_alone(self):
        needs = run(["readelf", "-d", str(self.root / "lib" / INJECTION)]).stdout
        needed = re.findall(r"\(NEEDED\).*\[(.*)\]", needs)
        self.assertTrue(needed, needs)
        for name in needed:
            self.assertRegex(name, LIBC)
        trace = self.root / "t.pftrace"
        done = run([str(self.program), "record", "--pytorch", "-o", str(trace), "--", str(self.program), "--version"])
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertNotIn("injection library", done.stderr)

    def test_starts_with_nothing_but_libc(self):
        done = self.in_bare_system("--version")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertRegex(done.stdout, r"^gausscope \d+\.\d+\.\d+$")

    def test_computes_with_nothing_but_libc(self):
        done = self.in_bare_system("selftest", "--quick", "--backend", "cpu")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertRegex(done.stdout, r"(?m)^ok +CPU")

    def test_says_that_there_is_no_driver(self):
        done = self.in_bare_system("bench", "--backend", "cuda")
        self.assertEqual(done.returncode, 2)
        self.assertRegex(done.stderr, r"(?m)^error: the CUDA backend cannot be used: (no NVIDIA driver|.* built without CUDA)")


if __name__ == "__main__":
    unittest.main()
