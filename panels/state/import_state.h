// A capture about to be opened: its contents, the choices, a forecast of resources, and the
// equivalent command line. For the import dialog; part of Snapshot.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "renderer/scene/finding.h"

namespace gs {

struct ImportState {
    /// Set with import.set NAME VALUE; an empty value is the default.
    struct Choice {
        std::string name, label, help;
        std::string value, usual;
        std::vector<std::pair<std::string, std::string>> offers;     ///< value, words for it
        enum class Kind { text, number, one_of } kind = Kind::text;  ///< one_of: of the offers
    };
    using Facts = std::vector<std::pair<std::string, std::string>>;

    std::string path;
    bool examining = false;  ///< the facts below are of the previous choices
    std::string problem;     ///< why it cannot be opened; empty: it can
    std::string wrong;       ///< problem of the choices; empty: none
    Facts found;
    std::vector<Finding> findings;     ///< gravest first
    std::vector<std::string> skipped;  ///< "NAME: why"
    std::vector<Choice> choices;
    Facts forecast;
    std::string command_line;
};

}  // namespace gs
