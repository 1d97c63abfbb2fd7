// The timeline's tooltip for the span under the mouse. Used by the timeline only.
#pragma once

#include "panels/timeline/spans.h"

namespace gs {

void span_tooltip(const TraceStore& trace, const PointedSpan& pointed);

}  // namespace gs
