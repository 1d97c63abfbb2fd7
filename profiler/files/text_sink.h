// TextSink: text on its way into a file that is written whole or not at all. Used by the exports of
// text.
#pragma once

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/file.h"
#include "base/json_write.h"

namespace gs {

inline std::string json_string(std::string_view text) { return json_text(nlohmann::json(text)); }

/// Collects text and passes it on to the file, a megabyte at a time. After an error it swallows
/// what follows.
class TextSink {
  public:
    explicit TextSink(AtomicFile file) : file_(std::move(file)) {}

    void put(std::string_view text) {
        if (error_) return;
        buffer_ += text;
        if (buffer_.size() > (1u << 20)) flush();
    }
    /// An item of a list: a comma before all but the first.
    void item(std::string_view text) {
        put(first_ ? "\n" : ",\n");
        put(text);
        first_ = false;
    }
    void begin_list() { first_ = true; }
    Result<void> finish() {
        flush();
        if (error_) return tl::unexpected(*error_);
        return file_.commit();
    }

  private:
    void flush() {
        if (error_) return;
        if (auto done = file_.append(std::string_view(buffer_)); !done) error_ = done.error();
        buffer_.clear();
    }
    AtomicFile file_;
    std::string buffer_;
    std::optional<Error> error_;
    bool first_ = true;
};

}  // namespace gs
