#include "profiler/files/sqlite_table.h"

#include <fmt/format.h>
#include <sqlite3.h>

#include <algorithm>
#include <limits>

#include "base/text.h"

namespace gs {
namespace {

constexpr std::size_t kHeader = 100, kVersions = 18, kPageSize = 16, kPages = 28;  // bytes of it
constexpr int kLongestValue = 1 << 24;  // bytes; rows with longer ones are damage
constexpr int kSteps = 100'000;         // of SQLite's machine, between two calls of `continues`
constexpr std::size_t kLongestText = 4096;
constexpr std::size_t kSmallestRow = 4;  // bytes: pointer, length, key, header
constexpr std::size_t kTextPerByte = 8;  // of the file, and of one reading of a table

std::uint32_t number_at(const std::string& bytes, std::size_t at, std::size_t length) {
    std::uint32_t out = 0;
    for (std::size_t i = 0; i < length; ++i)
        out = out << 8 | static_cast<unsigned char>(bytes[at + i]);
    return out;
}

/// A file that was cut is as long as it is, and none has a log beside it: SQLite would read nothing
/// of either. True: it was cut.
bool fix_header(std::string& bytes) {
    if (bytes.size() < kHeader) return false;
    bytes[kVersions] = bytes[kVersions + 1] = 1;
    const std::uint32_t stored = number_at(bytes, kPageSize, 2);
    const std::uint32_t page = stored == 1 ? 65536 : std::max(stored, 512u);
    const auto pages = static_cast<std::uint32_t>((bytes.size() + page - 1) / page);
    const bool half = bytes.size() % page != 0;
    bytes.resize(std::size_t{pages} * page);
    if (pages >= number_at(bytes, kPages, 4)) return half;
    for (std::size_t i = 0; i < 4; ++i)
        bytes[kPages + i] = static_cast<char>(pages >> 8 * (3 - i) & 0xFF);
    return true;
}

std::string identifier(std::string_view name) {
    std::string out = "\"";
    for (const char c : name) out.append(c == '"' ? 2 : 1, c);
    return out + '"';
}

}  // namespace

void SqliteBytes::Close::operator()(sqlite3* database) const { sqlite3_close_v2(database); }
void SqliteTable::Finalize::operator()(sqlite3_stmt* statement) const {
    sqlite3_finalize(statement);
}

SqliteBytes::SqliteBytes(std::string& bytes, std::function<bool()> continues)
    : continues_(std::move(continues)), cut_(fix_header(bytes)) {
    size_ = bytes.size();
    sqlite3* handle = nullptr;
    const int opened = sqlite3_open_v2(":memory:", &handle, SQLITE_OPEN_READWRITE, nullptr);
    database_.reset(handle);
    const auto length = static_cast<sqlite3_int64>(bytes.size());
    if (opened != SQLITE_OK ||
        sqlite3_deserialize(handle, "main", reinterpret_cast<unsigned char*>(bytes.data()), length,
                            length, SQLITE_DESERIALIZE_READONLY) != SQLITE_OK)
        return;
    sqlite3_db_config(handle, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
    sqlite3_db_config(handle, SQLITE_DBCONFIG_ENABLE_VIEW, 0, nullptr);
    sqlite3_db_config(handle, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, nullptr);
    sqlite3_drop_modules(handle, nullptr);  // virtual tables
    sqlite3_limit(handle, SQLITE_LIMIT_LENGTH, kLongestValue);
    // Tables of which not even the first page is left are no reason to read none.
    const char* const how =
        cut_ ? "PRAGMA cell_size_check=ON; PRAGMA writable_schema=ON" : "PRAGMA cell_size_check=ON";
    sqlite3_exec(handle, how, nullptr, nullptr, nullptr);
    sqlite3_progress_handler(
        handle, kSteps,
        [](void* self) { return static_cast<SqliteBytes*>(self)->continues_() ? 0 : 1; }, this);
    SqliteTable found(*this,
                      "SELECT name FROM sqlite_master WHERE type = 'table' AND rootpage > 0 AND "
                      "name NOT LIKE 'sqlite%' ORDER BY name");
    while (found.next())
        if (const auto name = found.text(0); std::ranges::none_of(name, is_control))
            tables_.emplace_back(name);
    readable_ = !found.damaged();
}

bool SqliteBytes::has(std::string_view table) const {
    return std::ranges::find(tables_, table) != tables_.end();
}

std::vector<std::string> SqliteBytes::columns(const std::string& table) const {
    std::vector<std::string> out;
    SqliteTable info(*this, fmt::format("PRAGMA table_info({})", identifier(table)));
    while (info.next()) out.emplace_back(info.text(1));
    return out;
}

std::string SqliteBytes::error() const {
    std::string out = sqlite3_errmsg(database_.get());  // may name what the file names
    std::replace_if(out.begin(), out.end(), is_control, ' ');
    return out;
}

SqliteTable::SqliteTable(const SqliteBytes& file, const std::string& table,
                         std::initializer_list<const char*> columns, const std::string& where) {
    if (!file.has(table)) return;
    const std::vector<std::string> known = file.columns(table);
    std::vector<std::string> chosen;
    for (const char* column : columns)
        chosen.push_back(std::ranges::find(known, column) != known.end() ? identifier(column)
                                                                         : "NULL");
    prepare(file, fmt::format("SELECT {} FROM {}{}", fmt::join(chosen, ", "), identifier(table),
                              where.empty() ? "" : " WHERE " + where));
}

SqliteTable::SqliteTable(const SqliteBytes& file, const std::string& query) {
    prepare(file, query);
}

void SqliteTable::prepare(const SqliteBytes& file, const std::string& query) {
    sqlite3_stmt* statement = nullptr;
    damaged_ =
        sqlite3_prepare_v2(file.handle(), query.c_str(), -1, &statement, nullptr) != SQLITE_OK;
    statement_.reset(statement);
    rows_left_ = file.size() / kSmallestRow + 1;
    text_left_ = kTextPerByte * file.size();
}

void SqliteTable::bind(std::int64_t value) {
    sqlite3_reset(statement_.get());
    sqlite3_bind_int64(statement_.get(), 1, value);
}

bool SqliteTable::next() {
    if (!statement_ || damaged_) return false;
    const int code = sqlite3_step(statement_.get());
    damaged_ = code != SQLITE_DONE && (code != SQLITE_ROW || rows_left_ == 0);
    if (damaged_ || code == SQLITE_DONE) return false;
    --rows_left_;
    return true;
}

std::optional<std::int64_t> SqliteTable::whole(int column) const {
    if (sqlite3_column_type(statement_.get(), column) != SQLITE_INTEGER) return std::nullopt;
    return sqlite3_column_int64(statement_.get(), column);
}

std::uint32_t SqliteTable::small(int column) const {
    const std::int64_t value = whole_or(column, 0);
    const bool fits = value >= 0 && value <= std::numeric_limits<std::uint32_t>::max();
    return fits ? static_cast<std::uint32_t>(value) : 0;
}

std::optional<double> SqliteTable::real(int column) const {
    const int type = sqlite3_column_type(statement_.get(), column);
    if (type != SQLITE_FLOAT && type != SQLITE_INTEGER) return std::nullopt;
    return sqlite3_column_double(statement_.get(), column);
}

std::string_view SqliteTable::text(int column) const {
    if (sqlite3_column_type(statement_.get(), column) != SQLITE_TEXT) return {};
    const auto* text = reinterpret_cast<const char*>(sqlite3_column_text(statement_.get(), column));
    if (text == nullptr) return {};
    const auto bytes = static_cast<std::size_t>(sqlite3_column_bytes(statement_.get(), column));
    const std::size_t length = std::min(bytes, kLongestText);
    if (length > text_left_) return {};
    text_left_ -= length;
    return {text, length};
}

}  // namespace gs
