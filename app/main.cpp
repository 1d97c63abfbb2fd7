// gausscope: trains, shows and explains 3D Gaussian Splatting. Hands over to the command line.
#include <fmt/core.h>

#include <cstdio>
#include <exception>
#include <new>

#include "app/cli/command_line.h"
#include "app/cli/common.h"

int main(int argc, char** argv) {
    using namespace gs::cli;
    try {
        return run_command_line(argc, argv);
    } catch (const std::bad_alloc&) {
        fmt::print(stderr,
                   "error: out of memory (use smaller photos: --downscale 2, or fewer Gaussians: "
                   "--max-gaussians N)\n");
    } catch (const std::exception& error) {
        fmt::print(stderr, "error: {}\n", error.what());
    }
    return kFailed;
}
