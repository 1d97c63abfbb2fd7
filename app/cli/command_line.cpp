#include "app/cli/command_line.h"

#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cstdlib>

#include "app/cli/common.h"
#include "app/cli/meant_option.h"
#include "app/cli/options.h"
#include "app/cli/train/lab.h"
#include "base/exception_words.h"
#include "base/file.h"
#include "base/record/scope.h"
#include "renderer/device/device_error.h"
#include "renderer/raster/rasterizer.h"

namespace gs::cli {
namespace {

using Words = std::vector<std::string>;

constexpr std::array kCommonWithValue{"--backend", "--device", "--seed", "--config", "--threads"};
constexpr const char* kVersion = "gausscope " GAUSSCOPE_VERSION;
constexpr const char* kInstructionSet = "GAUSSCOPE_INSTRUCTION_SET";  // environment
constexpr const char* kAbout =
    "gausscope trains, shows and explains 3D Gaussian Splatting.\n`gausscope PATH` opens the "
    "studio on a capture or splat file.";
constexpr const char* kFooter =
    "Examples:\n"
    "  gausscope sample diorama/ && gausscope train diorama/ -o out/ --view\n"
    "  gausscope train photos/ -o out/ && gausscope eval out/point_cloud.ply photos/\n"
    "  gausscope COMMAND --help        options and examples of one command\n"
    "Exit codes: 0 done, 1 failed or stopped while running, 2 wrong usage or unusable input, 3 a "
    "gate fell short.";

bool is_one_of(const std::string& word, std::span<const Subcommand> subcommands) {
    return std::ranges::any_of(subcommands, [&](const Subcommand& s) { return word == s.name; });
}

// `gausscope PATH` means `gausscope view PATH`: when no subcommand stands before the first argument
// that is no option. Returns what is wrong where that is no path either, but comes near a command.
std::string add_view(Words& words, std::span<const Subcommand> subcommands) {
    for (std::size_t i = 0; i < words.size(); ++i) {
        const std::string& word = words[i];
        if (word == "-h" || word == "--help" || word == "--help-all" || word == "--version")
            return {};
        if (is_one_of(word, subcommands)) return {};
        if (std::ranges::find(kCommonWithValue, word) != kCommonWithValue.end()) {
            ++i;
            continue;
        }
        if (word.empty() || word[0] != '-') {
            std::vector<std::string> names;
            for (const Subcommand& subcommand : subcommands) names.push_back(subcommand.name);
            const std::string meant = meant_command(word, names);
            if (std::error_code none; !meant.empty() && !fs::exists(word, none))
                return fmt::format("there is no command or path {}: did you mean gausscope {}?",
                                   word, meant);
            break;
        }
    }
    words.insert(words.begin(), "view");
    return {};
}

/// Cuts off the words after "--": they belong to the command that `record` runs.
Words take_command(Words& words) {
    if (std::ranges::find(words, "record") == words.end()) return {};
    const auto mark = std::ranges::find(words, "--");
    if (mark == words.end()) return {};
    Words command(mark + 1, words.end());
    words.erase(mark, words.end());
    return command;
}

/// `--absgrad 1` means `--absgrad=1`: settings that are on or off may be given a value, as in a
/// file of settings. To CLI11 a switch never takes the next word, and any number is a value.
/// Returns the first switch with another value; empty: there is none.
std::string join_switch_values(Words& words) {
    constexpr std::array kValues{"0", "1", "true", "false", "yes", "no", "on", "off"};
    const auto is_value = [&](const std::string& word) {
        return std::ranges::find(kValues, word) != kValues.end();
    };
    for (std::size_t i = 0; i < words.size(); ++i) {
        const std::size_t equals = words[i].find('=');
        if (!is_setting_switch(words[i].substr(0, equals))) continue;
        if (equals != std::string::npos) {
            if (!is_value(words[i].substr(equals + 1))) return words[i];
        } else if (i + 1 < words.size() && is_value(words[i + 1])) {
            words[i] += "=" + words[i + 1];
            words.erase(words.begin() + static_cast<std::ptrdiff_t>(i) + 1);
        }
    }
    return {};
}

std::vector<std::string> options_of(const CLI::App& command) {
    std::vector<std::string> out;
    for (const CLI::Option* option : command.get_options())
        for (const std::string& name : option->get_lnames()) out.push_back(name);
    return out;
}

int complain(const CLI::App& root, const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return root.exit(error);  // help or version was asked for
    std::string text = error.what();
    const auto chosen = root.get_subcommands();
    // Of two errors, report the wrong word rather than the missing one.
    if (dynamic_cast<const CLI::RequiredError*>(&error) != nullptr)
        for (const std::string& word : root.remaining(true))
            if (word.starts_with("-")) {
                text = "The following argument was not expected: " + word;
                break;
            }
    const std::string name =
        chosen.empty() ? "gausscope" : "gausscope " + chosen.front()->get_name();
    if (!chosen.empty())
        for (const std::string& word : root.remaining(true))
            if (const std::string meant = meant_option(word, options_of(*chosen.front()));
                !meant.empty()) {
                fmt::print(stderr, "error: there is no option {}: {} (see {} --help)\n", word,
                           meant, name);
                return kUsage;
            }
    fmt::print(stderr, "error: {} (see {} --help)\n", text, name);
    return kUsage;
}

/// Options of this command that reduce memory; may be empty.
std::string needs_less(const CLI::App& command) {
    std::vector<std::string> ways;
    const auto has = [&](const char* option) {
        return command.get_option_no_throw(option) != nullptr;
    };
    if (has("--width")) ways.emplace_back("a smaller picture: --width, --height");
    if (has("--downscale")) ways.emplace_back("smaller photos: --downscale 2");
    if (has("--max-gaussians")) ways.emplace_back("fewer Gaussians: --max-gaussians N");
    if (!has("--max-gaussians") && has("SCENE"))
        ways.emplace_back("fewer Gaussians: gausscope convert SCENE smaller.ply --simplify 50%");
    return ways.empty() ? std::string() : fmt::format(" (use {})", fmt::join(ways, ", or "));
}

/// Memory that ran out: the one thing that ends a command without being foreseen.
int out_of_memory(const CLI::App& root, const std::exception& error) {
    const auto chosen = root.get_subcommands();
    fmt::print(stderr, "error: {}{}\n", words_of(error),
               chosen.empty() ? std::string() : needs_less(*chosen.front()));
    return kFailed;
}

}  // namespace

std::vector<Subcommand> all_subcommands() {
    return {view_command(),    train_command(),   plan_command(),     eval_command(),
            render_command(),  convert_command(), info_command(),     sample_command(),
            poses_command(),   bench_command(),   selftest_command(), trace_command(),
            serve_command(),   record_command(),  attach_command(),   history_command(),
            inspect_command(), report_command(),  replay_command(),   diff_command(),
            verify_command(),  predict_command(), lab_command(),      trigger_command()};
}

std::unique_ptr<CLI::App> make_command_line(std::span<const Subcommand> subcommands,
                                            CommonArguments& common, Subcommand::Run& run) {
    auto root = std::make_unique<CLI::App>(kAbout, "gausscope");
    root->footer(kFooter);
    root->set_version_flag("--version", kVersion);
    root->require_subcommand(1);
    root->get_formatter()->column_width(34);
    add_common(*root, common);
    for (const Subcommand& subcommand : subcommands) {
        CLI::App& app = *root->add_subcommand(subcommand.name, subcommand.description);
        app.footer(std::string("Examples:\n") + subcommand.examples);
        app.callback([&run, chosen = subcommand.add_options(app)] { run = chosen; });
        add_common(app, common);
    }
    return root;
}

int run_command_line(int argc, const char* const* argv) {
    const std::vector<Subcommand> subcommands = all_subcommands();
    CommonArguments common;
    Subcommand::Run run;
    const auto root = make_command_line(subcommands, common, run);
    Words words(argv + 1, argv + argc);
    if (const std::string wrong = add_view(words, subcommands); !wrong.empty()) {
        fmt::print(stderr, "error: {}\n", wrong);
        return kUsage;
    }
    common.command = take_command(words);
    if (const std::string bad = join_switch_values(words); !bad.empty()) {
        fmt::print(stderr, "error: {} is a switch: use 1 or 0, true or false\n", bad);
        return kUsage;
    }
    std::ranges::reverse(words);  // as CLI11 wants them
    try {
        root->parse(words);
    } catch (const CLI::ParseError& error) {
        return complain(*root, error);
    }
    apply(common);
    if (const char* set = std::getenv(kInstructionSet);
        set != nullptr && !choose_cpu_instruction_set(set)) {
        fmt::print(stderr, "error: {}={}: this processor and build have {}\n", kInstructionSet, set,
                   fmt::join(cpu_instruction_sets(), ", "));
        return kUsage;
    }
    name_this_thread("main");
    try {
        const Result<int> code = run(common);
        return code ? *code : report(code.error());
    } catch (const std::bad_alloc& error) {
        return out_of_memory(*root, error);
    } catch (const DeviceError& error) {
        if (!error.out_of_memory()) throw;
        return out_of_memory(*root, error);
    }
}

}  // namespace gs::cli
