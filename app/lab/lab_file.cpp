#include "app/lab/lab_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <unordered_map>

#include "base/try.h"

namespace gs::lab {
namespace {

using history::Statement;

constexpr std::int64_t kLabVersion = 1;

constexpr const char* kLabTables = R"(
CREATE TABLE IF NOT EXISTS lab_version(version INTEGER NOT NULL);
CREATE TABLE IF NOT EXISTS lab_suite(name TEXT PRIMARY KEY, body TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS lab_run(
  id INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE,
  label TEXT NOT NULL, revision TEXT NOT NULL, suite TEXT NOT NULL, scene TEXT NOT NULL,
  settings TEXT NOT NULL, backend TEXT NOT NULL, seed INTEGER NOT NULL, how TEXT NOT NULL,
  failed INTEGER NOT NULL, error TEXT NOT NULL, began_s INTEGER NOT NULL, ended_s INTEGER NOT NULL,
  host TEXT NOT NULL, processor TEXT NOT NULL, folder TEXT NOT NULL, capture TEXT NOT NULL,
  options TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS lab_value(
  run INTEGER NOT NULL REFERENCES lab_run(id), metric TEXT NOT NULL, unit TEXT NOT NULL, value REAL,
  PRIMARY KEY(run, metric)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS lab_photo(
  run INTEGER NOT NULL REFERENCES lab_run(id), name TEXT NOT NULL, psnr REAL, ssim REAL, l1 REAL,
  PRIMARY KEY(run, name)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS lab_file(
  path TEXT PRIMARY KEY, bytes INTEGER NOT NULL, time INTEGER NOT NULL, hash INTEGER NOT NULL);
)";

double mean_of(const std::vector<LabPhoto>& photos, double LabPhoto::*member) {
    double sum = 0, count = 0;
    for (const LabPhoto& photo : photos)
        if (std::isfinite(photo.*member)) sum += photo.*member, ++count;
    return count > 0 ? sum / count : kUnknown;
}

}  // namespace

std::string LabIdentity::key() const {
    return fmt::format("{}|{}|{}|{}|{}|{}|{}|{}", label, commit, suite, scene, settings, backend,
                       seed, how);
}

double LabRun::value_of(std::string_view metric) const {
    for (const LabValue& value : values)
        if (value.metric == metric) return value.value;
    return kUnknown;
}
std::string LabRun::machine() const {
    std::string out = host;
    if (!processor.empty()) out += ", " + processor;
    if (const double threads = value_of("threads"); std::isfinite(threads))
        out += fmt::format(", {:.0f} threads", threads);
    return out;
}
double LabRun::psnr() const { return mean_of(photos, &LabPhoto::psnr); }
double LabRun::ssim() const { return mean_of(photos, &LabPhoto::ssim); }

Result<void> LabFile::is_known() const {
    const auto version = database_.whole_of("SELECT version FROM lab_version");
    if (version && *version > kLabVersion)
        return fail(ErrorKind::unsupported, path().string(),
                    "written by the lab of a newer gausscope", "use that version, or another file");
    return {};
}

Result<LabFile> LabFile::open(const fs::path& path) {
    GS_TRY(history::Database database, history::Database::open(path));
    return open(std::move(database));
}

Result<LabFile> LabFile::open(history::Database database) {
    LabFile file(std::move(database));
    GS_TRY_VOID(file.is_known());
    const auto make = [&]() -> Result<void> {
        GS_TRY_VOID(file.database_.run(kLabTables));
        return file.database_.run(
            fmt::format("INSERT INTO lab_version SELECT {} WHERE NOT EXISTS "
                        "(SELECT 1 FROM lab_version)",
                        kLabVersion));
    };
    GS_TRY_VOID(file.database_.transact(make));
    return file;
}

Result<LabFile> LabFile::open_to_read(const fs::path& path) {
    const std::string advice = "gausscope lab run SUITE --database FILE writes one";
    GS_TRY(history::Database database, history::Database::open_to_read(path, advice));
    LabFile file(std::move(database));
    GS_TRY_VOID(file.is_known());
    if (file.database_.whole_of("SELECT count(*) FROM sqlite_master WHERE name = 'lab_run'") != 1)
        return fail(ErrorKind::malformed, path.string(), "contains no lab runs", advice);
    return file;
}

Result<LabFile::Known> LabFile::known(const std::string& key) const {
    Statement row(database_, "SELECT failed FROM lab_run WHERE key = ?", {key});
    if (row.row()) return row.whole(0) != 0 ? Known::failed : Known::done;
    if (!row.ended()) return database_.failed(ErrorKind::unreadable);
    return Known::no;
}

Result<void> LabFile::add_rows(const LabRun& run) const {
    const std::string key = run.of.key();
    for (const char* table : {"lab_value", "lab_photo"}) {
        Statement old(database_,
                      fmt::format("DELETE FROM {} WHERE run IN (SELECT id FROM lab_run WHERE key = "
                                  "? AND failed = 1)",
                                  table),
                      {key});
        if (!old.done()) return database_.failed(ErrorKind::unwritable);
    }
    Statement old(database_, "DELETE FROM lab_run WHERE key = ? AND failed = 1", {key});
    if (!old.done()) return database_.failed(ErrorKind::unwritable);
    GS_TRY(const Known there, known(key));
    if (there == Known::done) return {};
    Statement insert(database_,
                     "INSERT INTO lab_run(key, label, revision, suite, scene, settings, backend, "
                     "seed, how, failed, error, began_s, ended_s, host, processor, folder, "
                     "capture, options) VALUES(?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)",
                     {key, run.of.label, run.of.commit, run.of.suite, run.of.scene, run.of.settings,
                      run.of.backend, static_cast<std::int64_t>(run.of.seed), run.of.how,
                      std::int64_t{run.failed}, run.error, run.began_s, run.ended_s, run.host,
                      run.processor, run.folder, run.capture, run.options});
    if (!insert.done()) return database_.failed(ErrorKind::unwritable);
    const std::int64_t id = database_.last_row();
    for (const LabValue& v : run.values) {
        Statement value(database_, "INSERT INTO lab_value VALUES(?,?,?,?)",
                        {id, v.metric, v.unit, v.value});
        if (!value.done()) return database_.failed(ErrorKind::unwritable);
    }
    for (const LabPhoto& p : run.photos) {
        Statement photo(database_, "INSERT INTO lab_photo VALUES(?,?,?,?,?)",
                        {id, p.name, p.psnr, p.ssim, p.l1});
        if (!photo.done()) return database_.failed(ErrorKind::unwritable);
    }
    return {};
}

Result<void> LabFile::add(const LabRun& run) const {
    GS_TRY_VOID(database_.transact([&] { return add_rows(run); }));
    database_.keep();
    return {};
}

Result<void> LabFile::add_suite(const std::string& name, const std::string& text) const {
    Statement put(database_,
                  "INSERT INTO lab_suite VALUES(?, ?) ON CONFLICT(name) DO UPDATE SET body = "
                  "excluded.body",
                  {name, text});
    if (!put.done()) return database_.failed(ErrorKind::unwritable);
    return {};
}

Result<std::string> LabFile::suite_text(const std::string& name) const {
    Statement row(database_, "SELECT body FROM lab_suite WHERE name = ?", {name});
    if (row.row()) return row.text(0);
    if (!row.ended()) return database_.failed(ErrorKind::unreadable);
    return std::string();
}

Result<std::optional<std::uint64_t>> LabFile::file_hash(const FileStamp& stamp) const {
    Statement row(database_, "SELECT hash FROM lab_file WHERE path = ? AND bytes = ? AND time = ?",
                  {stamp.path, stamp.bytes, stamp.time});
    if (row.row()) return static_cast<std::uint64_t>(row.whole(0));
    if (!row.ended()) return database_.failed(ErrorKind::unreadable);
    return std::nullopt;
}

Result<void> LabFile::add_file_hashes(
    const std::vector<std::pair<FileStamp, std::uint64_t>>& hashes) const {
    return database_.transact([&]() -> Result<void> {
        for (const auto& [stamp, hash] : hashes) {
            Statement put(database_, "INSERT OR REPLACE INTO lab_file VALUES(?, ?, ?, ?)",
                          {stamp.path, stamp.bytes, stamp.time, static_cast<std::int64_t>(hash)});
            if (!put.done()) return database_.failed(ErrorKind::unwritable);
        }
        return {};
    });
}

Result<void> LabFile::read_parts(std::vector<LabRun>& runs) const {
    std::unordered_map<std::int64_t, LabRun*> by_id;
    for (LabRun& run : runs) by_id[run.id] = &run;
    const auto of = [&](std::int64_t id) {
        const auto at = by_id.find(id);
        return at == by_id.end() ? nullptr : at->second;
    };
    Statement values(database_, "SELECT run, metric, unit, value FROM lab_value ORDER BY run", {});
    while (values.row())
        if (LabRun* run = of(values.whole(0)))
            run->values.push_back({values.text(1), values.text(2), values.number(3)});
    if (!values.ended()) return database_.failed(ErrorKind::unreadable);
    Statement photos(database_,
                     "SELECT run, name, psnr, ssim, l1 FROM lab_photo ORDER BY run, name", {});
    while (photos.row())
        if (LabRun* run = of(photos.whole(0)))
            run->photos.push_back(
                {photos.text(1), photos.number(2), photos.number(3), photos.number(4)});
    if (!photos.ended()) return database_.failed(ErrorKind::unreadable);
    return {};
}

Result<std::vector<LabRun>> LabFile::runs() const {
    std::vector<LabRun> out;
    Statement rows(database_,
                   "SELECT id, label, revision, suite, scene, settings, backend, seed, how, "
                   "failed, error, began_s, ended_s, host, processor, folder, capture, options "
                   "FROM lab_run ORDER BY ended_s, id",
                   {});
    while (rows.row()) {
        LabRun& run = out.emplace_back();
        run.id = rows.whole(0);
        run.of = {rows.text(1),
                  rows.text(2),
                  rows.text(3),
                  rows.text(4),
                  rows.text(5),
                  rows.text(6),
                  static_cast<std::uint64_t>(rows.whole(7)),
                  rows.text(8)};
        run.failed = rows.whole(9) != 0;
        run.error = rows.text(10);
        run.began_s = rows.whole(11), run.ended_s = rows.whole(12);
        run.host = rows.text(13), run.processor = rows.text(14), run.folder = rows.text(15);
        run.capture = rows.text(16), run.options = rows.text(17);
    }
    if (!rows.ended()) return database_.failed(ErrorKind::unreadable);
    GS_TRY_VOID(read_parts(out));
    return out;
}

}  // namespace gs::lab
