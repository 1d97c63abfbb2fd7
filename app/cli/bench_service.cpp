#include "app/cli/bench_service.h"

#include <fmt/core.h>
#include <unistd.h>

#include <nlohmann/json.hpp>

#include "app/cli/commands.h"
#include "app/cli/common.h"
#include "app/sample/sample_capture.h"
#include "base/machine.h"

namespace gs::cli {
namespace {

using Json = nlohmann::ordered_json;

void print_figure(const ServiceFigure& f) {
    std::string target =
        f.target ? fmt::format("{} {:g}", f.at_least ? ">=" : "<=", *f.target) : "";
    fmt::print("  {:<36} {:>10.3f} {:<12} {:>9} {:<7} {}\n", f.name, f.value, f.unit, target,
               f.target ? (f.met() ? "" : "missed") : "", f.note);
}

Json figure_json(const ServiceFigure& f) {
    Json out{{"name", f.name}, {"value", number(f.value)}, {"unit", f.unit}};
    if (f.target) out.update({{"target", *f.target}, {"met", f.met()}});
    if (!f.note.empty()) out["note"] = f.note;
    return out;
}

/// The capture that was given, or a small sample made for the purpose.
Result<std::string> capture_for(const BenchArguments& a, const fs::path& folder) {
    if (!a.capture.empty()) return a.capture;
    SampleOptions options;
    options.views = 12;
    options.width = 320;
    options.height = 240;
    options.points = 5000;
    if (auto made = write_sample_capture(folder, options); !made)
        return tl::unexpected(made.error());
    return folder.string();
}

Result<ServiceFigures> trainer_figures(const BenchArguments& a) {
    char folder[] = "/tmp/gausscope-bench-XXXXXX";
    if (::mkdtemp(folder) == nullptr)
        return fail(ErrorKind::unwritable, folder, "no temporary folder");
    const auto capture = capture_for(a, fs::path(folder) / "sample");
    auto figures = capture ? measure_trainer(*capture, std::max(a.repeats / 3, 10))
                           : tl::unexpected(capture.error());
    std::error_code ignored;
    fs::remove_all(folder, ignored);
    return figures;
}

}  // namespace

int run_bench_service(const Arguments& arguments) {
    fmt::print("profiling service\n");
    Json json{{"command", "bench"}, {"scene", "service"}, {"figures", Json::array()}};
    bool missed = false;
    const auto tell = [&](Result<ServiceFigures> figures) {
        if (!figures) return report(figures.error());
        for (const ServiceFigure& figure : *figures) {
            print_figure(figure);
            std::fflush(stdout);
            json["figures"].push_back(figure_json(figure));
            missed |= !figure.met();
        }
        return kDone;
    };
    for (const auto& measure : {measure_ranges, measure_rates, measure_residue})
        if (const int code = tell(measure()); code != kDone) return code;
    if (const int code = tell(trainer_figures(arguments.bench)); code != kDone) return code;
    json["met"] = !missed;
    if (!arguments.bench.output.empty())
        if (const auto written = write_text_file(arguments.bench.output, json.dump(2) + "\n");
            !written)
            return report(written.error());
    if (arguments.common.json) print_json(json);
    return kDone;
}

}  // namespace gs::cli
