// A trace as columns for NumPy: an .npz with one array per column. Used by `trace --export` and the
// Python module.
#pragma once

#include "base/file.h"
#include "profiler/store/store.h"

namespace gs::cli {

/// Arrays named TABLE_COLUMN: span_begin_ns, span_end_ns, span_name, span_track, span_row,
/// span_payload (float64, NaN: none); kernel_span (the index of the span), kernel_kind,
/// kernel_bytes, kernel_grid [n][3], kernel_block [n][3], kernel_registers, kernel_shared;
/// counter_series, counter_time_ns, counter_value; instant_time_ns, instant_name, instant_track;
/// iteration_process, iteration_number, iteration_begin_ns, iteration_end_ns. In about.json: the
/// names, tracks, series and processes that the numbers are indices into. Errors: unwritable;
/// unsupported past 4 GiB.
Result<void> export_columns(const TraceStore& store, const fs::path& path);

}  // namespace gs::cli
