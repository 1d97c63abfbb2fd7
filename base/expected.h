// Result<T>: a value, or an Error that says what is wrong, where, and what to do about it.
// Every function that reads or writes something a user gave us returns one.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <optional>
#include <string>
#include <tl/expected.hpp>
#include <utility>

namespace gs {

enum class ErrorKind {
    not_found,    ///< the path does not exist
    unreadable,   ///< it exists but cannot be read (permission, directory, device error)
    malformed,    ///< its content breaks its format
    unsupported,  ///< valid, but something gausscope does not handle
    unwritable,   ///< output could not be written
    usage,        ///< wrong arguments
    cancelled,    ///< the user stopped it
};

struct Error {
    ErrorKind kind = ErrorKind::malformed;
    std::string path;                   ///< the file or folder, empty when none is concerned
    std::string message;                ///< what is wrong, one sentence without a full stop
    std::string advice;                 ///< what to do about it, may be empty
    std::optional<std::uint64_t> line;  ///< 1-based line in a text file
    std::optional<std::uint64_t> byte;  ///< byte offset in a binary file

    /// "path:line: message. advice" in one line, for stderr and the log panel.
    std::string text() const {
        std::string out = path;
        if (line) out += fmt::format(":{}", *line);
        if (byte) out += fmt::format(" at byte {}", *byte);
        if (!out.empty()) out += ": ";
        out += message;
        if (!advice.empty()) out += fmt::format(" ({})", advice);
        return out;
    }
};

template <class T>
using Result = tl::expected<T, Error>;

/// fail(kind, path, "message", "advice") converts to any Result<T>.
inline tl::unexpected<Error> fail(ErrorKind kind, std::string path, std::string message,
                                  std::string advice = {}) {
    return tl::unexpected<Error>(
        Error{kind, std::move(path), std::move(message), std::move(advice), {}, {}});
}
inline tl::unexpected<Error> fail_at_byte(std::string path, std::uint64_t byte, std::string message,
                                          std::string advice = {}) {
    return tl::unexpected<Error>(Error{
        ErrorKind::malformed, std::move(path), std::move(message), std::move(advice), {}, byte});
}
inline tl::unexpected<Error> fail_at_line(std::string path, std::uint64_t line, std::string message,
                                          std::string advice = {}) {
    return tl::unexpected<Error>(Error{
        ErrorKind::malformed, std::move(path), std::move(message), std::move(advice), line, {}});
}

}  // namespace gs
