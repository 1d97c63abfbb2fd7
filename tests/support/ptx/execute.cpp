#include "tests/support/ptx/execute.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/check.h"
#include "tests/support/ptx/block.h"

namespace gs::ptx {

Kernel::Kernel(std::shared_ptr<const Program> program) : program_(std::move(program)) {}
const std::string& Kernel::name() const { return program_->name; }
std::size_t Kernel::parameter_bytes() const { return program_->parameter_bytes; }
int Kernel::most_threads() const { return program_->most_threads; }
std::size_t Kernel::shared_bytes() const { return program_->shared_bytes; }
std::size_t Kernel::instructions() const { return program_->code.size(); }

std::string_view Program::file_of(std::size_t instruction) const {
    const int file = locations[instruction].file;
    const bool known = file >= 0 && static_cast<std::size_t>(file) < files.size();
    return known ? std::string_view(files[static_cast<std::size_t>(file)]) : std::string_view();
}
Source Program::source(std::size_t instruction) const {
    const Location& at = locations[instruction];
    return {at.ptx_line, std::string(file_of(instruction)), at.line};
}

std::string_view word(FaultKind kind) {
    switch (kind) {
        case FaultKind::out_of_bounds:
            return "out of bounds";
        case FaultKind::misaligned:
            return "misaligned";
        case FaultKind::uninitialised:
            return "uninitialised value";
        case FaultKind::shared_race:
            return "race on shared memory";
        case FaultKind::barrier_divergence:
            return "divergent barrier";
        case FaultKind::bad_mask:
            return "lane outside its own mask";
        case FaultKind::absent_lane:
            return "lane of the mask is not there";
        case FaultKind::absent_source:
            return "shuffle from a lane that is not there";
        case FaultKind::trap:
            return "trap";
        case FaultKind::endless:
            return "does not end";
    }
    return "";
}

std::string Fault::text() const {
    return fmt::format("{}: {}{}block {}, thread {}, {} (PTX line {}: {}){}", word(kind), detail,
                       detail.empty() ? "" : "; ", block, thread,
                       source.file.empty() ? std::string("no source line")
                                           : fmt::format("{}:{}", source.file, source.line),
                       source.ptx_line, instruction,
                       count > 1 ? fmt::format(", {} times", count) : std::string());
}

Counts& Counts::operator+=(const Counts& more) {
    issued += more.issued;
    lanes += more.lanes;
    sectors += more.sectors;
    wavefronts += more.wavefronts;
    conflicts += more.conflicts;
    atomics += more.atomics;
    return *this;
}

std::vector<LineCounts> Report::by_line() const {
    std::map<std::pair<std::string, int>, Counts> lines;
    for (const InstructionCounts& i : instructions) {
        lines[{std::string(i.file), i.line}] += i.counts;
    }
    std::vector<LineCounts> sorted;
    for (const auto& [place, counts] : lines) sorted.push_back({place.first, place.second, counts});
    std::stable_sort(sorted.begin(), sorted.end(), [](const LineCounts& a, const LineCounts& b) {
        return a.counts.issued > b.counts.issued;
    });
    return sorted;
}

void Report::add(const Report& other) {
    if (instructions.empty()) {
        *this = other;
        return;
    }
    CHECK(instructions.size() == other.instructions.size(), "reports of two kernels");
    for (std::size_t n = 0; n < instructions.size(); ++n) {
        instructions[n].counts += other.instructions[n].counts;
    }
    total += other.total;
    faults.insert(faults.end(), other.faults.begin(), other.faults.end());
}

Report execute(const Kernel& kernel, Grid grid, std::span<const std::byte> parameters,
               Memory& memory, const Options& options) {
    CHECK(parameters.size() == kernel.parameter_bytes(), "{} bytes of parameters, {} takes {}",
          parameters.size(), kernel.name(), kernel.parameter_bytes());
    CHECK(grid.threads > 0 && grid.threads <= 1024, "blocks of {} threads", grid.threads);
    Block block(*kernel.program(), memory, parameters, grid, options);
    for (unsigned n = 0; n < grid.blocks && !block.stopped(); ++n) block.run(n);
    Report report = block.report();
    report.program = kernel.program();
    return report;
}

}  // namespace gs::ptx
