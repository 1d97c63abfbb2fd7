// From the words of the command line to the subcommand they name. Called by main.cpp.
#pragma once

#include <span>

#include "app/cli/subcommand.h"

namespace gs::cli {

/// Reads the words, shows help or says what is wrong with them, or runs the subcommand; the exit
/// code.
int run_command_line(int argc, const char* const* argv, std::span<const Subcommand> subcommands);

}  // namespace gs::cli
