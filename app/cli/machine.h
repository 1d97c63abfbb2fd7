// What this machine and this program are, as far as results depend on it: versions, the CPU, the
// GPUs with their figures. `info` without a path prints it, `selftest --report` begins with it.
#pragma once

#include "app/cli/report.h"

namespace gs::cli {

/// {"program", "commit", "compiler", "system", "host", "processor", "cpu", "threads", "cuda":
/// {"driver", "runtime", "problem", "devices": [{"index", "name", "architecture", "memory_bytes",
/// "uuid", "problem", and of the one that is used clocks, caches, memory free}]}}. `used`: CUDA's
/// number of the device that computes, -1: none. Makes no context on any other device.
Json machine_json(int used);
void say_machine(const Json& machine, std::FILE* to = stdout);

}  // namespace gs::cli
