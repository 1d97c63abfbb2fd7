// Report: a run or a scene as one self-contained HTML page: no network, no script. Pictures are
// embedded, plots are SVG, and it follows the reader's light or dark theme. Filled by run_report.h
// from a run's folder and by the studio from the open scene; part of every bundle.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/expected.h"
#include "base/file.h"
#include "renderer/scene/finding.h"

namespace gs {

struct ReportPicture {
    std::string title;
    std::vector<std::byte> bytes;  ///< of a PNG or a JPEG
    double width_px = 0;           ///< maximum width; 0: the page's
};
struct ReportPlot {
    struct Line {
        std::string name;
        std::vector<std::pair<double, double>> points;  ///< x ascending; NaN is a gap
        bool dots = false;                              ///< each by itself, x in any order
        bool guide = false;                             ///< dashed and grey: through other lines
    };
    struct Mark {
        double x = 0;
        std::string text;
        bool alarm = false;
    };
    std::string title, unit;
    std::vector<Line> lines;
    std::vector<Mark> marks{};
    bool from_zero = false;  ///< the axis begins at 0
    std::string x = "step";  ///< title of the x axis, with its unit
};
/// Two pictures of one size with an edge to drag, and their difference.
struct ReportSlider {
    ReportPicture left, right, error;
};
struct ReportTable {
    std::string title;
    std::vector<std::string> columns;  ///< the first is text, the others numbers
    std::vector<std::vector<std::string>> rows;
    bool folded = false;  ///< closed at first, where it is long
};
struct Report {
    std::string title, subtitle;
    std::vector<ReportTable> first{};  ///< above everything else: the page's main tables
    std::vector<std::pair<std::string, std::string>> facts;  ///< label, value
    std::vector<ReportPicture> pictures;
    std::vector<ReportSlider> sliders{};
    std::vector<std::string> notes;  ///< texts pinned to the scene, with their places
    std::vector<ReportPlot> plots;
    std::vector<Finding> findings;
    bool examined = false;  ///< the doctor examined it; without findings it is fine
    std::vector<ReportTable> tables;
    std::string made;  ///< "gausscope 0.1.0, 2026-11-23 04:20 UTC, host"
};

/// Returns well-formed XML. Bytes of texts that are not UTF-8 become U+FFFD.
std::string report_html(const Report& report);
/// Reads the file as a picture of the report. Errors: not_found, unreadable; unsupported: no PNG or
/// JPEG.
Result<ReportPicture> report_picture(std::string title, const fs::path& file);

std::string base64_of(std::span<const std::byte> bytes);
/// "gausscope 0.1.0, 2026-11-23 04:20 UTC, HOST".
std::string made_by();

}  // namespace gs
