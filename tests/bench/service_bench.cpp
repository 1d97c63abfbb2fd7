#include "tests/bench/service_bench.h"

#include <fmt/core.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "app/sample/sample_capture.h"
#include "base/try.h"

namespace gs::bench {
namespace {

using Json = nlohmann::ordered_json;

struct Arguments {
    std::string capture, output;
    int pairs = 10;
};

void print_figure(const ServiceFigure& f) {
    std::string target =
        f.target ? fmt::format("{} {:g}", f.at_least ? ">=" : "<=", *f.target) : "";
    fmt::print("  {:<36} {:>10.3f} {:<12} {:>9} {:<7} {}\n", f.name, f.value, f.unit, target,
               f.target ? (f.met() ? "" : "missed") : "", f.note);
    std::fflush(stdout);
}

Json figure_json(const ServiceFigure& f) {
    Json out{{"name", f.name}, {"value", f.value}, {"unit", f.unit}};
    if (f.target) out.update({{"target", *f.target}, {"met", f.met()}});
    if (!f.note.empty()) out["note"] = f.note;
    return out;
}

/// The capture that was given, or a small sample made for the purpose.
Result<std::string> capture_for(const Arguments& a, const fs::path& folder) {
    if (!a.capture.empty()) return a.capture;
    GS_TRY_VOID(
        write_sample_capture(folder, {.views = 12, .width = 320, .height = 240, .points = 5000}));
    return folder.string();
}

Result<ServiceFigures> trainer_figures(const Arguments& a) {
    char folder[] = "/tmp/gausscope-bench-XXXXXX";
    if (::mkdtemp(folder) == nullptr)
        return fail(ErrorKind::unwritable, folder, "no temporary folder");
    auto figures = capture_for(a, fs::path(folder) / "sample").and_then([&](const std::string& c) {
        return measure_trainer(c, a.pairs);
    });
    std::error_code ignored;
    fs::remove_all(folder, ignored);
    return figures;
}

Result<void> run(const Arguments& a) {
    fmt::print("profiling service\n");
    Json json{{"figures", Json::array()}};
    bool met = true;
    const auto tell = [&](const ServiceFigures& figures) {
        for (const ServiceFigure& figure : figures) {
            print_figure(figure);
            json["figures"].push_back(figure_json(figure));
            met &= figure.met();
        }
    };
    for (const auto& measure : {measure_ranges, measure_rates, measure_residue}) {
        GS_TRY(const auto figures, measure());
        tell(figures);
    }
    GS_TRY(const auto figures, trainer_figures(a));
    tell(figures);
    json["met"] = met;
    if (a.output.empty()) return {};
    return write_text_file(a.output, json.dump(2) + "\n");
}

}  // namespace
}  // namespace gs::bench

int main(int argc, char** argv) {
    gs::bench::Arguments arguments;
    CLI::App app("What the profiling service costs on this machine, against its targets.");
    app.add_option("--capture", arguments.capture, "what the trainer trains on [a small sample]");
    app.add_option("--pairs", arguments.pairs, "pairs of stretches, watched and not [10]")
        ->check(CLI::Range(3, 1000));
    app.add_option("-o,--output", arguments.output, "also write the figures as JSON");
    CLI11_PARSE(app, argc, argv);
    const auto done = gs::bench::run(arguments);
    if (!done) fmt::print(stderr, "error: {}\n", done.error().text());
    return done ? 0 : 1;
}
