// A cursor over the bytes of a little-endian file that never reads past the end. Used by the binary
// parsers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <type_traits>

#include "base/expected.h"

namespace gs {

/// After the first failed read every read fails and gives zeros; check ok() once per record, then
/// failure().
class ByteReader {
  public:
    ByteReader(std::span<const std::byte> bytes, std::string path)
        : bytes_(bytes), path_(std::move(path)) {}

    template <class T>
    T read() {
        static_assert(std::is_arithmetic_v<T>);
        T value{};
        if (take(sizeof(T))) std::memcpy(&value, bytes_.data() + at_ - sizeof(T), sizeof(T));
        return value;
    }
    /// Up to the next zero byte, which is consumed too.
    std::string read_zero_terminated() {
        const void* end = at_ < bytes_.size()
                              ? std::memchr(bytes_.data() + at_, 0, bytes_.size() - at_)
                              : nullptr;
        if (end == nullptr) {
            ok_ = false;
            return {};
        }
        const auto* begin = reinterpret_cast<const char*>(bytes_.data() + at_);
        std::string text(begin, static_cast<const char*>(end));
        at_ += text.size() + 1;
        return text;
    }
    /// Skips `count` records of `size` bytes; safe for any count.
    void skip(std::uint64_t count, std::size_t size) {
        if (count > remaining() / size)
            ok_ = false;
        else
            at_ += static_cast<std::size_t>(count) * size;
    }
    bool ok() const { return ok_; }
    std::size_t position() const { return at_; }
    std::size_t remaining() const { return bytes_.size() - at_; }
    /// The error of a file that ends inside `what`.
    tl::unexpected<Error> failure(const std::string& what) const {
        return fail_at_byte(
            path_, at_, fmt::format("the file ends inside {} ({} bytes long)", what, bytes_.size()),
            "the file is cut or its counts are wrong; copy it again");
    }

  private:
    bool take(std::size_t size) {
        if (!ok_ || size > remaining()) return ok_ = false;
        at_ += size;
        return true;
    }
    std::span<const std::byte> bytes_;
    std::string path_;
    std::size_t at_ = 0;
    bool ok_ = true;
};

}  // namespace gs
