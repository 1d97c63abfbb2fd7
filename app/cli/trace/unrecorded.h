// Finds out from outside why a program that `record` started was not recorded: the library prints
// nothing in a program in which it must not start.
#pragma once

#include <sys/types.h>

#include <set>
#include <string>
#include <vector>

#include "base/file.h"

namespace gs::cli {

/// Whether a program is linked statically: it names no loader. False for anything else, and for
/// what cannot be read.
bool is_static_program(const fs::path& path);

/// Looks at the command and at the processes it starts, while nothing of them is recorded.
class Unrecorded {
  public:
    Unrecorded() = default;
    /// The command's name, as execvp looks it up.
    explicit Unrecorded(const std::string& command);
    /// Call it every few milliseconds, and once when `pid` has ended but is still to be waited for.
    void look(pid_t pid);
    /// One sentence for each reason found, with what to do about it.
    std::vector<std::string> reasons() const;

  private:
    void look_at(pid_t pid, int depth);
    std::set<std::string> static_, filtered_;  // programs, by name
    std::set<fs::path> seen_;
};

}  // namespace gs::cli
