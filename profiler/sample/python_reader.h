// PythonReader: the Python functions a thread of another process is in, read from its memory while
// it runs (CPython 3.9 and later, nothing of it is stopped or changed). What moves under the
// reader's eyes ends a stack early. Used by StackSampler.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "profiler/sample/process_image.h"
#include "profiler/sample/python_layout.h"

namespace gs::sample {

struct PythonFrame {
    FrameEvent frame;
    bool entry = false;  ///< native code called it: the frames above are of another evaluation
};

/// The version in "libpython3.11.so.1.0" or "python3.9", as 3.11 is 0x030b; 0: no Python's file.
std::uint32_t python_version_in(const std::string& path);

class PythonReader {
  public:
    /// Null: the process runs no Python that is known, or it has not begun yet. `why`: what a user
    /// should know of it, empty when nothing.
    static std::unique_ptr<PythonReader> find(std::uint32_t pid, ProcessImage& image,
                                              std::string& why);
    /// Innermost first, at most 256; empty: the thread is none of Python's. What lies on the stack
    /// is taken from the sample.
    std::vector<PythonFrame> stack_of(const PerfRecord& sample);

  private:
    struct Code {
        std::uint64_t name = 0, file = 0;  // distinguishes code objects at one address
        std::uint32_t first_line = 0;
        FrameEvent frame;
        std::string lines;
    };
    PythonReader(std::uint32_t pid, std::uint64_t runtime, const PythonLayout& layout)
        : pid_(pid), runtime_(runtime), layout_(layout) {}
    bool read(std::uint64_t address, void* out, std::size_t bytes) const;
    std::uint64_t pointer(std::uint64_t address) const;
    std::uint64_t state_of(std::uint32_t tid);
    std::uint32_t thread_number(std::uint64_t state) const;
    const Code* code_at(std::uint64_t address);
    std::string text_at(std::uint64_t address) const;
    std::uint32_t line_of(const Code& code, std::uint64_t code_at,
                          const unsigned char* frame) const;

    std::uint32_t pid_;
    std::uint64_t runtime_;
    PythonLayout layout_;
    const PerfRecord* sample_ = nullptr;
    std::unordered_map<std::uint32_t, std::uint64_t> states_;  // by thread
    std::unordered_map<std::uint64_t, Code> codes_;
    std::size_t code_bytes_ = 0;  ///< of their line tables, or more
};

/// UTF-8 of a string object's characters of `kind` bytes. Empty when they are no text: the object
/// was being made or freed.
std::string python_text(const std::string& characters, std::size_t kind, bool ascii);
/// The line of a code object at a byte of its bytecode.
std::uint32_t python_line(const std::string& table, PythonLayout::Lines kind,
                          std::uint32_t first_line, std::int64_t byte);

}  // namespace gs::sample
