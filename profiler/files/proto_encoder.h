// ProtoEncoder: writes protobuf messages, field by field, into a byte string. All that the trace
// export needs of protobuf; with the generated classes it would cost a library and seconds of
// compile time. Wire format: protobuf.dev/programming-guides/encoding.
#pragma once

#include <bit>
#include <cstdint>
#include <string>
#include <string_view>

namespace gs {

class ProtoEncoder {
  public:
    void varint(std::uint32_t field, std::uint64_t value) {
        put_varint(std::uint64_t{field} << 3 | 0);
        put_varint(value);
    }
    void real(std::uint32_t field, double value) {
        fixed(field, std::bit_cast<std::uint64_t>(value));
    }
    void fixed(std::uint32_t field, std::uint64_t bits) {
        put_varint(std::uint64_t{field} << 3 | 1);
        for (unsigned i = 0; i < 8; ++i) bytes_ += static_cast<char>(bits >> (8 * i) & 0xFF);
    }
    void text(std::uint32_t field, std::string_view value) {
        put_varint(std::uint64_t{field} << 3 | 2);
        put_varint(value.size());
        bytes_ += value;
    }
    /// A nested message: `write(*this)` adds its fields. Most are short, so one byte is kept for
    /// the length and more made only when needed.
    template <class F>
    void message(std::uint32_t field, F write) {
        put_varint(std::uint64_t{field} << 3 | 2);
        const std::size_t at = bytes_.size();
        bytes_ += '\0';
        write(*this);
        std::uint64_t length = bytes_.size() - at - 1;
        std::size_t more = 0;
        for (; length >= 0x80; length >>= 7, ++more) {
            const auto low = static_cast<char>(length | 0x80);
            if (more == 0)
                bytes_[at] = low;
            else
                bytes_.insert(at + more, 1, low);
        }
        if (more == 0)
            bytes_[at] = static_cast<char>(length);
        else
            bytes_.insert(at + more, 1, static_cast<char>(length));
    }
    const std::string& bytes() const { return bytes_; }
    void clear() { bytes_.clear(); }

  private:
    void put_varint(std::uint64_t value) {
        while (value >= 0x80) {
            bytes_ += static_cast<char>(value | 0x80);
            value >>= 7;
        }
        bytes_ += static_cast<char>(value);
    }

    std::string bytes_;
};

}  // namespace gs
