// What the files of the command line's grammar share. Used by parse.cpp and parse_service.cpp.
#pragma once

#include <CLI/CLI.hpp>

#include "app/cli/arguments.h"

namespace gs::cli {

/// The options every subcommand takes.
void add_common(CLI::App& app, CommonArguments& a);
/// A subcommand; `examples` end its help.
CLI::App& add_command(CLI::App& root, Arguments& a, const char* name, const char* description,
                      const char* examples);

/// The profiling service's subcommands: trace, serve, record, attach.
void add_service(CLI::App& root, Arguments& a);

}  // namespace gs::cli
