#include "app/cli/verify_rows.h"

#include "app/cli/common.h"

namespace gs::cli {

Json verify_json(const VerifyReport& report) {
    Json out{{"width", report.width},
             {"height", report.height},
             {"region", {report.x0, report.y0, report.x1, report.y1}},
             {"gaussians", report.gaussians},
             {"pixels", report.pixels},
             {"fragile", report.fragile},
             {"seconds", number(report.seconds)},
             {"rows", Json::array()},
             {"passed", report.passed()}};
    for (const VerifyRow& row : report.rows)
        out["rows"].push_back({{"stage", row.stage},
                               {"what", row.what},
                               {"unit", row.unit},
                               {"values", row.values},
                               {"worst", number(row.worst)},
                               {"mean", number(row.mean)},
                               {"tolerance", row.tolerance},
                               {"where", row.where},
                               {"verdict", row.passed() ? "agrees" : "differs"}});
    return out;
}

void print_verify(const Json& report) {
    say("the double-precision reference: pixels {region.0},{region.1} to {region.2},{region.3}, "
        "{fragile} of them skipped because rounding may flip them; {seconds:.1f} s",
        report);
    const Column columns[] = {{"stage", "{stage}", true},   {"of", "{what}", true},
                              {"numbers", "{values}"},      {"worst", "{worst:.2g}"},
                              {"mean", "{mean:.2g}"},       {"tolerance", "{tolerance:.1g}"},
                              {"unit", "{unit}", true},     {"verdict", "{verdict}", true},
                              {"worst at", "{where}", true}};
    say_table(report["rows"], columns);
}

}  // namespace gs::cli
