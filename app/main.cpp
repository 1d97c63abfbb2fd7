// gausscope: trains, shows and explains 3D Gaussian Splatting. Lists the subcommands and hands over
// to the command line.
#include <fmt/core.h>

#include <array>
#include <cstdio>
#include <exception>
#include <new>

#include "app/cli/command_line.h"
#include "app/cli/common.h"
#include "app/cli/lab.h"

int main(int argc, char** argv) {
    using namespace gs::cli;
    try {
        const std::array subcommands{
            view_command(),    train_command(),    eval_command(),    render_command(),
            convert_command(), info_command(),     sample_command(),  poses_command(),
            bench_command(),   selftest_command(), trace_command(),   serve_command(),
            record_command(),  attach_command(),   history_command(), inspect_command(),
            report_command(),  replay_command(),   diff_command(),    verify_command(),
            predict_command(), lab_command()};
        return run_command_line(argc, argv, subcommands);
    } catch (const std::bad_alloc&) {
        fmt::print(stderr,
                   "error: out of memory (use smaller photos: --downscale 2, or fewer Gaussians: "
                   "--max-gaussians N)\n");
    } catch (const std::exception& error) {
        fmt::print(stderr, "error: {}\n", error.what());
    }
    return kFailed;
}
