#include "app/cli/results.h"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "app/cli/common.h"
#include "trainer/settings.h"

namespace gs::cli {
namespace {

constexpr std::string_view kHeader =
    "step,loss,l1,ssim,psnr,milliseconds,gaussians,visible,isects\n";
constexpr std::size_t kMostRows = 50;

}  // namespace

nlohmann::ordered_json score_json(const Evaluation& evaluation) {
    nlohmann::ordered_json images = nlohmann::ordered_json::array();
    for (const ImageScore& s : evaluation.images)
        images.push_back({{"name", s.name},
                          {"psnr", number(s.psnr)},
                          {"ssim", number(s.ssim)},
                          {"l1", number(s.l1)}});
    nlohmann::ordered_json out;
    const bool any = !evaluation.images.empty();
    out["psnr"] = any ? number(evaluation.psnr) : nullptr;
    out["ssim"] = any ? number(evaluation.ssim) : nullptr;
    out["images"] = std::move(images);
    return out;
}

void print_scores(const Evaluation& evaluation) {
    if (evaluation.images.empty()) return;
    std::size_t width = 4;
    for (const ImageScore& s : evaluation.images) width = std::max(width, s.name.size());
    fmt::print("{:<{}}   PSNR dB    SSIM\n", "photo", width);
    for (std::size_t i = 0; i < std::min(kMostRows, evaluation.images.size()); ++i) {
        const ImageScore& s = evaluation.images[i];
        fmt::print("{:<{}}  {:8.3f}  {:.4f}\n", s.name, width, s.psnr, s.ssim);
    }
    if (evaluation.images.size() > kMostRows)
        fmt::print("... and {} more\n", evaluation.images.size() - kMostRows);
    fmt::print("{:<{}}  {:8.3f}  {:.4f}\n", "mean", width, evaluation.psnr, evaluation.ssim);
}

nlohmann::ordered_json stages_json(const TraceStore& store, StatScope scope) {
    nlohmann::ordered_json out = nlohmann::ordered_json::array();
    for (const StageStats& s : store.frames().statistics(scope, 1024))
        out.push_back({{"name", name_of(s.stage)},
                       {"ms_mean", number(s.mean_ms)},
                       {"ms_p50", number(s.p50_ms)},
                       {"ms_p95", number(s.p95_ms)},
                       {"ms_p99", number(s.p99_ms)},
                       {"share", number(s.share)},
                       {"samples", s.samples},
                       {"calls", s.calls}});
    return out;
}

nlohmann::ordered_json settings_json(const TrainingSettings& settings) {
    nlohmann::ordered_json out;
    for (const SettingField& field : setting_fields()) out[field.name] = settings.*field.value;
    return out;
}

std::string StepLog::row_of(const Waiting& w, const StepReport* r) {
    const std::string measured =
        r == nullptr ? ",,,"
                     : fmt::format("{:.7g},{:.7g},{:.6g},{:.5g}", r->loss, r->l1, r->ssim, r->psnr);
    const std::string counted =
        r == nullptr ? "," : fmt::format("{},{}", r->counters.visible, r->counters.isects);
    return fmt::format("{},{},{:.4g},{},{}\n", w.step, measured, w.milliseconds, w.gaussians,
                       counted);
}

void StepLog::add(const StepReport& r) {
    waiting_.push_back({r.step, r.milliseconds, r.gaussians});
    while (!waiting_.empty() && waiting_.front().step <= r.measured_step) {
        const Waiting& first = waiting_.front();
        rows_ += row_of(first, first.step == r.measured_step ? &r : nullptr);
        waiting_.pop_front();
    }
}

void StepLog::take_earlier(const fs::path& csv, std::uint64_t last_step) {
    const auto text = read_text_file(csv);
    if (!text || text->compare(0, kHeader.size(), kHeader) != 0) return;
    for (std::size_t begin = kHeader.size(); begin < text->size();) {
        const std::size_t end = text->find('\n', begin);
        if (end == std::string::npos ||
            std::strtoull(text->c_str() + begin, nullptr, 10) > last_step)
            return;
        rows_.append(*text, begin, end + 1 - begin);
        begin = end + 1;
    }
}

Result<void> StepLog::write(const fs::path& csv) const {
    std::string text = std::string(kHeader) + rows_;
    for (const Waiting& waiting : waiting_) text += row_of(waiting, nullptr);
    return write_text_file(csv, text);
}

fs::path rescue_folder() {
    std::error_code error;
    const fs::path base = fs::temp_directory_path(error);
    return (error ? fs::path("/tmp") : base) / fmt::format("gausscope-rescue-{}", getpid());
}

}  // namespace gs::cli
