// Every subcommand and every option that the program has, taken from the parser itself: an option's
// checks accept the value that it has when nobody gives it. Newer CLI11 releases check more of
// them.
#include "app/cli/command_line.h"

#include <gtest/gtest.h>

#include <CLI/CLI.hpp>

namespace gs::cli {
namespace {

struct Parser {
    std::vector<Subcommand> subcommands = all_subcommands();
    CommonArguments common;
    Subcommand::Run run;
    std::unique_ptr<CLI::App> root = make_command_line(subcommands, common, run);
};

/// `app` and everything below it.
std::vector<CLI::App*> all_apps(CLI::App* app) {
    std::vector<CLI::App*> out{app};
    for (CLI::App* child : app->get_subcommands([](const CLI::App*) { return true; }))
        for (CLI::App* each : all_apps(child)) out.push_back(each);
    return out;
}

/// What the checks of `option` say about `value`; empty: they accept it.
std::string checked(CLI::Option& option, std::string value) {
    for (int i = 0;; ++i) {
        const CLI::Validator* check = nullptr;
        try {
            check = option.get_validator(i);
        } catch (const CLI::OptionNotFound&) {
            return {};
        }
        if (std::string wrong = (*check)(value); !wrong.empty()) return wrong;
    }
}

/// The value that `option` has when it is not given, as text; empty: none. A flag counts as 0.
std::string default_of(CLI::Option& option) {
    if (option.get_items_expected_max() == 0) return "0";
    option.capture_default_str();
    const std::string text = option.get_default_str();
    return text == "[]" || text == "{}" || text == "\"\"" ? std::string() : text;
}

TEST(CommandLine, EveryOptionAcceptsItsOwnDefault) {
    const Parser parser;
    std::size_t options = 0, defaults = 0;
    for (CLI::App* app : all_apps(parser.root.get()))
        for (CLI::Option* option : app->get_options()) {
            ++options;
            const std::string value = default_of(*option);
            if (value.empty()) continue;
            ++defaults;
            EXPECT_EQ(checked(*option, value), "") << app->get_name() << " " << option->get_name();
        }
    EXPECT_GT(options, 300u);
    EXPECT_GT(defaults, 150u);
}

// Without arguments a subcommand either starts or misses one that it requires. `run` is not called.
TEST(CommandLine, EverySubcommandParsesWithoutOptions) {
    for (const Subcommand& subcommand : all_subcommands()) {
        const Parser parser;
        try {
            parser.root->parse(std::vector<std::string>{subcommand.name});
            EXPECT_TRUE(parser.run) << subcommand.name;
        } catch (const CLI::RequiredError&) {
        } catch (const CLI::ParseError& error) {
            ADD_FAILURE() << subcommand.name << ": " << error.what();
        }
    }
}

TEST(CommandLine, EverySubcommandHelps) {
    for (const Subcommand& subcommand : all_subcommands()) {
        const Parser parser;
        std::vector<std::string> words{"--help", subcommand.name};  // CLI11 takes the last first
        EXPECT_THROW(parser.root->parse(words), CLI::CallForHelp) << subcommand.name;
        EXPECT_NE(parser.root->help().find("Examples:"), std::string::npos) << subcommand.name;
    }
}

}  // namespace
}  // namespace gs::cli
