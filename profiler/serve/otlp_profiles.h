// OTLP profiles: sampled call stacks as a message for an OpenTelemetry collector. Message format:
// opentelemetry-proto, collector/profiles/v1development ("alpha" since 2026). Used by Daemon.
#pragma once

#include <string>

#include "profiler/analysis/time_range.h"
#include "profiler/serve/exposition.h"
#include "profiler/store/store.h"

namespace gs::serve {

/// An ExportProfilesServiceRequest of the samples in `range`, a resource for each process, with the
/// attributes of `resource`; empty: there are none.
std::string otlp_profiles(const TraceStore& store, TimeRange range, const Labels& resource);

}  // namespace gs::serve
