"""What nvcc made of a .cu file, read from its object: the code of each kernel as instructions, with source lines.

An object holds a fat binary (section .nv_fatbin): a row of entries, each PTX or an ELF file for one architecture (a cubin).
A cubin has a section .text.KERNEL a kernel; from Volta to Blackwell every instruction is 16 bytes. Of these are read here:

    bits 0-8      operation; 9-11 say of what kind its operands are     bits 12-15   guard: predicate, negated
    bits 105-108  stall: cycles until the warp may issue the next       bits 110-112 scoreboard set when its result is there
    bits 116-121  scoreboards waited for before it issues               branches: branch_target()

tools/sass_flow.py finds loops in it, tools/sass_costs.py counts. No disassembler is needed.
"""
import ctypes
import dataclasses
import pathlib
import struct

FATBIN_MAGIC = 0xBA55ED50
ELF_ENTRY, PTX_ENTRY = 2, 1
LZ4, ZSTANDARD = 0x2000, 0x8000  # flags of an entry
INSTRUCTION = 16  # bytes
NO_SCOREBOARD = 7
ALWAYS = 7  # the guard, and a branch's predicate, that is true
REGISTER_COUNT, JUMP_TABLE = 0x2F04, 0x3404  # of .nv.info: attributes 0x2f and 0x34, values with a length


class BadCode(Exception):
    """The object is not what is described above; says what was expected where."""


@dataclasses.dataclass
class Instruction:
    operation: int  # bits 0-8, the kind of operands taken off
    guard: int      # predicate 0-7, 8 more when negated
    stall: int
    sets: int       # scoreboard, or NO_SCOREBOARD
    waits: int      # a bit a scoreboard
    low: int        # both halves, for what few operations say of their operands
    high: int


@dataclasses.dataclass
class Kernel:
    mangled: str
    architecture: int
    code: list[Instruction]
    registers: int
    shared: int                         # bytes, static; without what the system reserves
    lines: dict[int, tuple[str, int]]   # from the index of the first instruction of a line: file name, line
    tables: dict[int, list[int]]        # of a jump by table: where it may go
    helpers: set[int]                   # where functions of the compiler's own begin that the kernel calls


def decode(low: int, high: int) -> Instruction:
    control = high >> 41
    return Instruction(low & 0x1FF, (low >> 12) & 15, control & 15, (control >> 5) & 7, (control >> 11) & 0x3F, low, high)


def branch_target(index: int, at: Instruction, architecture: int) -> int | float:
    """The index of the instruction that a branch at `index` goes to; a fraction when it goes between two."""
    if architecture < 90:
        offset = (at.low >> 34) | ((at.high & 0x3FFFF) << 30)
        bits = 48
    else:
        offset = (((at.low >> 34) | ((at.high & 0x3FFFF) << 30)) << 8) | ((at.low >> 16) & 0xFF)
        bits = 56
    if offset >> (bits - 1):
        offset -= 1 << bits
    target = index + 1 + offset * 4 / INSTRUCTION
    return int(target) if target == int(target) else target


def decompress(frame: bytes, size: int) -> bytes:
    """Of one Zstandard frame; `size` is that of the content."""
    try:
        zstd = ctypes.CDLL("libzstd.so.1")
    except OSError as error:
        raise BadCode(f"the code is compressed, and without libzstd.so.1 it cannot be read ({error}); install libzstd") from error
    zstd.ZSTD_decompress.restype = ctypes.c_size_t
    content = ctypes.create_string_buffer(size)
    if zstd.ZSTD_decompress(content, ctypes.c_size_t(size), frame, ctypes.c_size_t(len(frame))) != size:
        raise BadCode(f"a damaged entry: its {len(frame)} bytes are not {size} bytes compressed")
    return content.raw


def fat_entries(data: bytes) -> list[tuple[int, int, bytes]]:
    """(kind, architecture, content) of every entry of an object's fat binaries."""
    found, at = [], 0
    while (at := data.find(struct.pack("<I", FATBIN_MAGIC), at)) >= 0:
        _, _, head, size = struct.unpack_from("<IHHQ", data, at)
        at, end = at + head, at + head + size
        if end > len(data):
            raise BadCode(f"a fat binary of {size} bytes in an object of {len(data)}")
        while at + 48 <= end:
            kind, _, head, size = struct.unpack_from("<HHIQ", data, at)
            architecture, = struct.unpack_from("<I", data, at + 28)
            flags, = struct.unpack_from("<Q", data, at + 40)
            content = data[at + head:at + head + size]
            if flags & LZ4:
                raise BadCode("the code is compressed as LZ4; nvcc --no-compress leaves it as it is")
            if flags & ZSTANDARD:  # padded to 8 bytes
                compressed, = struct.unpack_from("<I", data, at + 16)
                whole, = struct.unpack_from("<Q", data, at + 56)
                content = decompress(content[:compressed], whole)
            found.append((kind, architecture, content))
            at += head + size
    return found


class Elf:
    """Sections and symbols of a 64-bit little-endian ELF file."""

    def __init__(self, data: bytes):
        if data[:5] != b"\x7fELF\x02" or len(data) < 64:
            raise BadCode("not a 64-bit ELF file")
        self.data = data
        at, = struct.unpack_from("<Q", data, 40)
        size, count, names = struct.unpack_from("<HHH", data, 58)
        if at + size * count > len(data):
            raise BadCode(f"an ELF file whose {count} sections are not all there")
        rows = [struct.unpack_from("<IIQQQQIIQQ", data, at + i * size) for i in range(count)]
        strings = rows[names][4]
        self.names = [self._string(strings + r[0]) for r in rows]
        self._rows = dict(zip(self.names, rows))
        self.symbols, self.places = [], []  # by index: names, (section, offset)
        if ".symtab" in self._rows:
            texts = rows[self._rows[".symtab"][6]][4]
            table = self.section(".symtab")
            for name, _, _, section, value, _ in struct.iter_unpack("<IBBHQQ", table):
                self.symbols.append(self._string(texts + name))
                self.places.append((section, value))

    def _string(self, at: int) -> str:
        return self.data[at:self.data.index(b"\0", at)].decode()

    def size(self, name: str) -> int:
        return self._rows[name][5] if name in self._rows else 0

    def section(self, name: str) -> bytes:
        """Empty where there is none."""
        if name not in self._rows:
            return b""
        at, size = self._rows[name][4:6]
        return self.data[at:at + size]


class Reader:
    """Takes numbers off bytes, as DWARF writes them."""

    def __init__(self, data: bytes, at: int = 0):
        self.data, self.at = data, at

    def fixed(self, layout: str) -> int:
        value, = struct.unpack_from("<" + layout, self.data, self.at)
        self.at += struct.calcsize("<" + layout)
        return value

    def variable(self, signed: bool = False) -> int:
        value = shift = 0
        while True:
            byte = self.data[self.at]
            self.at += 1
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value - (1 << shift) if signed and byte & 0x40 else value

    def text(self) -> str:
        end = self.data.index(b"\0", self.at)
        found, self.at = self.data[self.at:end].decode(errors="replace"), end + 1
        return found


def source_lines(elf: Elf) -> dict[str, dict[int, tuple[str, int]]]:
    """Of each kernel: from the index of an instruction the file and line it was made of (-lineinfo; DWARF 2 line numbers).
    Where a function was inlined, the line is the function's own."""
    data = elf.section(".debug_line")
    owners = {}
    for section, size in ((".rela.debug_line", 24), (".rel.debug_line", 16)):
        relocations = elf.section(section)
        for at in range(0, len(relocations), size):
            where, info = struct.unpack_from("<QQ", relocations, at)
            owners[where] = elf.symbols[info >> 32]
    found: dict[str, dict[int, tuple[str, int]]] = {}
    read = Reader(data)
    while read.at + 4 < len(data):
        end = read.fixed("I") + read.at
        _run_line_program(read, end, owners, found)
        read.at = end
    return found


def _run_line_program(read: Reader, end: int, owners: dict, found: dict) -> None:
    read.fixed("H")  # version
    program = read.fixed("I") + read.at
    unit, _, base, spread, first_special = (read.fixed(c) for c in "BBbBB")
    read.at += first_special - 1  # how many arguments standard operations have: as the standard says
    while read.text():
        pass  # folders
    files = [""]
    while name := read.text():
        files.append(pathlib.PurePath(name).name)
        for _ in range(3):
            read.variable()
    read.at = program
    address, file, line, rows = 0, 1, 1, {}
    while read.at < end:
        operation = read.fixed("B")
        if operation >= first_special:
            address += (operation - first_special) // spread * unit
            line += base + (operation - first_special) % spread
            rows[address // INSTRUCTION] = (files[file], line)
        elif operation == 0:
            after = read.variable() + read.at
            if (what := read.fixed("B")) == 2:  # from here the code of another kernel
                rows = found.setdefault(owners.get(read.at, ""), {})
                address = read.fixed("Q")
            elif what == 1:
                address, file, line = 0, 1, 1
            read.at = after
        elif operation == 1:
            rows[address // INSTRUCTION] = (files[file], line)
        elif operation == 2:
            address += read.variable() * unit
        elif operation == 3:
            line += read.variable(signed=True)
        elif operation == 4:
            file = read.variable()
        elif operation == 5:
            read.variable()
        elif operation == 8:
            address += (255 - first_special) // spread * unit
        elif operation == 9:
            address += read.fixed("H")


def attributes(elf: Elf, section: str) -> list[tuple[int, bytes]]:
    """(attribute, value) of a section .nv.info."""
    info, found = Reader(elf.section(section)), []
    while info.at + 4 <= len(info.data):
        attribute, size = info.fixed("H"), info.fixed("H")
        size = size if attribute & 0xFF == 4 else 0  # else the value is the size's place
        found.append((attribute, info.data[info.at:info.at + size]))
        info.at += size
    return found


def register_counts(elf: Elf) -> dict[str, int]:
    pairs = [struct.unpack("<II", value) for attribute, value in attributes(elf, ".nv.info") if attribute == REGISTER_COUNT]
    return {elf.symbols[symbol]: count for symbol, count in pairs}


def jump_tables(elf: Elf, name: str) -> dict[int, list[int]]:
    found = {}
    for attribute, value in attributes(elf, ".nv.info." + name):
        at = 0
        while attribute == JUMP_TABLE and at + 12 <= len(value):
            jump, _, count = struct.unpack_from("<III", value, at)
            targets = struct.unpack_from(f"<{count}I", value, at + 12)
            found[jump // INSTRUCTION] = sorted({t // INSTRUCTION for t in targets})
            at += 12 + 4 * count
    return found


def helpers_of(elf: Elf, section: str, name: str) -> set[int]:
    index = elf.names.index(section)
    return {value // INSTRUCTION for symbol, (place, value) in zip(elf.symbols, elf.places)
            if place == index and symbol not in (name, section, "")}


def kernels(cubin: bytes, architecture: int, wanted=lambda mangled: True) -> list[Kernel]:
    elf = Elf(cubin)
    lines, registers, found = source_lines(elf), register_counts(elf), []
    for section in elf.names:
        name = section.removeprefix(".text.")
        if name == section or not wanted(name):
            continue
        text = elf.section(section)
        if len(text) % INSTRUCTION:
            raise BadCode(f"{name}: {len(text)} bytes of code are no whole instructions")
        code = [decode(*pair) for pair in struct.iter_unpack("<QQ", text)]
        shared = elf.size(".nv.shared." + name)
        reserved = 1024 if architecture >= 90 and shared >= 1024 else 0
        found.append(Kernel(name, architecture, code, registers.get(name, 0), shared - reserved, lines.get(name, {}),
                            jump_tables(elf, name), helpers_of(elf, section, name)))
    return found
