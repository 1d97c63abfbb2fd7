#include "profiler/history/history.h"

#include <sqlite3.h>

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <utility>
#include <variant>

#include "base/try.h"
#include "profiler/store/statistics.h"

namespace gs::history {
namespace {

constexpr int kApplication = 0x67736869, kVersion = 1;
constexpr int kWaitMs = 5000;  // for another program that is writing

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

/// As a URI writes a path: SQLite reads ? # and % as more than themselves.
std::string uri_path(const fs::path& path) {
    std::string out;
    for (const char c : path.string())
        out += c == '?' || c == '#' || c == '%'
                   ? fmt::format("%{:02X}", static_cast<unsigned char>(c))
                   : std::string(1, c);
    return out;
}

using Value = std::variant<std::int64_t, double, std::string_view>;

/// A prepared statement; texts are bound without a copy and outlive it.
class Statement {
  public:
    Statement(sqlite3* database, const std::string& sql, std::initializer_list<Value> values) {
        if (sqlite3_prepare_v2(database, sql.c_str(), -1, &statement_, nullptr) != SQLITE_OK)
            return;
        int place = 0;
        for (const Value& value : values) bind(++place, value);
    }
    Statement(const Statement&) = delete;
    Statement& operator=(const Statement&) = delete;
    ~Statement() { sqlite3_finalize(statement_); }

    /// SQLITE_ROW, SQLITE_DONE, or what is wrong.
    int step() { return statement_ == nullptr ? SQLITE_ERROR : sqlite3_step(statement_); }
    bool done() { return step() == SQLITE_DONE; }
    std::int64_t whole(int column) const { return sqlite3_column_int64(statement_, column); }
    /// NaN is kept as NULL.
    double number(int column) const {
        return sqlite3_column_type(statement_, column) == SQLITE_NULL
                   ? std::numeric_limits<double>::quiet_NaN()
                   : sqlite3_column_double(statement_, column);
    }
    std::string text(int column) const {
        const auto* bytes = reinterpret_cast<const char*>(sqlite3_column_text(statement_, column));
        return bytes == nullptr
                   ? std::string()
                   : std::string(
                         bytes, static_cast<std::size_t>(sqlite3_column_bytes(statement_, column)));
    }

  private:
    void bind(int place, const Value& value) {
        if (const auto* whole = std::get_if<std::int64_t>(&value))
            sqlite3_bind_int64(statement_, place, *whole);
        else if (const auto* number = std::get_if<double>(&value))
            sqlite3_bind_double(statement_, place, *number);
        else if (const auto* text = std::get_if<std::string_view>(&value))
            sqlite3_bind_text(statement_, place, text->data(), static_cast<int>(text->size()),
                              SQLITE_STATIC);
    }
    sqlite3_stmt* statement_ = nullptr;
};

}  // namespace

void History::Close::operator()(sqlite3* database) const { sqlite3_close(database); }

tl::unexpected<Error> History::failed(ErrorKind kind) const {
    const int code = sqlite3_errcode(database_.get());
    if (code == SQLITE_NOTADB || code == SQLITE_CORRUPT)
        return fail(ErrorKind::malformed, path_.string(), "is no history, or a damaged one",
                    "choose another file");
    return fail(kind, path_.string(), sqlite3_errmsg(database_.get()));
}

Result<void> History::run(const char* sql) const {
    if (sqlite3_exec(database_.get(), sql, nullptr, nullptr, nullptr) == SQLITE_OK) return {};
    return failed(ErrorKind::unwritable);
}

Result<History> History::connect(const fs::path& path, int flags) {
    sqlite3* database = nullptr;
    const int code = sqlite3_open_v2(path.c_str(), &database, flags, nullptr);
    History history(database, path);
    if (database == nullptr)
        return fail(ErrorKind::unreadable, path.string(), "there is no memory to open it");
    if (code != SQLITE_OK)
        return history.failed((flags & SQLITE_OPEN_CREATE) != 0 ? ErrorKind::unwritable
                                                                : ErrorKind::unreadable);
    sqlite3_busy_timeout(database, kWaitMs);
    return history;
}

Result<History> History::open(const fs::path& path) {
    GS_TRY(History history, connect(path, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE));
    GS_TRY_VOID(history.prepare());
    return history;
}

Result<History> History::open_to_read(const fs::path& path) {
    std::error_code error;
    if (!fs::exists(path, error))
        return fail(ErrorKind::not_found, path.string(), "there is no such file",
                    "serve, bench and train write one with --history FILE");
    GS_TRY(History history, connect(path, SQLITE_OPEN_READONLY));
    if (history.run("SELECT 1 FROM sqlite_master")) {
        GS_TRY_VOID(history.is_ours());
        return history;
    }
    if (sqlite3_errcode(history.database_.get()) != SQLITE_CANTOPEN)
        return history.failed(ErrorKind::unreadable);
    // Its folder cannot be written, which a log needs; nobody else has it open, or there were one.
    const std::string as_it_is = "file:" + uri_path(fs::absolute(path)) + "?immutable=1";
    GS_TRY(History still, connect(as_it_is, SQLITE_OPEN_READONLY | SQLITE_OPEN_URI));
    still.path_ = path;
    GS_TRY_VOID(still.is_ours());
    return still;
}

Result<void> History::is_ours() const {
    std::int64_t application = 0, version = 0;
    {
        Statement a(database_.get(), "PRAGMA application_id", {}),
            v(database_.get(), "PRAGMA user_version", {});
        if (a.step() != SQLITE_ROW || v.step() != SQLITE_ROW) return failed(ErrorKind::unreadable);
        application = a.whole(0), version = v.whole(0);
    }
    if (application != kApplication)
        return fail(ErrorKind::malformed, path_.string(), "is a database of another program",
                    "choose another file");
    if (version > kVersion)
        return fail(ErrorKind::unsupported, path_.string(), "a newer gausscope wrote it");
    return {};
}

Result<void> History::prepare() {
    std::int64_t tables = 0;
    {
        Statement t(database_.get(), "SELECT count(*) FROM sqlite_master", {});
        if (t.step() != SQLITE_ROW) return failed(ErrorKind::unwritable);
        tables = t.whole(0);
    }
    if (tables > 0) GS_TRY_VOID(is_ours());
    // A write-ahead log: who reads does not wait for who writes. Where it cannot be had (a network
    // file system, or another program is making the same file now) the journal is slower and as
    // safe, and the next who opens it tries again.
    (void)run("PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL;");
    GS_TRY_VOID(run("BEGIN IMMEDIATE"));
    auto made = run(kTables);
    if (made)
        made = run(fmt::format("PRAGMA application_id={}; PRAGMA user_version={}; COMMIT",
                               kApplication, kVersion)
                       .c_str());
    if (!made) (void)run("ROLLBACK");
    return made;
}

Result<std::int64_t> History::series_of(const Subject& s, const Metric& metric) {
    const auto find = [&]() -> std::int64_t {
        Statement known(database_.get(),
                        "SELECT id FROM series WHERE source=? AND job=? AND config=? AND host=? "
                        "AND metric=? AND unit=?",
                        {s.source, s.job, s.config, s.host, metric.name, metric.unit});
        return known.step() == SQLITE_ROW ? known.whole(0) : 0;
    };
    if (const std::int64_t id = find(); id != 0) return id;
    Statement insert(database_.get(),
                     "INSERT INTO series(source, job, config, host, metric, unit) "
                     "VALUES(?, ?, ?, ?, ?, ?)",
                     {s.source, s.job, s.config, s.host, metric.name, metric.unit});
    if (!insert.done()) return failed(ErrorKind::unwritable);
    return sqlite3_last_insert_rowid(database_.get());
}

Result<void> History::add_in_transaction(const Subject& subject, std::span<const Entry> entries) {
    static const std::string kInsert =
        std::string("INSERT INTO point VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?)") + kMerge;
    for (const Entry& entry : entries) {
        GS_TRY(const auto series, series_of(subject, entry.metric));
        const Quantiles& q = entry.point.of;
        Statement insert(database_.get(), kInsert,
                         {series, entry.point.time_s, std::string_view(entry.point.commit),
                          static_cast<std::int64_t>(q.count), q.p05, q.p25, q.p50, q.p75, q.p95});
        if (!insert.done()) return failed(ErrorKind::unwritable);
    }
    return run("COMMIT");
}

Result<void> History::add(const Subject& subject, std::span<const Entry> entries) {
    GS_TRY_VOID(run("BEGIN IMMEDIATE"));
    auto added = add_in_transaction(subject, entries);
    if (!added) (void)run("ROLLBACK");
    return added;
}

Result<std::vector<Series>> History::read(const Query& q) const {
    Statement rows(database_.get(),
                   "SELECT s.source, s.job, s.config, s.host, s.metric, s.unit, p.time_s, "
                   "p.revision, p.count, p.p05, p.p25, p.p50, p.p75, p.p95, s.id "
                   "FROM series s JOIN point p ON p.series = s.id WHERE p.time_s >= ?1 "
                   "AND (?2 = '' OR s.job = ?2) AND (?3 = '' OR s.metric = ?3) "
                   "AND (?4 = '' OR s.source = ?4) "
                   "ORDER BY s.source, s.job, s.config, s.host, s.id, p.time_s",
                   {q.since_s, q.job, q.metric, q.source});
    std::vector<Series> out;
    std::int64_t series = 0;
    int code = 0;
    while ((code = rows.step()) == SQLITE_ROW) {
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
    if (code != SQLITE_DONE) return failed(ErrorKind::unreadable);
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
        "BEGIN IMMEDIATE; INSERT INTO point SELECT series, time_s / 3600 * 3600, revision, "
        "sum(count), sum(p05 * count) / sum(count), sum(p25 * count) / sum(count), "
        "sum(p50 * count) / sum(count), sum(p75 * count) / sum(count), sum(p95 * count) / "
        "sum(count) FROM point WHERE {} GROUP BY series, time_s / 3600, revision {}; DELETE FROM "
        "point WHERE {}; COMMIT",
        old, kMerge, old);
    auto done = run(by_hour.c_str());
    if (!done) (void)run("ROLLBACK");
    return done;
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
    Quantiles out;
    out.count = values.size();
    if (values.empty()) return out;
    out.p05 = percentile(values, 5);
    out.p25 = percentile(values, 25);
    out.p50 = percentile(values, 50);
    out.p75 = percentile(values, 75);
    out.p95 = percentile(values, 95);
    return out;
}

}  // namespace gs::history
