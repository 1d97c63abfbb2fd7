// SqliteBytes and SqliteTable: tables of an SQLite file in memory, read with distrust: no
// code of the file's schema (views, triggers, virtual tables) is ever run. Used by import_nsys.
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

struct sqlite3;
struct sqlite3_stmt;

namespace gs {

class SqliteBytes {
  public:
    /// `bytes` outlives it and is changed where the file was cut. `continues` is asked from time to
    /// time, also within a row; false ends the reading.
    SqliteBytes(std::string& bytes, std::function<bool()> continues);

    bool readable() const { return readable_; }
    /// Names of the real tables.
    const std::vector<std::string>& tables() const { return tables_; }
    bool has(std::string_view table) const;
    std::vector<std::string> columns(const std::string& table) const;
    bool is_cut() const { return cut_; }  ///< pages are missing at the end
    std::string error() const;
    std::size_t size() const { return size_; }  ///< bytes
    sqlite3* handle() const { return database_.get(); }

  private:
    struct Close {
        void operator()(sqlite3* database) const;
    };
    std::unique_ptr<sqlite3, Close> database_;
    std::function<bool()> continues_;
    std::vector<std::string> tables_;
    std::size_t size_ = 0;
    bool cut_ = false, readable_ = false;
};

/// The rows of a table, or of what a query finds, one after the other.
class SqliteTable {
  public:
    /// Columns that the table does not have are NULL; none where there is no such table. `where`:
    /// a condition, of parameters that bind() sets.
    SqliteTable(const SqliteBytes& file, const std::string& table,
                std::initializer_list<const char*> columns, const std::string& where = {});
    /// Of our own making.
    SqliteTable(const SqliteBytes& file, const std::string& query);

    void bind(std::int64_t value);  ///< of the only parameter; begins again
    /// The next row; false: no more, or damaged().
    bool next();
    bool damaged() const { return damaged_; }
    /// None for NULL, texts and what is no whole number.
    std::optional<std::int64_t> whole(int column) const;
    std::int64_t whole_or(int column, std::int64_t other) const {
        return whole(column).value_or(other);
    }
    /// 0 for what is negative or too large.
    std::uint32_t small(int column) const;
    std::optional<double> real(int column) const;
    /// Empty for anything else. Valid until next().
    std::string_view text(int column) const;

  private:
    struct Finalize {
        void operator()(sqlite3_stmt* statement) const;
    };
    void prepare(const SqliteBytes& file, const std::string& query);
    std::unique_ptr<sqlite3_stmt, Finalize> statement_;
    /// Pages may point at each other so that a small file has rows and texts without end: more than
    /// its bytes can hold are damage.
    std::uint64_t rows_left_ = 0;
    mutable std::uint64_t text_left_ = 0;
    bool damaged_ = false;
};

}  // namespace gs
