#!/usr/bin/env python3
"""The rules of tools/sass_costs.py and what it reads code with, on objects made up for it byte by byte. Needs no CUDA."""
import ctypes
import pathlib
import struct
import subprocess
import sys
import tempfile
import unittest
import unittest.mock

TOOLS = pathlib.Path(__file__).resolve().parents[2] / "tools"
sys.path.insert(0, str(TOOLS))
import sass_code  # noqa: E402
import sass_costs  # noqa: E402
import sass_flow  # noqa: E402
import sass_gates  # noqa: E402
import sass_operations as ops  # noqa: E402

NAME = "_ZN2gs4cuda4fillENS0_1PE"
ALWAYS_TAKEN = 7 << 23  # a branch's own predicate, in the upper half
FFMA, LDG, IADD3, EXIT, UNKNOWN = 0x223, 0x981, 0x210, 0x94D, 0x1FF


def one(opcode, sets=7, waits=0, stall=1, guard=7, low=0, high=0):
    return (opcode | guard << 12 | low, high | (stall | sets << 5 | 7 << 8 | waits << 11) << 41)


def branch(at, to, guard=0, architecture=90, kind=0):
    """BRA from instruction `at` to `to`, of which a fraction is between two; `kind` as the hardware writes it (2: .DIV)."""
    offset = int((to - at - 1) * 4)
    low, high = one(0x947, guard=guard)
    if architecture >= 90:
        low |= (offset & 0xFF) << 16
        offset >>= 8
    low |= (offset & 0x3FFFFFFF) << 34 | kind << 32
    return low & (1 << 64) - 1, high | offset >> 30 & 0x3FFFF | ALWAYS_TAKEN


def line_program(rows):
    """DWARF 2 line numbers of one kernel: (instruction, file, line); the address is filled in by a relocation."""
    files = sorted({f for _, f, _ in rows})
    head = struct.pack("<BBbBB", 1, 1, -5, 14, 10) + bytes(9) + b"\0"
    head += b"".join(f.encode() + b"\0\0\0\0" for f in files) + b"\0"
    program, address, line = b"\0\x09\x02" + bytes(8), 0, 1
    for n, file, at in rows:
        program += b"\x04" + bytes([files.index(file) + 1])
        program += b"\x03" + bytes([(at - line) & 0x7F])
        if n * 16 != address:
            program += b"\x09" + struct.pack("<H", n * 16 - address)
        program += b"\x01"
        address, line = n * 16, at
    body = struct.pack("<HI", 2, len(head)) + head + program + b"\0\x01\x01"
    return struct.pack("<I", len(body)) + body, 4 + 6 + len(head) + 3


def cubin(code, name=NAME, registers=24, shared=0, lines=(), helpers=(), tables=b""):
    """An ELF file with one kernel."""
    strings = b"\0" + name.encode() + b"\0helper\0"
    helper_name = len(name) + 2
    text = struct.pack(f"<{2 * len(code)}Q", *(half for pair in code for half in pair))
    sections = [("", b"", 0), (".shstrtab", b"", 0), (".strtab", strings, 0), (".symtab", None, 2), (".text." + name, text, 0),
                (".nv.info", struct.pack("<HHII", 0x2F04, 8, 1, registers), 0), (".nv.shared." + name, bytes(shared), 0)]
    symbols = struct.pack("<IBBHQQ", 0, 0, 0, 0, 0, 0) + struct.pack("<IBBHQQ", 1, 0, 0, 4, 0, len(text))
    for at in helpers:
        symbols += struct.pack("<IBBHQQ", helper_name, 0, 0, 4, at * 16, 0)
    sections[3] = (".symtab", symbols, 2)
    if lines:
        program, address_at = line_program(lines)
        sections += [(".debug_line", program, 0), (".rela.debug_line", struct.pack("<QQq", address_at, 1 << 32 | 2, 0), 0)]
    if tables:
        sections.append((".nv.info." + name, tables, 0))
    names = b"".join(s[0].encode() + b"\0" for s in sections)
    sections[1] = (".shstrtab", names, 0)
    data, rows, name_at = b"", [], 0
    for label, content, link in sections:
        rows.append(struct.pack("<IIQQQQIIQQ", name_at, 1, 0, 0, 64 + len(data), len(content), link, 0, 1, 0))
        name_at += len(label) + 1
        data += content
    head = b"\x7fELF\x02\x01\x01" + bytes(33) + struct.pack("<Q", 64 + len(data)) + bytes(10)
    head += struct.pack("<HHH", 64, len(rows), 1)
    return head + data + b"".join(rows)


def entry(kind, architecture, content, flags=0x11):
    return struct.pack("<HHIQIIHHIIIQ", kind, 0x101, 48, len(content), 0, 0, 0, 0, architecture, 0, 0, flags) + content


def compressed(kind, architecture, content, size=None):
    """An entry as nvcc --compress-mode=size writes it, padded. `size`: what the entry says of its content."""
    zstd, frame = ctypes.CDLL("libzstd.so.1"), ctypes.create_string_buffer(len(content) + 100)
    used = zstd.ZSTD_compress(frame, ctypes.c_size_t(len(frame)), content, ctypes.c_size_t(len(content)), 19)
    padded = frame.raw[:used] + bytes(-used % 8)
    return struct.pack("<HHIQIIHHIIIQQQ", kind, 0x101, 64, len(padded), used, 0, 0, 0, architecture, 0, 0, 0x8011, 0,
                       len(content) if size is None else size) + padded


def fatbin(*entries):
    body = b"".join(entries)
    return b"object" + struct.pack("<IHHQ", 0xBA55ED50, 1, 16, len(body)) + body + b"end"


def kernel(code, architecture=90, **about):
    return sass_code.kernels(cubin(code, **about), architecture)[0]


def loops(code, architecture=90, **about):
    return sass_flow.loops_of(sass_flow.Flow(kernel(code, architecture, **about)))


def rows(code, architecture=90, file="renderer/raster/cuda/a.cu", **about):
    found = sass_costs.Found()
    found.read_object(file, fatbin(entry(2, architecture, cubin(code, **about))))
    return found


class Code(unittest.TestCase):
    def test_reads_instructions(self):
        k = kernel([one(FFMA, sets=3, waits=0b100001, stall=11, guard=9), one(EXIT)], registers=40, shared=2048)
        self.assertEqual((k.mangled, k.registers, k.shared), (NAME, 40, 1024))  # 1,024 bytes are the system's on 9.0
        self.assertEqual(kernel([one(EXIT)], 80, shared=2048).shared, 2048)
        i = k.code[0]
        self.assertEqual((i.operation, i.guard, i.stall, i.sets, i.waits), (0x023, 9, 11, 3, 0b100001))
        self.assertEqual(ops.kind_of(i.operation, 90), ("FFMA", "fp32"))

    def test_branches_of_both_encodings(self):
        for architecture in (80, 89, 90, 100, 120):
            for at, to in ((0, 1), (5, 2), (3, 100000), (70000, 3), (1, 300.25)):
                low, high = branch(at, to, architecture=architecture)
                self.assertEqual(sass_code.branch_target(at, sass_code.decode(low, high), architecture), to)

    def test_lines_of_the_source(self):
        k = kernel([one(FFMA), one(FFMA), one(FFMA), one(EXIT)], lines=[(0, "a.cu", 10), (2, "b.cuh", 7), (3, "a.cu", 12)])
        self.assertEqual(k.lines, {0: ("a.cu", 10), 2: ("b.cuh", 7), 3: ("a.cu", 12)})

    def test_fat_binaries(self):
        elf = cubin([one(EXIT)])
        self.assertEqual(sass_code.fat_entries(fatbin(entry(1, 90, b".version 9.0"), entry(2, 80, elf))),
                         [(1, 90, b".version 9.0"), (2, 80, elf)])
        with self.assertRaisesRegex(sass_code.BadCode, "fat binary of"):
            sass_code.fat_entries(fatbin(entry(2, 90, elf))[:200])

    def test_compressed_fat_binaries(self):
        elf, text = cubin([one(EXIT)] * 100), b".version 9.0" + bytes(50)
        data = fatbin(compressed(1, 90, text), compressed(2, 90, elf), entry(2, 80, elf))
        self.assertLess(len(data), 2 * len(elf))
        self.assertEqual(sass_code.fat_entries(data), [(1, 90, text), (2, 90, elf), (2, 80, elf)])
        magic = data.index(b"\x28\xb5\x2f\xfd")
        for damaged in (data[:magic] + b"damaged" + data[magic + 7:], fatbin(compressed(2, 90, elf, len(elf) + 1)),
                        fatbin(compressed(2, 90, elf, len(elf) - 1))):
            with self.assertRaisesRegex(sass_code.BadCode, "damaged entry"):
                sass_code.fat_entries(damaged)
        with unittest.mock.patch("ctypes.CDLL", side_effect=OSError("not found")):
            with self.assertRaisesRegex(sass_code.BadCode, "libzstd.so.1"):
                sass_code.fat_entries(data)
        with self.assertRaisesRegex(sass_code.BadCode, "--no-compress"):
            sass_code.fat_entries(fatbin(entry(2, 90, elf, flags=0x2011)))

    def test_damaged_files_are_told(self):
        for damaged in (b"no ELF", cubin([one(EXIT)])[:-70]):
            with self.assertRaises(sass_code.BadCode):
                sass_code.kernels(damaged, 90)


class Loops(unittest.TestCase):
    # 0 FFMA; outer 1..7: 1 FFMA, inner 2..4: 2 FFMA 3 IADD3 4 BRA 2; 5 BRA 7 (skips 6); 6 LDG; 7 BRA 1; 8 EXIT
    NEST = [one(FFMA), one(FFMA), one(FFMA), one(IADD3, stall=4), branch(4, 2), branch(5, 7), one(LDG), branch(7, 1), one(EXIT)]

    def test_nesting_and_what_belongs_to_whom(self):
        outside, outer, inner = loops(self.NEST)
        self.assertEqual([(l.index, l.parent, l.depth, l.own) for l in (outside, outer, inner)],
                         [(0, 0, 0, [0, 8]), (1, 0, 1, [1, 5, 6, 7]), (2, 1, 2, [2, 3, 4])])
        self.assertEqual([l.least for l in (outside, outer, inner)], [2, 3, 3])
        whole, _, first, second = rows(self.NEST).named()
        self.assertEqual((whole["loop"], whole["issue"], whole["fp32"], whole["ldg"]), ("kernel", 9, 3, 1))
        self.assertEqual((first["issue"], first["ldg"], first["control"], first["depth"]), (4, 1, 2, 1))
        self.assertEqual((second["issue"], second["int"], second["stall"], second["parent"]), (3, 1, 6, 1))

    def test_parted_lanes_and_helpers_belong_to_no_loop(self):
        # 0 FFMA 1 BRA.DIV 5, 2 CALL 7, 3 BRA 0, 4 EXIT; 5 SHFL 6 BRA 2; 7 MUFU 8 RET
        call = (branch(2, 7, guard=7)[0] & ~0xFFF | 0x944, branch(2, 7)[1])
        code = [one(FFMA), branch(1, 5, guard=7, kind=2), call, branch(3, 0), one(EXIT), one(0x389), branch(6, 2, guard=7),
                one(0x308), one(0x950)]
        outside, loop = loops(code, helpers=[7])
        self.assertEqual((outside.own, loop.own), ([4], [0, 1, 2, 3]))
        # where no function begins, a call is a jump
        self.assertEqual([l.own for l in loops(code)], [[0, 1, 2, 7, 8]])

    def test_jumps_by_table(self):
        code = [one(0x949), one(EXIT), one(FFMA), branch(3, 2), one(EXIT)]
        table = struct.pack("<HHIIIII", 0x3404, 20, 0, 0, 2, 0x10, 0x20)
        outside, loop = loops(code, tables=table)
        self.assertEqual((outside.own, loop.own), ([0, 1, 4], [2, 3]))


class Rounds(unittest.TestCase):
    def rounds(self, code):
        return [l.rounds for l in loops(code)]

    def test_loads_together_cost_one_round_in_a_row_one_each(self):
        together = [one(LDG, sets=0), one(LDG, sets=1), one(FFMA, waits=0b01), one(FFMA, waits=0b10), one(EXIT)]
        self.assertEqual(self.rounds(together), [1])
        in_a_row = [one(LDG, sets=0), one(LDG, sets=0, waits=1), one(FFMA, waits=1), one(EXIT)]
        self.assertEqual(self.rounds(in_a_row), [2])
        nobody_waits = [one(LDG, sets=0), one(EXIT)]
        self.assertEqual(self.rounds(nobody_waits), [0])
        shared = [one(0x984, sets=0), one(FFMA, waits=1), one(EXIT)]
        self.assertEqual(self.rounds(shared), [0])

    def test_the_longer_way_counts(self):
        # 0 BRA 3 skips two loads in a row; the load after it adds one
        code = [branch(0, 3), one(LDG, sets=0), one(LDG, sets=0, waits=1), one(LDG, sets=1, waits=1), one(FFMA, waits=2)]
        code.append(one(EXIT))
        self.assertEqual(self.rounds(code), [3])

    def test_a_loop_counts_what_a_trip_adds(self):
        loads_then_waits = [one(LDG, sets=0), one(FFMA, waits=1), branch(2, 0), one(EXIT)]
        self.assertEqual(self.rounds(loads_then_waits), [0, 1])
        for_the_next_trip = [one(FFMA, waits=1), one(LDG, sets=0), branch(2, 0), one(EXIT)]
        self.assertEqual(self.rounds(for_the_next_trip), [0, 1])
        two_trips_ahead = [one(FFMA, waits=1), one(LDG, sets=0), one(FFMA), one(LDG, sets=1), branch(4, 0), one(EXIT)]
        self.assertEqual(self.rounds(two_trips_ahead), [0, 1])

    def test_loads_of_inner_loops_count_there_alone(self):
        # 0 LDG, inner 1..3 loads and waits, 4 waits for the load before the inner loop, 5 BRA 0
        code = [one(LDG, sets=0), one(LDG, sets=1), one(FFMA, waits=2), branch(3, 1), one(FFMA, waits=1), branch(5, 0)]
        code.append(one(EXIT))
        self.assertEqual(self.rounds(code), [0, 1, 1])
        self.assertEqual(sass_flow.rounds_once(sass_flow.Flow(kernel(code))), 1)


class Table(unittest.TestCase):
    def code(self, more=0, loads=1):
        trip = [one(FFMA)] * (40 + more) + [one(LDG, sets=0), one(FFMA, waits=1)] * loads
        return trip + [branch(len(trip), 0), one(EXIT)]

    def test_growth(self):
        before = rows(self.code()).named()
        self.assertEqual(sass_costs.compare(before, before), [])
        self.assertEqual(sass_costs.compare(rows(self.code(more=2)).named(), before), [])
        self.assertEqual(sass_costs.compare(rows(self.code(more=-9)).named(), before), [])
        self.assertEqual(sass_costs.compare(rows(self.code(more=3)).named(), before),
                         ["fill (renderer/raster/cuda/a.cu, architecture 90), loop 1 (): 46 instructions, 43 in the table"])
        wrong = sass_costs.compare(rows(self.code(more=-2, loads=2)).named(), before)
        self.assertEqual(len(wrong), 2)  # of the loop, and of the kernel as a whole
        self.assertIn("waits for memory 2 times in a row, 1 in the table", wrong[0])

    def test_new_gone_and_other_loops(self):
        before = rows(self.code()).named()
        fill = "fill (renderer/raster/cuda/a.cu, architecture 90)"
        self.assertEqual(sass_costs.compare(before, []), [fill + " is not in the table"])
        self.assertEqual(sass_costs.compare(rows(Loops.NEST).named(), before), [fill + " has other loops: 2, 1 in the table"])
        other = rows(self.code(), file="b.cu").named()
        self.assertEqual(sass_costs.compare(other, before), ["fill (b.cu, architecture 90) is not in the table",
                                                             fill + " is in the table, but not in the build"])
        # what the build has no code for is not looked at
        self.assertEqual(sass_costs.compare(before, before + rows(self.code(), 80, file="c.cu").named()), [])

    def test_a_decoder_that_is_wrong_complains(self):
        self.assertEqual(rows([one(FFMA)] * 99 + [one(UNKNOWN), one(EXIT)]).complaints(), [])
        self.assertRegex(rows([one(FFMA)] * 50 + [one(UNKNOWN), one(EXIT)]).complaints()[0], r"over 1 % of 52: 0x1ff of arch")
        self.assertRegex(rows([branch(0, 1.5), one(EXIT)]).complaints()[0], "branch at instruction 0 goes to 1.5, of 2")
        self.assertRegex(rows([branch(0, 7), one(EXIT)]).complaints()[0], "branch at instruction 0 goes to 7, of 2")
        self.assertRegex(rows([one(EXIT)] + [one(FFMA)] * 9).complaints()[0], "only 10% of it is reached")

    def test_what_is_stored_is_read_again(self):
        with tempfile.TemporaryDirectory() as folder:
            sass_costs.STORED, sass_costs.PAGE = pathlib.Path(folder, "gpu/costs.csv"), pathlib.Path(folder, "page.md")
            sass_costs.PAGE.write_text(f"head\n{sass_costs.BEGIN}\nold\n{sass_costs.END}\ntail\n", encoding="utf-8")
            before = rows(self.code(), shared=4096).named()
            sass_costs.store(before, "13.0")
            toolkit, stored = sass_costs.load_stored(sass_costs.STORED)
            self.assertEqual(toolkit, "13.0")
            self.assertEqual(sass_costs.compare(before, stored), [])
            self.assertEqual((stored[0]["registers"], stored[0]["shared"], stored[1]["shared"]), (24, 3072, ""))
            page = sass_costs.PAGE.read_text(encoding="utf-8")
            self.assertNotIn("old", page)
            self.assertTrue(page.startswith("head\n") and page.endswith("tail\n"))

    def test_goals(self):
        found = rows(self.code(), file="renderer/raster/cuda/a.cu", shared=4096).named()
        goal = sass_gates.Goal("a.cu", "fill", sass_costs.WHOLE, 44, 24, 3072)
        self.assertEqual(sass_gates.missed(found, (goal, goal._replace(loop="1", issue=43, registers=0, shared=0))), [])
        self.assertEqual(sass_gates.missed(found, (goal._replace(issue=43, registers=23, shared=3071),)),
                         ["fill (a.cu), kernel: issue 44, at most 43 is the goal",
                          "fill (a.cu), kernel: registers 24, at most 23 is the goal",
                          "fill (a.cu), kernel: shared 3072, at most 3071 is the goal"])
        self.assertEqual(sass_gates.missed(found, (goal._replace(loop="2"),)), ["fill (a.cu), 2: not there"])

    def test_the_launcher_keeps_the_ptx(self):
        with tempfile.TemporaryDirectory() as folder:
            compiler, target = pathlib.Path(folder, "compiler"), pathlib.Path(folder, "a.o")
            made = pathlib.Path(folder, "made")
            entries = entry(1, 80, b"older"), entry(1, 90, b".version 9.0\0\0"), entry(2, 90, cubin([one(EXIT)]))
            made.write_bytes(fatbin(*entries))
            compiler.write_text(f"#!/bin/sh\ncp {made} $4\n", encoding="utf-8")
            compiler.chmod(0o755)
            command = [sys.executable, str(TOOLS / "ptxas_log.py"), str(compiler), "-c", "a.cu", "-o", str(target)]
            subprocess.run(command, check=True)
            self.assertEqual(pathlib.Path(f"{target}.ptx").read_bytes(), b".version 9.0")
            made.write_bytes(b"no code")
            subprocess.run(command, check=True)
            self.assertFalse(pathlib.Path(f"{target}.ptx").exists())


if __name__ == "__main__":
    unittest.main()
