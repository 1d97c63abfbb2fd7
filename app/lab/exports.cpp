#include "app/lab/exports.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "app/lab/child.h"
#include "base/json_text.h"
#include "base/try.h"

namespace gs::lab {
namespace {

/// What a program prints as its last line. `words`: behind its name, then the file it is about.
Result<nlohmann::json> answer_of(const ExportAsk& ask, std::vector<std::string> words,
                                 const fs::path& file, const LabRun& run) {
    const fs::path log =
        fmt::format("{}.{}-{}.log", run.folder, words[0], file.extension().string().substr(1));
    words.insert(words.begin(), ask.program.string());
    words.emplace_back("--json");
    GS_TRY(const ChildOutcome ended, run_child({std::move(words), log, 0, ask.stopped}));
    if (ask.stopped && ask.stopped()) return fail(ErrorKind::cancelled, run.folder, "stopped");
    auto out = json_or_discarded(last_json_of(log));
    if (ended.done() && out.is_object()) return out;
    return fail(ErrorKind::unreadable, log.string(), "an export failed: " + tail_of(log, 1));
}

/// Mean over its held-out photos, dB.
Result<double> score_of(const ExportAsk& ask, const fs::path& splats, const LabRun& run) {
    GS_TRY(const auto scored,
           answer_of(ask, {"eval", splats.string(), "--backend", ask.backend}, splats, run));
    const nlohmann::json& psnr = member(member(scored, "test"), "psnr");
    if (psnr.is_number()) return psnr.get<double>();
    return fail(ErrorKind::unsupported, splats.string(), "no photo has a score");
}

}  // namespace

Result<void> measure_exports(std::span<const std::string> formats, const ExportAsk& ask,
                             LabRun& into) {
    if (formats.empty()) return {};
    const fs::path whole = fs::path(into.folder) / "point_cloud.ply";
    GS_TRY(const double before, score_of(ask, whole, into));
    for (const std::string& format : formats) {
        const fs::path file = fs::path(into.folder) / ("export." + format);
        GS_TRY_VOID(answer_of(ask, {"convert", whole.string(), file.string()}, file, into));
        GS_TRY(const double after, score_of(ask, file, into));
        std::error_code error;
        const auto bytes = fs::file_size(file, error);
        into.values.push_back({format + " size", "bytes", static_cast<double>(error ? 0 : bytes)});
        into.values.push_back({format + " loss", "dB", before - after});
    }
    return {};
}

}  // namespace gs::lab
