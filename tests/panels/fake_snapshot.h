// A Snapshot as a long training run would give it, made up: for the panel tests and the gallery.
// The measurements go through a real TraceStore.
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "panels/state/command.h"
#include "panels/state/snapshot.h"
#include "profiler/store/store.h"

namespace gs::test {

inline constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
inline constexpr double kInf = std::numeric_limits<double>::infinity();

/// A repeatable number 0..1 for (a, b).
double noise(std::uint32_t a, std::uint32_t b);
/// A snapshot with everything in it. `store` must outlive it.
Snapshot fake_snapshot(const TraceStore& store, ViewMode mode = ViewMode::isects);
/// `iterations` training iterations with view frames and UI frames between them; ends at `end_ns`
/// or before. `gpu`: the CPU only launches, and a GPU stream does the work a little later.
void fill_store(TraceStore& store, int iterations, std::int64_t end_ns, bool gpu = false);
/// The same run on a GPU: its name, memory, stage costs.
void put_on_gpu(Snapshot& snapshot);
StageCost cost_of(Stage stage, double measured_ms, double floor_ms, double bytes, double operations,
                  CostLimit limit, bool counted);
/// A capture is about to be opened.
void put_import(Snapshot& snapshot);
/// A second scene beside the first, also in the frame.
void put_beside(Snapshot& snapshot);
/// The commands that there are.
std::vector<CommandInfo> fake_table();

}  // namespace gs::test
