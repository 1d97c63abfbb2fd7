"""What the operations of SASS are: number (bits 0-8 of an instruction) to name and class, from Ampere to Blackwell.

The classes are the resources of a multiprocessor that an instruction takes besides its issue slot. The numbers hold for
architectures 8.0 to 12.0 but where RENUMBERED says otherwise; from 0x080 to 0x0bf they are the uniform datapath's.
"""
CLASSES = ("fp32", "half", "int", "uniform", "mufu", "lds", "sts", "ldg", "stg", "shfl", "vote", "atomic", "control", "other")

# class: number name, ...
_TABLE = {
    "fp32": "008 FSEL, 009 FMNMX, 00a FSET, 00b FSETP, 020 FMUL, 021 FADD, 022 FSWZADD, 023 FFMA, 076 FMNMX3",
    "half": "030 HADD2, 031 HFMA2, 032 HMUL2, 033 HSET2, 034 HSETP2, 035 HFMA2.MMA, 040 HMNMX2, 03e F2FP",
    "int": "002 MOV, 007 SEL, 00c ISETP, 010 IADD3, 011 LEA, 012 LOP3, 013 IABS, 014 VABSDIFF, 016 PRMT, 017 IMNMX, "
           "019 SHF, 01a SGXT, 01b BMSK, 024 IMAD, 025 IMAD.WIDE, 026 IDP, 027 IMAD.HI, 036 VIADD, 045 I2FP, "
           "046 VIADDMNMX, 048 VIMNMX, 04a VIADDMNMX",
    "uniform": "1c2 R2UR, 1c3 S2UR, 1ac LDCU",
    # at the rate of the special function unit: also conversions and bit searches
    "mufu": "100 FLO, 101 BREV, 102 FCHK, 104 F2F, 105 F2I, 106 I2F, 107 FRND, 108 MUFU, 109 POPC",
    "lds": "184 LDS, 03b LDSM",
    "sts": "188 STS",
    "ldg": "180 LD, 181 LDG, 183 LDL, 1ae LDGSTS",
    "stg": "185 ST, 186 STG, 187 STL",
    "shfl": "189 SHFL",
    "vote": "006 VOTE, 1a1 MATCH, 1c4 REDUX",
    "atomic": "18a ATOM, 18c ATOMS, 18e RED, 1a3 ATOM, 1a6 RED, 1a8 ATOMG, 1a9 ATOMG",
    "control": "118 NOP, 11a DEPBAR, 11b ENDCOLLECTIVE, 11c B2R, 11d BAR, 141 BSYNC, 142 BREAK, 143 CALL.ABS, "
               "144 CALL.REL, 145 BSSY, 146 YIELD, 147 BRA, 148 WARPSYNC, 149 BRX, 14d EXIT, 150 RET, 15b KILL, "
               "15c BPT, 15d NANOSLEEP, 02d PREEXIT, 02e ACQBULK",
    "other": "003 P2R, 004 R2P, 005 CS2R, 01c PLOP3, 028 DMUL, 029 DADD, 02a DSETP, 02b DFMA, 110 F2F.F64, 111 F2I.F64, "
             "112 I2F.F64, 119 S2R, 182 LDC, 192 MEMBAR, 1ab ERRBAR, 18f CCTL",
}
RENUMBERED = {(100, 0x035): ("IADD", "int"), (120, 0x035): ("IADD", "int")}
UNIFORM = range(0x080, 0x0C0)
_UNIFORM_ALSO = range(0x0C0, 0x0D0)  # from and to the uniform registers: R2UR and its kin

OPERATIONS = {}
for _class, _rows in _TABLE.items():
    for _row in _rows.split(", "):
        _number, _name = _row.split(" ")
        OPERATIONS[int(_number, 16)] = (_name, _class)

# What the flow of control and the scoreboards are made of.
VOTE, SHFL, NOP, DEPBAR, BAR, EXIT, BRA, BRX, RET, BSSY, CALL, WARPSYNC = (
    0x006, 0x189, 0x118, 0x11A, 0x11D, 0x14D, 0x147, 0x149, 0x150, 0x145, 0x144, 0x148)
LOADS = frozenset((0x180, 0x181, 0x183, 0x18A, 0x1A3, 0x1A8, 0x1A9))  # from global and local memory; atomics also answer


def kind_of(operation: int, architecture: int) -> tuple[str, str] | None:
    """(name, class), or nothing where the table does not know it."""
    if found := RENUMBERED.get((architecture, operation)):
        return found
    if operation in UNIFORM or operation in _UNIFORM_ALSO:
        return f"uniform {operation:03x}", "uniform"
    return OPERATIONS.get(operation)
