// How a capture is about to be opened: what was found in it, what may be chosen, what that will
// need, and the command line that does the same. For the dialog that asks; part of Snapshot.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "renderer/scene/finding.h"

namespace gs {

struct ImportState {
    /// Given with import.set NAME VALUE; an empty value is what is usual.
    struct Choice {
        std::string name, label, help;
        std::string value, usual;
        std::vector<std::pair<std::string, std::string>> offers;  ///< value, words for it
    };
    using Facts = std::vector<std::pair<std::string, std::string>>;

    std::string path;
    bool examining = false;  ///< what stands here is of the choices before
    std::string problem;     ///< why it cannot be opened; empty: it can
    std::string wrong;       ///< what is wrong with the choices; empty: nothing
    Facts found;
    std::vector<Finding> findings;     ///< gravest first
    std::vector<std::string> skipped;  ///< "NAME: why"
    std::vector<Choice> choices;
    Facts forecast;
    std::string command_line;
};

}  // namespace gs
