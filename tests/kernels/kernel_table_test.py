#!/usr/bin/env python3
"""The rules of tools/kernel_table.py and the log of tools/ptxas_log.py, on messages made up for it. Needs no CUDA."""
import pathlib
import subprocess
import sys
import tempfile
import unittest

TOOLS = pathlib.Path(__file__).resolve().parents[2] / "tools"
sys.path.insert(0, str(TOOLS))
import kernel_table  # noqa: E402

BLEND = "_ZN2gs4cuda12_GLOBAL__N_15blendILb1EEEvNS0_11BlendParamsE"
SAID = f"""ptxas info    : 0 bytes gmem
ptxas info    : Compiling entry function '{BLEND}' for 'sm_90'
ptxas info    : Function properties for {BLEND}
    16 bytes stack frame, 8 bytes spill stores, 12 bytes spill loads
ptxas info    : Used 64 registers, used 1 barriers, 14464 bytes smem
ptxas info    : Compiling entry function '_ZN2gs4cuda4fillENS0_1PE' for 'sm_90a'
ptxas info    : Function properties for _ZN2gs4cuda4fillENS0_1PE
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 12 registers, used 0 barriers
ptxas info    : Compiling entry function '_ZN3cub7sort_itEv' for 'sm_90'
ptxas info    : Function properties for _ZN3cub7sort_itEv
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 255 registers, used 0 barriers
"""


def rows(file="renderer/raster/cuda/blend.cu", text=SAID):
    return kernel_table.name_all(kernel_table.parse(file, text))


class Table(unittest.TestCase):
    def test_reads_what_ptxas_says(self):
        blend, fill = rows()
        self.assertEqual([blend["kernel"], fill["kernel"]], ["blend<true>", "fill"])
        self.assertEqual([blend[k] for k in kernel_table.FIELDS[2:]], [64, 14464, 16, 8, 12])
        self.assertEqual([fill[k] for k in kernel_table.FIELDS[2:]], [12, 0, 0, 0, 0])
        self.assertEqual(fill["architecture"], "90")

    def test_blend_may_not_spill_others_may(self):
        table = rows()
        self.assertIn("blend<true> (renderer/raster/cuda/blend.cu) spills: 8 bytes stored, 12 loaded",
                      kernel_table.compare(table, table, True))
        elsewhere = rows("renderer/raster/cuda/project.cu")
        self.assertEqual(kernel_table.compare(elsewhere, elsewhere, True), [])
        # also with another toolkit
        self.assertEqual(len(kernel_table.compare(table, table, False)), 1)

    def test_registers_may_grow_a_little(self):
        before = rows("a.cu")
        for grown, complaints in ((8, 0), (9, 1)):
            after = rows("a.cu", SAID.replace("Used 12 registers", f"Used {12 + grown} registers"))
            self.assertEqual(len(kernel_table.compare(after, before, True)), complaints)
            self.assertEqual(kernel_table.compare(after, before, False), [])

    def test_new_and_gone_kernels_are_named(self):
        table = rows("a.cu")
        self.assertEqual(kernel_table.compare(table, table[:1], True), ["fill (a.cu) is not in the table"])
        self.assertEqual(kernel_table.compare(table[:1], table, True),
                         ["fill (a.cu) is in the table, but not in the build"])

    def test_log_keeps_resources_and_passes_the_rest_on(self):
        with tempfile.TemporaryDirectory() as folder:
            compiler, target = pathlib.Path(folder, "compiler"), pathlib.Path(folder, "a.o")
            said = pathlib.Path(folder, "said")
            said.write_text(SAID + "a.cu(3): warning #1: planted\n", encoding="utf-8")
            compiler.write_text(f"#!/bin/sh\ncat {said} >&2\n[ \"$1\" = -c ]\n", encoding="utf-8")
            compiler.chmod(0o755)
            run = [sys.executable, str(TOOLS / "ptxas_log.py"), str(compiler)]
            done = subprocess.run(run + ["-c", "a.cu", "-o", str(target)], capture_output=True, text=True, check=False)
            self.assertEqual((done.returncode, done.stderr), (0, "a.cu(3): warning #1: planted\n"))
            self.assertEqual(pathlib.Path(f"{target}.ptxas").read_text(encoding="utf-8"), SAID)
            self.assertEqual(subprocess.run(run + ["-E"], capture_output=True, check=False).returncode, 1)


if __name__ == "__main__":
    unittest.main()
