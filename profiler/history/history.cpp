#include "profiler/history/history.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/try.h"
#include "profiler/store/statistics.h"

namespace gs::history {
namespace {

constexpr int kVersion = 1;

constexpr const char* kTables = R"(
CREATE TABLE IF NOT EXISTS series(
  id INTEGER PRIMARY KEY,
  source TEXT NOT NULL, job TEXT NOT NULL, config TEXT NOT NULL, host TEXT NOT NULL,
  metric TEXT NOT NULL, unit TEXT NOT NULL,
  UNIQUE(source, job, config, host, metric, unit));
CREATE TABLE IF NOT EXISTS point(
  series INTEGER NOT NULL REFERENCES series(id), time_s INTEGER NOT NULL, revision TEXT NOT NULL,
  count INTEGER NOT NULL, p05 REAL, p25 REAL, p50 REAL, p75 REAL, p95 REAL,
  PRIMARY KEY(series, time_s, revision)) WITHOUT ROWID;
)";

// Two sets of measurements as one: the mean of either quantile by count. Exact where they are
// alike, which is what a minute of one job is to the next.
constexpr const char* kMerge = R"(
  ON CONFLICT(series, time_s, revision) DO UPDATE SET
    p05 = (p05 * count + excluded.p05 * excluded.count) / (count + excluded.count),
    p25 = (p25 * count + excluded.p25 * excluded.count) / (count + excluded.count),
    p50 = (p50 * count + excluded.p50 * excluded.count) / (count + excluded.count),
    p75 = (p75 * count + excluded.p75 * excluded.count) / (count + excluded.count),
    p95 = (p95 * count + excluded.p95 * excluded.count) / (count + excluded.count),
    count = count + excluded.count
)";

}  // namespace

Result<void> History::is_known() const {
    const auto version = database_.whole_of("PRAGMA user_version");
    if (!version) return database_.failed(ErrorKind::unreadable);
    if (*version > kVersion)
        return fail(ErrorKind::unsupported, database_.path().string(),
                    "a newer gausscope wrote it");
    return {};
}

Result<History> History::open(const fs::path& path) {
    GS_TRY(Database database, Database::open(path));
    History history(std::move(database));
    GS_TRY_VOID(history.is_known());
    const auto make = [&]() -> Result<void> {
        GS_TRY_VOID(history.database_.run(kTables));
        return history.database_.run(fmt::format("PRAGMA user_version={}", kVersion));
    };
    GS_TRY_VOID(history.database_.transact(make));
    return history;
}

Result<History> History::open_to_read(const fs::path& path) {
    GS_TRY(Database database,
           Database::open_to_read(path, "serve, bench and train write one with --history FILE"));
    History history(std::move(database));
    GS_TRY_VOID(history.is_known());
    return history;
}

Result<std::int64_t> History::series_of(const Subject& s, const Metric& metric) {
    const auto find = [&]() -> std::int64_t {
        Statement known(database_,
                        "SELECT id FROM series WHERE source=? AND job=? AND config=? AND host=? "
                        "AND metric=? AND unit=?",
                        {s.source, s.job, s.config, s.host, metric.name, metric.unit});
        return known.row() ? known.whole(0) : 0;
    };
    if (const std::int64_t id = find(); id != 0) return id;
    Statement insert(database_,
                     "INSERT INTO series(source, job, config, host, metric, unit) "
                     "VALUES(?, ?, ?, ?, ?, ?)",
                     {s.source, s.job, s.config, s.host, metric.name, metric.unit});
    if (!insert.done()) return database_.failed(ErrorKind::unwritable);
    return database_.last_row();
}

Result<void> History::add_each(const Subject& subject, std::span<const Entry> entries) {
    static const std::string kInsert =
        std::string("INSERT INTO point VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?)") + kMerge;
    for (const Entry& entry : entries) {
        GS_TRY(const auto series, series_of(subject, entry.metric));
        const Quantiles& q = entry.point.of;
        Statement insert(database_, kInsert,
                         {series, entry.point.time_s, std::string_view(entry.point.commit),
                          static_cast<std::int64_t>(q.count), q.p05, q.p25, q.p50, q.p75, q.p95});
        if (!insert.done()) return database_.failed(ErrorKind::unwritable);
    }
    return {};
}

Result<void> History::add(const Subject& subject, std::span<const Entry> entries) {
    GS_TRY_VOID(database_.transact([&] { return add_each(subject, entries); }));
    database_.keep();
    return {};
}

Result<std::vector<Series>> History::read(const Query& q) const {
    Statement rows(database_,
                   "SELECT s.source, s.job, s.config, s.host, s.metric, s.unit, p.time_s, "
                   "p.revision, p.count, p.p05, p.p25, p.p50, p.p75, p.p95, s.id FROM series s "
                   "JOIN point p ON p.series = s.id WHERE p.time_s >= ?1 AND (?2 = '' OR s.job = "
                   "?2) AND (?3 = '' OR s.metric = ?3) AND (?4 = '' OR s.source = ?4) ORDER BY "
                   "s.source, s.job, s.config, s.host, s.id, p.time_s",
                   {q.since_s, q.job, q.metric, q.source});
    std::vector<Series> out;
    std::int64_t series = 0;
    while (rows.row()) {
        if (out.empty() || rows.whole(14) != series) {
            series = rows.whole(14);
            out.push_back({{rows.text(0), rows.text(1), rows.text(2), rows.text(3)},
                           {rows.text(4), rows.text(5)},
                           {}});
        }
        out.back().points.push_back(
            {rows.whole(6),
             rows.text(7),
             {static_cast<std::uint64_t>(rows.whole(8)), rows.number(9), rows.number(10),
              rows.number(11), rows.number(12), rows.number(13)}});
    }
    if (!rows.ended()) return database_.failed(ErrorKind::unreadable);
    return out;
}

Result<void> History::thin(std::int64_t now_s) {
    constexpr std::int64_t kDays = 14 * 86400;
    const std::string old = fmt::format(
        "time_s < {} AND time_s % 3600 != 0 AND series IN (SELECT id FROM series WHERE source = "
        "'serve')",
        (now_s - kDays) / 3600 * 3600);
    // Sums over each hour of what is not on its first minute, merged into the first minute's.
    const std::string by_hour = fmt::format(
        "INSERT INTO point SELECT series, time_s / 3600 * 3600, revision, sum(count), sum(p05 * "
        "count) / sum(count), sum(p25 * count) / sum(count), sum(p50 * count) / sum(count), "
        "sum(p75 * count) / sum(count), sum(p95 * count) / sum(count) FROM point WHERE {} GROUP BY "
        "series, time_s / 3600, revision {}; DELETE FROM point WHERE {}",
        old, kMerge, old);
    return database_.transact([&] { return database_.run(by_hour); });
}

Subject subject_of(const TraceProcess& process) {
    const ProcessLabels& l = process.labels;
    return {"serve", l.job_name.empty() ? process.name : l.job_name, l.command, l.host};
}

std::vector<double> past_medians(const History& history, const Subject& subject,
                                 std::int64_t until_s) {
    constexpr std::size_t kMost = 256;
    const auto all =
        history.read({.job = subject.job, .metric = "iteration", .source = subject.source});
    // The more a series has in common with it, the more it says: the host, then the configuration.
    std::vector<std::pair<std::int64_t, double>> found[3];
    for (const Series& series : all.value_or(std::vector<Series>())) {
        const bool same = series.subject.config == subject.config;
        auto& to = found[!same ? 2 : series.subject.host != subject.host ? 1 : 0];
        for (const Point& point : series.points)
            if (point.time_s < until_s && std::isfinite(point.of.p50))
                to.emplace_back(point.time_s, point.of.p50);
    }
    auto* const nearest = std::find_if(found, found + 2, [](const auto& f) { return !f.empty(); });
    std::sort(nearest->begin(), nearest->end());
    std::vector<double> out;
    for (std::size_t i = nearest->size() > kMost ? nearest->size() - kMost : 0; i < nearest->size();
         ++i)
        out.push_back((*nearest)[i].second);
    return out;
}

Quantiles quantiles_of(std::vector<double>& values) {
    std::sort(values.begin(), values.end());
    Quantiles out{.count = values.size()};
    if (values.empty()) return out;
    out.p05 = percentile(values, 5);
    out.p25 = percentile(values, 25);
    out.p50 = percentile(values, 50);
    out.p75 = percentile(values, 75);
    out.p95 = percentile(values, 95);
    return out;
}

}  // namespace gs::history
