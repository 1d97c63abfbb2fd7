// ProcessImage::Modules: the files of a process's code as libdw sees them (modules_dwarf.cpp), or,
// in a build without libdw, nothing of them (modules_absent.cpp).
#pragma once

#include "profiler/sample/process_image.h"

namespace gs::sample {

struct ProcessImage::Modules {
    Modules(std::uint32_t pid, std::shared_ptr<SymbolFiles> files);
    ~Modules();
    void add(const CodeMapping& mapping);
    void forget();
    /// Empty where nothing is known of the code.
    std::vector<std::uint64_t> unwind(const PerfRecord& sample);
    /// Fills in the function as its file names it, source and line, as far as they are known.
    void describe(std::uint64_t address, FrameEvent& out);
    std::uint64_t address_of(const CodeMapping& mapping, const char* symbol);

    struct State;
    std::unique_ptr<State> state;
};

}  // namespace gs::sample
