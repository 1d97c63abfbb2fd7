// ProtoReader: walks the fields of one protobuf message in memory by protozero. Every field is
// taken as it is met: one of another kind than asked for is empty, not an error. What cannot be a
// message is a ProtoFault with the byte in the file.
#pragma once

#include <bit>
#include <cstdint>
#include <protozero/pbf_reader.hpp>
#include <string_view>

namespace gs {

/// Thrown by ProtoReader; the importer turns it into an Error.
struct ProtoFault {
    std::uint64_t byte = 0;
    const char* what = "";
};

class ProtoReader {
  public:
    explicit ProtoReader(std::string_view file) : ProtoReader(file, file.data()) {}

    /// Moves to the next field; false at the end of the message.
    bool next() {
        start_ = text_ = rest_.data().substr(0, 0);
        value_ = 0;
        try {
            if (!rest_.next()) return false;
            switch (rest_.wire_type()) {
                case protozero::pbf_wire_type::varint:
                    value_ = rest_.get_uint64();
                    break;
                case protozero::pbf_wire_type::fixed64:
                    value_ = rest_.get_fixed64();
                    break;
                case protozero::pbf_wire_type::fixed32:
                    value_ = rest_.get_fixed32();
                    break;
                default:
                    text_ = rest_.get_view();
            }
        } catch (const protozero::exception&) {
            fault("incomplete message field");
        }
        return true;
    }
    std::uint32_t field() const { return rest_.tag(); }
    /// Of numbers; 0 for fields of another kind.
    std::uint64_t value() const { return value_; }
    double real() const {
        return rest_.wire_type() == protozero::pbf_wire_type::fixed64
                   ? std::bit_cast<double>(value_)
                   : 0;
    }
    /// Of texts and messages; empty for fields of another kind.
    std::string_view text() const { return text_; }
    ProtoReader message() const { return {text_, file_}; }
    /// Where the field begins in the file.
    std::uint64_t byte() const { return static_cast<std::uint64_t>(start_.data() - file_); }
    [[noreturn]] void fault(const char* what) const { throw ProtoFault{byte(), what}; }

  private:
    ProtoReader(std::string_view bytes, const char* file)
        : rest_(bytes), start_(bytes), text_(bytes), file_(file) {}

    protozero::pbf_reader rest_;
    std::string_view start_, text_;
    const char* file_;
    std::uint64_t value_ = 0;
};

}  // namespace gs
