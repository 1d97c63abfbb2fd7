// `gausscope history FILE`: times of jobs, benches and trainings over weeks, and when they changed.
#include "profiler/history/history.h"

#include <fmt/core.h>

#include <ctime>
#include <nlohmann/json.hpp>

#include "app/cli/add_value.h"
#include "app/cli/common.h"
#include "app/cli/report.h"
#include "app/cli/subcommand.h"
#include "base/try.h"
#include "profiler/history/report.h"

namespace gs::cli {
namespace {

struct HistoryArguments {
    std::string file, since, html;
    history::Query query;
};

void add_options(CLI::App& app, HistoryArguments& a) {
    app.add_option("FILE", a.file, "history file written by serve, bench or train --history FILE")
        ->required();
    add_value(app, "--since TIME", a.since,
              "only newer entries: 12h, 7d, 8w or a date like 2026-11-01 [all]");
    add_value(app, "--job NAME", a.query.job, "only this job, scene or capture");
    add_value(app, "--metric NAME", a.query.metric,
              "only this metric: iteration, \"GPU blend\", PSNR, ...");
    add_value(app, "--source serve|bench|train", a.query.source,
              CLI::IsMember({"serve", "bench", "train"}), "only entries from this source");
    add_value(app, "--html REPORT", a.html, "write an HTML report with plots");
}

/// Seconds since 1970 that "7d" or "2026-11-01" (UTC) means.
Result<std::int64_t> since_of(const std::string& text, std::int64_t now_s) {
    std::tm date{};
    if (const char* rest = ::strptime(text.c_str(), "%Y-%m-%d", &date);
        rest != nullptr && *rest == '\0')
        return static_cast<std::int64_t>(::timegm(&date));
    std::int64_t count = 0;
    const auto [unit, error] = std::from_chars(text.data(), text.data() + text.size(), count);
    const std::string_view units = "mhdw";
    constexpr std::int64_t kSeconds[] = {60, 3600, 86400, 7 * 86400};
    const std::size_t which =
        unit + 1 == text.data() + text.size() ? units.find(*unit) : units.npos;
    if (error != std::errc() || which == units.npos || count <= 0 || count > 100'000)
        return fail(ErrorKind::usage, "", "--since " + text + " is not a time",
                    "use 90m, 12h, 7d, 8w or a date like 2026-11-01");
    return now_s - count * kSeconds[which];
}

/// A line a change under the table of a subject's metrics.
void print_changes(const Json& metrics) {
    for (const Json& metric : metrics)
        for (const Json& change : metric["changes"]) {
            const std::string before = change["commit_before"].get<std::string>().substr(0, 10),
                              after = change["commit"].get<std::string>().substr(0, 10);
            fmt::print("  {}: {} {} by {:+.1f} % [{:+.1f}, {:+.1f}]{}\n",
                       change["time"].get<std::string>(), metric["metric"].get<std::string>(),
                       change["verdict"].get<std::string>(), 100 * change["relative"].get<double>(),
                       100 * change["low"].get<double>(), 100 * change["high"].get<double>(),
                       before == after ? "" : fmt::format(", commit {} to {}", before, after));
        }
}

void print_history(const Json& all) {
    constexpr Column kColumns[] = {{"metric", "{metric}", true}, {"points", "{points}"},
                                   {"first", "{first}", true},   {"last", "{last}", true},
                                   {"newest", "{p50:.4g}"},      {"unit", "{unit}", true},
                                   {"changes", "{changed}"}};
    const auto subject = [](const Json& s) {
        return fmt::format("{} {} on {}\n  {}", s["source"].get<std::string>(),
                           s["job"].get<std::string>(), s["host"].get<std::string>(),
                           s["config"].get<std::string>());
    };
    const Json& series = all["series"];
    for (std::size_t i = 0; i < series.size();) {
        const std::string name = subject(series[i]);
        Json metrics = Json::array();
        for (; i < series.size() && subject(series[i]) == name; ++i) {
            metrics.push_back(series[i]);
            metrics.back()["changed"] = series[i]["changes"].size();
        }
        fmt::print("{}\n", name);
        say_table(metrics, kColumns, {.indent = "  "});
        print_changes(metrics);
        fmt::print("\n");
    }
    if (series.empty()) fmt::print("nothing recorded in this period\n");
}

Result<int> run(const HistoryArguments& a, const CommonArguments& common) {
    history::Query query = a.query;
    if (!a.since.empty()) {
        GS_TRY(query.since_s, since_of(a.since, static_cast<std::int64_t>(std::time(nullptr))));
    }
    GS_TRY(const auto file, history::History::open_to_read(a.file));
    GS_TRY(auto series, file.read(query));
    const std::vector<history::Judged> judged = history::judge(std::move(series));
    Json out = history::history_json(judged);
    print_history(out);
    if (!a.html.empty()) {
        GS_TRY_VOID(write_text_file(a.html, history::history_html(judged)));
        fmt::print("written: {}\n", a.html);
    }
    out["command"] = "history";
    if (common.json) print_json(out);
    return kDone;
}

}  // namespace

Subcommand history_command() {
    return subcommand<HistoryArguments>(
        "history", "show times over weeks and when they changed",
        "  gausscope serve --history jobs.db        a minute of every job is a point\n"
        "  gausscope bench scene.ply --history jobs.db     so is a run of bench, and of train\n"
        "  gausscope history jobs.db --since 8w\n"
        "  gausscope history jobs.db --job garden --html report.html\n",
        add_options, run);
}

}  // namespace gs::cli
