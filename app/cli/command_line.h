// Maps the command line's words to a subcommand. Called by main.cpp.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "app/cli/subcommand.h"

namespace gs::cli {

/// Every subcommand, in the order of the help.
std::vector<Subcommand> all_subcommands();

/// The parser of all of them. After parsing, `run` is the chosen subcommand and `common` has the
/// common options. Tests walk its options.
std::unique_ptr<CLI::App> make_command_line(std::span<const Subcommand> subcommands,
                                            CommonArguments& common, Subcommand::Run& run);

/// Parses the words, then shows help or an error or runs the subcommand; returns the exit code.
int run_command_line(int argc, const char* const* argv);

}  // namespace gs::cli
