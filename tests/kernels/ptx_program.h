// Small programs in PTX, written by hand, and what running them gave. For ptx_*_test.cpp.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tests/support/ptx/execute.h"

namespace gs::ptx {

/// One entry `k` that takes two addresses, %in and %out, and has registers %h<20> of 16 bits,
/// %r<20> of 32, %d<20> of 64, %p<20> predicates and %t, its thread; `declarations` come before the
/// body.
std::string ptx_program(const std::string& body, const std::string& declarations = "",
                        const std::string& functions = "");

struct PtxRun {
    Report report;
    std::vector<std::uint32_t> out;
    std::vector<std::uint8_t> out_written;
    /// Kinds of the faults that were found.
    std::vector<FaultKind> kinds() const;
};

/// Runs it with `in` as its input and `out` words of output; an entry that cannot be decoded is a
/// failure.
PtxRun run_ptx(const std::string& text, Grid grid, const std::vector<std::uint32_t>& in,
               std::size_t out, const Options& options = {});

inline constexpr std::uint64_t kInAddress = 0x7000'0000'0000, kOutAddress = 0x7000'1000'0000;

}  // namespace gs::ptx
