// Plots of a report: lines over steps as SVG with axes, a title and a legend. Called by report.cpp.
#pragma once

#include <string>

#include "app/bundle/report.h"

namespace gs {

/// A figure; empty where no line has two finite points. Lines of many points become means of
/// neighbours.
std::string plot_html(const ReportPlot& plot);

}  // namespace gs
