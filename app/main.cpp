// gausscope: trains, shows and explains 3D Gaussian Splatting. Reads the command line and hands
// over to the subcommand.
#include <fmt/core.h>

#include <array>
#include <cstdio>
#include <exception>
#include <optional>

#include "app/cli/commands.h"
#include "app/cli/common.h"
#include "base/record/scope.h"
#include "profiler/collect/own_service.h"

namespace {

struct Command {
    const char* name;
    int (*run)(const gs::cli::Arguments&);
};
constexpr std::array kCommands{
    Command{"view", gs::cli::run_view},         Command{"train", gs::cli::run_train},
    Command{"eval", gs::cli::run_eval},         Command{"render", gs::cli::run_render},
    Command{"convert", gs::cli::run_convert},   Command{"info", gs::cli::run_info},
    Command{"sample", gs::cli::run_sample},     Command{"bench", gs::cli::run_bench},
    Command{"trace", gs::cli::run_trace},       Command{"serve", gs::cli::run_serve},
    Command{"record", gs::cli::run_record},     Command{"attach", gs::cli::run_attach},
    Command{"selftest", gs::cli::run_selftest},
};

constexpr std::array kServed{"view", "train", "bench"};

int run(int argc, char** argv) {
    gs::cli::Arguments arguments;
    if (const auto stop = gs::cli::parse(argc, argv, arguments)) return *stop;
    gs::cli::apply(arguments.common);
    gs::name_this_thread("main");
    std::optional<gs::service::OwnService> service;  // what runs for long can be attached to
    for (const char* name : kServed)
        if (arguments.command == name) service.emplace();
    for (const Command& command : kCommands)
        if (arguments.command == command.name) return command.run(arguments);
    return gs::cli::kUsage;
}

}  // namespace

int main(int argc, char** argv) {
    try {
        return run(argc, argv);
    } catch (const std::bad_alloc&) {
        fmt::print(stderr,
                   "error: out of memory (use smaller photos: --downscale 2, or fewer Gaussians: "
                   "--max-gaussians N)\n");
    } catch (const std::exception& error) {
        fmt::print(stderr, "error: {}\n", error.what());
    }
    return gs::cli::kFailed;
}
