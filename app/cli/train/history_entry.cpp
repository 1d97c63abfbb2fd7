#include "app/cli/train/history_entry.h"

#include <unistd.h>

#include <ctime>
#include <limits>

#include "app/backend/program_commit.h"
#include "base/log.h"
#include "base/try.h"
#include "profiler/collect/client.h"

namespace gs::cli {
namespace {

using history::History;

double number_of(const Json& object, const char* key) {
    const auto at = object.find(key);
    return at != object.end() && at->is_number() ? at->get<double>()
                                                 : std::numeric_limits<double>::quiet_NaN();
}

/// A single measurement.
history::Quantiles one(double value) { return {1, value, value, value, value, value}; }

/// A stage has only its median and 95th percentile.
history::Quantiles of_stage(const Json& stage) {
    history::Quantiles out;
    out.count = stage.value("samples", std::uint64_t{1});
    out.p50 = number_of(stage, "ms_p50");
    out.p95 = number_of(stage, "ms_p95");
    return out;
}

std::vector<History::Entry> entries_of(const Json& result, const history::Point& at) {
    std::vector<History::Entry> out;
    const auto add = [&](std::string name, const char* unit, const history::Quantiles& of) {
        history::Point point = at;
        point.of = of;
        out.push_back({{std::move(name), unit}, std::move(point)});
    };
    for (const Json& stage : result.value("stages", Json::array()))
        add(stage["name"].get<std::string>(), "ms", of_stage(stage));
    if (const auto test = result.find("test"); test != result.end()) {
        if (const double psnr = number_of(*test, "psnr"); psnr == psnr)
            add("PSNR", "dB", one(psnr));
        if (const double ssim = number_of(*test, "ssim"); ssim == ssim) add("SSIM", "", one(ssim));
    }
    // A resumed run timed only its own part.
    if (result.contains("seconds") && !result.contains("resumed_from"))
        add("training", "s", one(number_of(result, "seconds")));
    if (result.contains("gaussians")) add("Gaussians", "", one(number_of(result, "gaussians")));
    return out;
}

}  // namespace

Result<std::optional<History>> history_of(const std::string& file) {
    if (file.empty()) return std::optional<History>();
    GS_TRY(History history, History::open(file));
    return std::optional<History>(std::move(history));
}

void add_to_history(std::optional<History>& file, const std::string& job, const std::string& config,
                    const Json& result) {
    if (!file) return;
    const ProcessLabels labels =
        service::Connection::labels_of(static_cast<std::uint32_t>(::getpid()));
    const std::string commit = labels.commit.empty() ? program_commit() : labels.commit;
    const history::Point now{static_cast<std::int64_t>(std::time(nullptr)), commit, {}};
    const std::string source = result.value("command", "");
    if (const auto added = file->add({source, job, config, labels.host}, entries_of(result, now));
        !added)
        log_warning("{}", added.error().text());
}

}  // namespace gs::cli
