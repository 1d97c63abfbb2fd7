// Where CPython keeps what a debugger wants to know, version by version. Used by PythonReader.
#pragma once

#include <cstdint>
#include <optional>

namespace gs::sample {

/// Offsets in bytes on 64-bit machines, from the headers of each version; 3.11's are proven
/// here, 3.13 and later tell their own (_Py_DebugOffsets).
struct PythonLayout {
    enum class Lines : std::uint8_t { pairs_3_9, pairs_3_10, locations };
    enum class Entry : std::uint8_t {
        every,  ///< each frame is a call of the evaluation function of its own
        flag,   ///< `entry` is a byte that says so
        shim,   ///< `entry` is a byte, 3 in the frame that stands for the call alone
    };
    std::uint64_t interpreters = 0;                   ///< of _PyRuntime: the first interpreter
    std::uint64_t next_interpreter = 0, threads = 0;  ///< of an interpreter
    std::uint64_t next_thread = 8;                    ///< of a thread's state
    std::uint64_t native_id = 0;  ///< its number as the kernel counts; 0: only pthread's is there
    std::uint64_t pthread = 0;
    std::uint64_t frame = 0;  ///< the innermost frame
    std::optional<std::uint64_t>
        through{};  ///< it is reached by what `frame` points to, at this place
    std::uint64_t previous = 0, code = 0, instruction = 0, entry = 0;  ///< of a frame
    std::uint64_t file = 0, name = 0, lines = 0, first_line = 0;       ///< of a code object
    std::uint64_t text = 0;      ///< of a string: its characters, when all are ASCII
    std::uint64_t bytecode = 0;  ///< of a code object; 0: `instruction` is a number, not an address
    Lines line_kind = Lines::locations;
    Entry entry_kind = Entry::shim;
};

constexpr PythonLayout kPython39{.interpreters = 32,
                                 .threads = 8,
                                 .pthread = 176,
                                 .frame = 24,
                                 .previous = 24,
                                 .code = 32,
                                 .instruction = 104,
                                 .file = 104,
                                 .name = 112,
                                 .lines = 120,
                                 .first_line = 40,
                                 .text = 48,
                                 .line_kind = PythonLayout::Lines::pairs_3_9,
                                 .entry_kind = PythonLayout::Entry::every};
constexpr PythonLayout kPython310 = [] {
    PythonLayout out = kPython39;
    out.instruction = 96;
    out.line_kind = PythonLayout::Lines::pairs_3_10;
    return out;
}();
constexpr PythonLayout kPython311{.interpreters = 40,
                                  .threads = 16,
                                  .native_id = 160,
                                  .frame = 56,
                                  .through = 8,
                                  .previous = 48,
                                  .code = 32,
                                  .instruction = 56,
                                  .entry = 68,
                                  .file = 112,
                                  .name = 128,
                                  .lines = 136,
                                  .first_line = 72,
                                  .text = 48,
                                  .bytecode = 184,
                                  .entry_kind = PythonLayout::Entry::flag};
constexpr PythonLayout kPython312{.interpreters = 40,
                                  .threads = 72,
                                  .native_id = 144,
                                  .frame = 56,
                                  .through = 0,
                                  .previous = 8,
                                  .code = 0,
                                  .instruction = 56,
                                  .entry = 70,
                                  .file = 112,
                                  .name = 128,
                                  .lines = 136,
                                  .first_line = 68,
                                  .text = 40,
                                  .bytecode = 192};

/// Of a version without offsets of its own, as 3.11 is 0x030b; none: it is not known.
inline std::optional<PythonLayout> python_layout(std::uint32_t version) {
    switch (version) {
        case 0x0309:
            return kPython39;
        case 0x030a:
            return kPython310;
        case 0x030b:
            return kPython311;
        case 0x030c:
            return kPython312;
        default:
            return {};
    }
}

}  // namespace gs::sample
