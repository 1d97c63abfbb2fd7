// gausscope: trains, shows and explains 3D Gaussian Splatting. Hands over to the command line.
#include <fmt/core.h>

#include <cstdio>
#include <exception>

#include "app/cli/command_line.h"
#include "app/cli/common.h"
#include "base/exception_words.h"

int main(int argc, char** argv) {
    using namespace gs::cli;
    try {
        return run_command_line(argc, argv);
    } catch (const std::exception& error) {
        fmt::print(stderr, "error: {}\n", gs::words_of(error));
    }
    return kFailed;
}
