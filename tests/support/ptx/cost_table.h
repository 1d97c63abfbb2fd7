// What executed kernels cost, as text: a line a kernel for people, a row a line of source for
// programs.
#pragma once

#include <map>
#include <string>

#include "tests/support/ptx/execute.h"

namespace gs::ptx {

/// Totals of each kernel in columns: warp instructions issued, active lanes of each, sectors of
/// global memory, wavefronts of shared memory and how many of them are conflicts, atomics.
std::string cost_table(const std::map<std::string, Report>& kernels);
/// CSV of the same by line of source, in each kernel the heaviest first:
/// kernel,file,line,issued,lanes,sectors,wavefronts,conflicts,atomics. Lines that were never
/// reached are left out.
std::string cost_lines(const std::map<std::string, Report>& kernels);

}  // namespace gs::ptx
