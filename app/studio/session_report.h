// The report of what is open in the studio: the same page as a run's (app/bundle/run_report.h),
// from what is shown. For bundles.
#pragma once

#include "app/bundle/report.h"
#include "app/studio/studio_state.h"
#include "profiler/store/store.h"

namespace gs {

/// Without the picture of the viewport, which the engine adds.
Report session_report(const StudioState& state, const TraceStore& trace);
/// "curve,step,value" lines of all curves.
std::string curves_csv(const Curves& curves);

}  // namespace gs
