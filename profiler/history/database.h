// A SQLite file of ours, opened so that several programs may use it at once, and one prepared
// statement. What is in it and which version that has is the business of who opens it: History has
// its tables in such a file, the lab has its own beside them. One thread per object.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "base/expected.h"
#include "base/file.h"

struct sqlite3;
struct sqlite3_stmt;

namespace gs::history {

class Database {
  public:
    /// Makes the file where there is none. Errors: unwritable; malformed: it is no database, or
    /// another program's.
    static Result<Database> open(const fs::path& path);
    /// Errors: not_found (with `advice`), unreadable, malformed. Read from a folder that cannot be
    /// written as well.
    static Result<Database> open_to_read(const fs::path& path, const std::string& advice);

    Database(Database&& other) noexcept { *this = std::move(other); }
    Database& operator=(Database&& other) noexcept;
    ~Database() { remove_vain(); }

    const fs::path& path() const { return path_; }
    sqlite3* handle() const { return database_.get(); }
    /// Statements without results. Errors: unwritable.
    Result<void> run(const std::string& sql) const;
    /// `work` within one transaction: all of it or nothing. Errors: its own, unwritable.
    template <class Work>
    Result<void> transact(const Work& work) const {
        if (auto begun = run("BEGIN IMMEDIATE"); !begun) return begun;
        Result<void> done = work();
        if (done) done = run("COMMIT");
        if (!done) (void)run("ROLLBACK");
        return done;
    }
    /// The first column of the first row; nullopt where there is none.
    std::optional<std::int64_t> whole_of(const std::string& sql) const;
    std::int64_t last_row() const;
    /// What SQLite says now, in our words, as an error of this file. A full disk comes with what to
    /// do. A file that was made here and holds nothing yet is not left behind.
    tl::unexpected<Error> failed(ErrorKind kind) const;
    /// Something was recorded: the file stays, whatever fails after.
    void keep() const { new_ = New::no; }

  private:
    struct Close {
        void operator()(sqlite3* database) const;
    };
    Database(sqlite3* database, fs::path path) : database_(database), path_(std::move(path)) {}
    void remove_vain() noexcept;
    static Result<Database> connect(const fs::path& path, int flags);
    Result<void> is_ours() const;
    std::unique_ptr<sqlite3, Close> database_;
    fs::path path_;
    enum class New { no, made, in_vain };  ///< in_vain: what was to be written could not be
    mutable New new_ = New::no;
};

/// NaN becomes NULL.
using Value = std::variant<std::int64_t, double, std::string_view>;

/// A prepared statement; texts are bound without a copy and outlive it.
class Statement {
  public:
    Statement(const Database& database, const std::string& sql,
              std::initializer_list<Value> values);
    Statement(const Statement&) = delete;
    Statement& operator=(const Statement&) = delete;
    ~Statement();

    /// There is a row to read. False: no more, or a fault (then so is ended()).
    bool row();
    /// It ran to its end; false: Database::failed() says why not.
    bool ended() const { return ended_; }
    /// One without rows, run.
    bool done() { return !row() && ended(); }
    std::int64_t whole(int column) const;
    /// NULL is NaN.
    double number(int column) const;
    std::string text(int column) const;

  private:
    void bind(int place, const Value& value);
    sqlite3_stmt* statement_ = nullptr;
    bool ended_ = false;
};

}  // namespace gs::history
