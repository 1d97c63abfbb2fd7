// Describes this machine and program where results depend on them: versions, the CPU, the GPUs with
// their figures. Printed by `info` without a path and at the start of `selftest --report`.
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
