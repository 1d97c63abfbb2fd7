// Waits, memory, GPUs and pauses of a process in a Perfetto trace. A part of the Perfetto export.
#pragma once

#include <cstdint>

#include "profiler/files/export_perfetto.h"
#include "profiler/files/perfetto_writer.h"

namespace gs::perfetto {

/// Those of process `process` within the options' time, as instants on tracks the import knows.
void write_moments(PacketSink& sink, const TraceStore& store, std::uint32_t process,
                   std::uint32_t& sequence, const PerfettoOptions& options);

}  // namespace gs::perfetto
