// A subcommand: its name and help, its options, and its code. Each is one file that declares its
// options next to its code and exports one function; command_line.cpp lists them, parses the words
// and runs the chosen one.
#pragma once

#include <functional>
#include <memory>

#include "app/cli/options.h"
#include "base/expected.h"

namespace gs::cli {

struct Subcommand {
    /// The exit code, or the error that main prints with the code that goes with it (report()).
    using Run = std::function<Result<int>(const CommonArguments&)>;
    const char* name;
    const char* description;
    const char* examples;  ///< end its help
    /// Adds the options to its part of the command line; the returned function runs with their
    /// values.
    std::function<Run(CLI::App&)> add_options;
};

/// A subcommand whose options are a plain struct: `add_options` binds them to it, `run` reads it.
template <class Options>
Subcommand subcommand(const char* name, const char* description, const char* examples,
                      void (*add_options)(CLI::App&, Options&),
                      Result<int> (*run)(const Options&, const CommonArguments&)) {
    const auto add = [=](CLI::App& app) -> Subcommand::Run {
        auto options = std::make_shared<Options>();
        add_options(app, *options);
        return [=](const CommonArguments& common) { return run(*options, common); };
    };
    return {name, description, examples, add};
}

Subcommand view_command();
Subcommand train_command();
Subcommand plan_command();
Subcommand eval_command();
Subcommand render_command();
Subcommand convert_command();
Subcommand info_command();
Subcommand sample_command();
Subcommand poses_command();
Subcommand bench_command();
Subcommand selftest_command();
Subcommand trace_command();
Subcommand serve_command();
Subcommand trigger_command();
Subcommand record_command();
Subcommand attach_command();
Subcommand history_command();
Subcommand inspect_command();
Subcommand report_command();
Subcommand replay_command();
Subcommand diff_command();
Subcommand verify_command();
Subcommand predict_command();

}  // namespace gs::cli
