#include "tests/support/ptx/cost_table.h"

#include <fmt/format.h>

#include <algorithm>

namespace gs::ptx {

std::string cost_table(const std::map<std::string, Report>& kernels) {
    std::string out =
        fmt::format("{:<52} {:>11} {:>6} {:>10} {:>11} {:>10} {:>9}\n", "kernel", "issued", "lanes",
                    "sectors", "wavefronts", "conflicts", "atomics");
    for (const auto& [name, report] : kernels) {
        const Counts& c = report.total;
        const auto issued = static_cast<double>(std::max<std::uint64_t>(c.issued, 1));
        out += fmt::format("{:<52} {:>11} {:>6.1f} {:>10} {:>11} {:>10} {:>9}\n", name, c.issued,
                           static_cast<double>(c.lanes) / issued, c.sectors, c.wavefronts,
                           c.conflicts, c.atomics);
    }
    return out;
}

std::string cost_lines(const std::map<std::string, Report>& kernels) {
    std::string out = "kernel,file,line,issued,lanes,sectors,wavefronts,conflicts,atomics\n";
    for (const auto& [name, report] : kernels) {
        for (const LineCounts& line : report.by_line()) {
            const Counts& c = line.counts;
            if (c.issued == 0) continue;
            out += fmt::format("\"{}\",{},{},{},{},{},{},{},{}\n", name, line.file, line.line,
                               c.issued, c.lanes, c.sectors, c.wavefronts, c.conflicts, c.atomics);
        }
    }
    return out;
}

}  // namespace gs::ptx
