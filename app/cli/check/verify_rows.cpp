#include "app/cli/check/verify_rows.h"

#include "app/cli/common.h"

namespace gs::cli {

Json verify_json(const VerifyReport& report) {
    return {{"width", report.width},
            {"height", report.height},
            {"region", {report.x0, report.y0, report.x1, report.y1}},
            {"gaussians", report.gaussians},
            {"pixels", report.pixels},
            {"fragile", report.fragile},
            {"seconds", number(report.seconds)},
            {"rows", table_json(comparison_table(report.rows, Against::truth))},
            {"passed", report.passed()}};
}

void print_verify(const VerifyReport& report) {
    say("the double-precision reference: pixels {region.0},{region.1} to {region.2},{region.3}, "
        "{fragile} of them skipped because rounding may flip them; {seconds:.1f} s",
        verify_json(report));
    say_table(comparison_table(report.rows, Against::truth));
}

}  // namespace gs::cli
