// Reads a lab's database for the Lab panel. Called on a worker's thread by the engine's LabPart.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/expected.h"
#include "base/file.h"
#include "panels/state/lab_state.h"

namespace gs {

struct LabReading {
    std::vector<LabRunRow> runs;  ///< newest first
    std::vector<std::string> names;
    std::optional<LabComparison> compared;
    std::string not_compared;  ///< why not, where it was asked for
};
/// `compared`: A and B. Errors: of LabFile::open_to_read() and of reading it.
Result<LabReading> read_lab(const fs::path& database,
                            const std::optional<std::pair<std::string, std::string>>& compared);

}  // namespace gs
