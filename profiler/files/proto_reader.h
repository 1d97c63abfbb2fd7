// ProtoReader: walks the fields of one protobuf message in memory, never beyond its end. The
// counterpart of ProtoEncoder, for the Perfetto import. What cannot be a message is a ProtoFault
// with the byte in the file.
#pragma once

#include <bit>
#include <cstdint>
#include <string_view>

namespace gs {

/// Thrown by ProtoReader; the importer turns it into an Error.
struct ProtoFault {
    std::uint64_t byte = 0;
    const char* what = "";
};

class ProtoReader {
  public:
    /// `origin`: where `bytes` begins in the file.
    ProtoReader(std::string_view bytes, std::uint64_t origin) : bytes_(bytes), origin_(origin) {}

    /// Moves to the next field; false at the end of the message.
    bool next() {
        if (at_ == bytes_.size()) return false;
        start_ = at_;
        const std::uint64_t tag = take_varint();
        field_ = static_cast<std::uint32_t>(tag >> 3);
        wire_ = static_cast<std::uint32_t>(tag & 7);
        if (tag >> 3 == 0 || tag >> 32 != 0) fault("no field has this number");
        if (wire_ == 0)
            value_ = take_varint();
        else if (wire_ == 1)
            value_ = take_fixed(8);
        else if (wire_ == 5)
            value_ = take_fixed(4);
        else if (wire_ == 2)
            take_bytes();
        else
            fault("no field is encoded in this way");
        return true;
    }
    std::uint32_t field() const { return field_; }
    /// Of numbers; 0 for fields of another kind.
    std::uint64_t value() const { return wire_ == 2 ? 0 : value_; }
    double real() const { return wire_ == 1 ? std::bit_cast<double>(value_) : 0; }
    /// Of texts and messages; empty for fields of another kind.
    std::string_view text() const { return wire_ == 2 ? text_ : std::string_view(); }
    ProtoReader message() const { return {text(), origin_ + at_ - text().size()}; }
    /// Where the field begins in the file.
    std::uint64_t byte() const { return origin_ + start_; }
    [[noreturn]] void fault(const char* what) const { throw ProtoFault{byte(), what}; }

  private:
    std::uint64_t take_varint() {
        std::uint64_t value = 0;
        for (unsigned shift = 0; shift < 70; shift += 7) {
            if (at_ == bytes_.size()) fault("a number is cut off");
            const auto byte = static_cast<std::uint8_t>(bytes_[at_++]);
            value |= shift < 64 ? std::uint64_t{byte & 0x7Fu} << shift : 0;
            if (byte < 0x80) return value;
        }
        fault("a number is longer than numbers are");
    }
    std::uint64_t take_fixed(std::size_t size) {
        if (bytes_.size() - at_ < size) fault("a number is cut off");
        std::uint64_t value = 0;
        for (std::size_t i = 0; i < size; ++i)
            value |= std::uint64_t{static_cast<std::uint8_t>(bytes_[at_ + i])} << (8 * i);
        at_ += size;
        return value;
    }
    void take_bytes() {
        const std::uint64_t size = take_varint();
        if (size > bytes_.size() - at_) fault("a field says it is longer than what surrounds it");
        text_ = bytes_.substr(at_, static_cast<std::size_t>(size));
        at_ += static_cast<std::size_t>(size);
    }

    std::string_view bytes_, text_;
    std::uint64_t origin_ = 0, value_ = 0;
    std::size_t at_ = 0, start_ = 0;
    std::uint32_t field_ = 0, wire_ = 0;
};

}  // namespace gs
