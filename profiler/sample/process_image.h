// ProcessImage: the code a process has in memory: what a thread's stack was, from its registers and
// a copy of the stack (DWARF by libdw; built without it, as frame pointers tell), and what is at an
// address. What is known of a file is known once for all processes. Used by StackSampler.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "profiler/sample/perf_events.h"
#include "profiler/store/sample_event.h"

namespace gs::sample {

class SymbolFiles;  ///< process_image.cpp

/// A stretch of a file's code in memory.
struct CodeMapping {
    std::uint64_t address = 0, length = 0, offset = 0;
    std::string path;
    bool operator==(const CodeMapping&) const = default;
};

/// True where stacks are unwound by DWARF and functions have names.
bool has_unwinder();

/// Symbols of files, for the images of many processes.
std::shared_ptr<SymbolFiles> make_symbol_files();

class ProcessImage {
  public:
    ProcessImage(std::uint32_t pid, std::shared_ptr<SymbolFiles> files);
    ~ProcessImage();
    ProcessImage(const ProcessImage&) = delete;
    ProcessImage& operator=(const ProcessImage&) = delete;

    void map(CodeMapping mapping);
    /// What /proc/PID/maps says, for a process that runs already.
    void map_all();
    const std::vector<CodeMapping>& mappings() const { return mappings_; }
    /// Addresses of code, innermost first; those of callers point behind their call. At most 256.
    std::vector<std::uint64_t> unwind(const PerfRecord& sample);
    /// The function at an address of unwind()'s; `caller`: it points behind a call. It lives until
    /// the next call.
    const FrameEvent& frame_at(std::uint64_t address, bool caller);
    /// The address of a symbol of the mapping's file, 0: it has none of that name. O(symbols).
    std::uint64_t address_of(const CodeMapping& mapping, const char* symbol);

  private:
    struct Modules;
    const CodeMapping* mapping_at(std::uint64_t address) const;
    void load();

    std::uint32_t pid_;
    std::vector<CodeMapping> mappings_;  // in order of address
    std::unordered_map<std::uint64_t, FrameEvent> frames_;
    std::unique_ptr<Modules> modules_;
    std::vector<CodeMapping> unread_;  // most processes end before they are sampled once
};

}  // namespace gs::sample
