#include "profiler/history/database.h"

#include <sqlite3.h>

#include <cerrno>
#include <cstring>
#include <limits>
#include <utility>

#include "base/try.h"

namespace gs::history {
namespace {

constexpr int kApplication = 0x67736869;
constexpr int kWaitMs = 5000;  // for another program that is writing

/// As a URI writes a path: SQLite reads ? # and % as more than themselves.
std::string uri_path(const fs::path& path) {
    std::string out;
    for (const char c : path.string())
        out += c == '?' || c == '#' || c == '%'
                   ? fmt::format("%{:02X}", static_cast<unsigned char>(c))
                   : std::string(1, c);
    return out;
}

/// SQLite's own words name its codes and tables.
std::string sqlite_words(sqlite3* database, int code, ErrorKind kind) {
    const int system = sqlite3_system_errno(database);
    const std::string verb =
        kind == ErrorKind::unwritable ? "cannot be written: " : "cannot be read: ";
    switch (code) {
        case SQLITE_FULL:
            return verb + std::strerror(ENOSPC);
        case SQLITE_IOERR:
            return verb + std::strerror(system != 0 ? system : EIO);
        case SQLITE_CANTOPEN:
        case SQLITE_PERM:
        case SQLITE_AUTH:
            return verb + std::strerror(system != 0 ? system : EACCES);
        case SQLITE_READONLY:
            return "is write-protected";
        case SQLITE_BUSY:
        case SQLITE_LOCKED:
            return "is in use by another program";
        case SQLITE_NOMEM:
            return "not enough memory for it";
        default:
            return "lacks expected tables";
    }
}

}  // namespace

void Database::Close::operator()(sqlite3* database) const { sqlite3_close(database); }

tl::unexpected<Error> Database::failed(ErrorKind kind) const {
    const int code = sqlite3_errcode(database_.get());
    if (code == SQLITE_NOTADB || code == SQLITE_CORRUPT)
        return fail(ErrorKind::malformed, path_.string(), "is not a history, or is damaged",
                    "choose another file");
    const bool disk = code == SQLITE_FULL || code == SQLITE_IOERR;
    // Also of reading: that makes the files of a log beside it.
    const int system = sqlite3_system_errno(database_.get());
    if (code == SQLITE_FULL || (disk && (system == ENOSPC || system == EDQUOT || system == EFBIG)))
        kind = ErrorKind::unwritable;
    if (disk && new_ == New::made) new_ = New::in_vain;
    return fail(kind, path_.string(), sqlite_words(database_.get(), code, kind),
                disk ? "free some space and run the command again: recorded data is kept" : "");
}

Database& Database::operator=(Database&& other) noexcept {
    if (this == &other) return *this;
    remove_vain();
    database_ = std::move(other.database_);
    path_ = std::move(other.path_);
    new_ = std::exchange(other.new_, New::no);
    return *this;
}

void Database::remove_vain() noexcept {
    if (std::exchange(new_, New::no) != New::in_vain) return;
    database_.reset();
    std::error_code ignored;
    for (const char* end : {"", "-wal", "-shm", "-journal"})
        fs::remove(path_.string() + end, ignored);
}

Result<void> Database::run(const std::string& sql) const {
    if (sqlite3_exec(database_.get(), sql.c_str(), nullptr, nullptr, nullptr) == SQLITE_OK)
        return {};
    return failed(ErrorKind::unwritable);
}

std::optional<std::int64_t> Database::whole_of(const std::string& sql) const {
    Statement statement(*this, sql, {});
    return statement.row() ? std::optional(statement.whole(0)) : std::nullopt;
}

std::int64_t Database::last_row() const { return sqlite3_last_insert_rowid(database_.get()); }

Result<Database> Database::connect(const fs::path& path, int flags) {
    sqlite3* handle = nullptr;
    const int code = sqlite3_open_v2(path.c_str(), &handle, flags, nullptr);
    Database database(handle, path);
    if (handle == nullptr)
        return fail(ErrorKind::unreadable, path.string(), "not enough memory to open it");
    if (code != SQLITE_OK)
        return database.failed((flags & SQLITE_OPEN_CREATE) != 0 ? ErrorKind::unwritable
                                                                 : ErrorKind::unreadable);
    sqlite3_busy_timeout(handle, kWaitMs);
    return database;
}

Result<void> Database::is_ours() const {
    const auto application = whole_of("PRAGMA application_id");
    if (!application) return failed(ErrorKind::unreadable);
    if (*application != kApplication)
        return fail(ErrorKind::malformed, path_.string(), "is a database of another program",
                    "choose another file");
    return {};
}

Result<Database> Database::open(const fs::path& path) {
    const bool there = path_exists(path);
    GS_TRY(Database database, connect(path, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE));
    if (!there) database.new_ = New::made;
    const auto tables = database.whole_of("SELECT count(*) FROM sqlite_master");
    if (!tables) return database.failed(ErrorKind::unwritable);
    if (*tables > 0) {
        GS_TRY_VOID(database.is_ours());
    } else {
        GS_TRY_VOID(database.run(fmt::format("PRAGMA application_id={}", kApplication)));
    }
    // A write-ahead log: who reads does not wait for who writes. Where it cannot be had (a network
    // file system, or another program is making the same file now) the journal is slower and as
    // safe, and the next who opens it tries again.
    (void)database.run("PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL;");
    return database;
}

Result<Database> Database::open_to_read(const fs::path& path, const std::string& advice) {
    if (!path_exists(path))
        return fail(ErrorKind::not_found, path.string(), "no such file", advice);
    GS_TRY(Database database, connect(path, SQLITE_OPEN_READONLY));
    if (database.run("SELECT 1 FROM sqlite_master")) {
        GS_TRY_VOID(database.is_ours());
        return database;
    }
    if (sqlite3_errcode(database.handle()) != SQLITE_CANTOPEN)
        return database.failed(ErrorKind::unreadable);
    // Its folder cannot be written, which a log needs; nobody else has it open, or there were one.
    const std::string as_it_is = "file:" + uri_path(fs::absolute(path)) + "?immutable=1";
    GS_TRY(Database still, connect(as_it_is, SQLITE_OPEN_READONLY | SQLITE_OPEN_URI));
    still.path_ = path;
    GS_TRY_VOID(still.is_ours());
    return still;
}

Statement::Statement(const Database& database, const std::string& sql,
                     std::initializer_list<Value> values) {
    if (sqlite3_prepare_v2(database.handle(), sql.c_str(), -1, &statement_, nullptr) != SQLITE_OK)
        return;
    int place = 0;
    for (const Value& value : values) bind(++place, value);
}

Statement::~Statement() { sqlite3_finalize(statement_); }

void Statement::bind(int place, const Value& value) {
    if (const auto* whole = std::get_if<std::int64_t>(&value))
        sqlite3_bind_int64(statement_, place, *whole);
    else if (const auto* number = std::get_if<double>(&value))
        sqlite3_bind_double(statement_, place, *number);
    else if (const auto* text = std::get_if<std::string_view>(&value))
        sqlite3_bind_text(statement_, place, text->data(), static_cast<int>(text->size()),
                          SQLITE_STATIC);
}

bool Statement::row() {
    const int code = statement_ == nullptr ? SQLITE_ERROR : sqlite3_step(statement_);
    ended_ = code == SQLITE_DONE;
    return code == SQLITE_ROW;
}

std::int64_t Statement::whole(int column) const { return sqlite3_column_int64(statement_, column); }

double Statement::number(int column) const {
    return sqlite3_column_type(statement_, column) == SQLITE_NULL
               ? std::numeric_limits<double>::quiet_NaN()
               : sqlite3_column_double(statement_, column);
}

std::string Statement::text(int column) const {
    const auto* bytes = reinterpret_cast<const char*>(sqlite3_column_text(statement_, column));
    if (bytes == nullptr) return {};
    return {bytes, static_cast<std::size_t>(sqlite3_column_bytes(statement_, column))};
}

}  // namespace gs::history
