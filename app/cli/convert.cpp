#include <fmt/core.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "app/cli/commands.h"
#include "app/cli/common.h"
#include "app/cli/convert_verify.h"
#include "app/cli/progress.h"
#include "base/log.h"
#include "renderer/io/splats/splat_io.h"

namespace gs::cli {
namespace {

using Json = nlohmann::ordered_json;

void print_cost(const ConversionCost& cost) {
    const auto worst = std::min_element(
        cost.views.begin(), cost.views.end(),
        [](const ViewCost& a, const ViewCost& b) { return a.between < b.between; });
    fmt::print(
        "  verified from {} views: {:.2f} dB against the source's pictures (worst {:.2f} dB, {})\n",
        cost.views.size(), cost.between, worst->between, worst->name);
    if (cost.source && cost.result)
        fmt::print("  against the photos: {:.2f} dB, {:.2f} dB of the source\n", *cost.result,
                   *cost.source);
}

Json optional_number(const std::optional<double>& value) {
    return value ? number(*value) : Json(nullptr);
}

Json cost_json(const ConversionCost& cost) {
    Json views = Json::array();
    for (const ViewCost& view : cost.views)
        views.push_back({{"name", view.name},
                         {"psnr_between", number(view.between)},
                         {"psnr_source", optional_number(view.source)},
                         {"psnr_result", optional_number(view.result)}});
    return {{"psnr_between", number(cost.between)},
            {"psnr_source", optional_number(cost.source)},
            {"psnr_result", optional_number(cost.result)},
            {"views", views}};
}

Result<SplatFile> read_with_progress(const std::string& path, int lod) {
    ProgressLine line("read");
    SplatReadOptions options;
    options.lod = lod;
    options.progress = told_by(line);
    auto scene = read_splats(path, options);
    line.finish();
    return scene;
}

Result<ConversionCost> verify(const Arguments& arguments, const GaussianModel& source) {
    const ConvertArguments& a = arguments.convert;
    auto result = read_with_progress(a.output, 0);
    if (!result) return tl::unexpected(result.error());
    return verify_conversion(source, result->model, a.verify, arguments.common);
}

}  // namespace

int run_convert(const Arguments& arguments) {
    const ConvertArguments& a = arguments.convert;
    catch_interrupts();
    const fs::path output(a.output);
    // A SOG as a folder is given by the meta.json in it.
    if (output.filename() == "meta.json" && output.has_parent_path())
        if (auto ready = prepare_output_folder(output.parent_path()); !ready)
            return report(ready.error());
    if (auto ready = prepare_output_file(output); !ready) return report(ready.error());
    const auto scene = read_with_progress(a.input, a.lod);
    if (!scene) return report(scene.error());
    for (const std::string& note : scene->notes) log_info("{}: {}", a.input, note);

    SplatWriteOptions options;
    options.spz_version = a.spz_version;
    ProgressLine line("write");
    options.progress = told_by(line);
    const auto written = write_splats(a.output, scene->model, options);
    line.finish();
    if (!written) return report(written.error());
    const std::uint64_t bytes = splat_bytes(a.output);
    fmt::print("{}: {} Gaussians, degree {}, {}\n", a.output, scene->model.count,
               scene->model.sh_degree, human_bytes(bytes));
    for (const std::string& note : *written) fmt::print("  note: {}\n", note);

    Json out{{"command", "convert"},
             {"input", a.input},
             {"output", a.output},
             {"format", scene->format},
             {"gaussians", scene->model.count},
             {"sh_degree", scene->model.sh_degree},
             {"bytes", bytes},
             {"notes", scene->notes},
             {"lost", *written}};
    if (!a.verify.empty()) {
        const auto cost = verify(arguments, scene->model);
        if (!cost) return report(cost.error());
        print_cost(*cost);
        out["verify"] = cost_json(*cost);
    }
    if (arguments.common.json) print_json(out);
    return kDone;
}

}  // namespace gs::cli
