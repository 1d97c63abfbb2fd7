#include "renderer/io/files/zip_writer.h"

#include <zlib.h>

#include <new>

#include "base/bytes.h"
#include "base/try.h"

namespace gs {
namespace {

constexpr std::uint16_t kVersion = 20,
                        kDate = 0x21;  // 1 January 1980: the same bytes whenever they are written

class Record {
  public:
    template <class T>
    Record& put(T value) {
        bytes_.resize(bytes_.size() + sizeof(T));
        store_as(bytes_.data() + bytes_.size() - sizeof(T), value);
        return *this;
    }
    Record& put(const std::string& text) {
        for (const char c : text) bytes_.push_back(static_cast<std::byte>(c));
        return *this;
    }
    const std::vector<std::byte>& bytes() const { return bytes_; }

  private:
    std::vector<std::byte> bytes_;
};

}  // namespace

Result<void> ZipWriter::add(const std::string& name, std::span<const std::byte> bytes) {
    const auto crc = static_cast<std::uint32_t>(
        ::crc32_z(0, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size()));
    return put(name, bytes, {0, crc, static_cast<std::uint32_t>(bytes.size())});
}

Result<void> ZipWriter::add(const std::string& name, const Deflated& entry) {
    return put(name, entry.bytes, {8, entry.crc, entry.size});
}

Result<ZipWriter::Deflated> ZipWriter::deflated(std::span<const std::byte> bytes) {
    if (bytes.size() > 0xF0000000ull)
        return fail(ErrorKind::unsupported, "", "an entry of the archive would exceed 4 GiB");
    Deflated out{.size = static_cast<std::uint32_t>(bytes.size())};
    out.crc = static_cast<std::uint32_t>(
        ::crc32_z(0, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size()));
    z_stream z{};
    constexpr int kRaw = -MAX_WBITS, kMemory = 8;
    if (deflateInit2(&z, Z_BEST_SPEED, Z_DEFLATED, kRaw, kMemory, Z_DEFAULT_STRATEGY) != Z_OK)
        throw std::bad_alloc();
    out.bytes.resize(deflateBound(&z, static_cast<uLong>(bytes.size())));
    z.next_in = reinterpret_cast<Bytef*>(const_cast<std::byte*>(bytes.data()));
    z.avail_in = out.size;
    z.next_out = reinterpret_cast<Bytef*>(out.bytes.data());
    z.avail_out = static_cast<uInt>(out.bytes.size());
    const int ended = deflate(&z, Z_FINISH);
    out.bytes.resize(z.total_out);
    deflateEnd(&z);
    if (ended != Z_STREAM_END) return fail(ErrorKind::unwritable, "", "zlib does not pack");
    return out;
}

Result<void> ZipWriter::put(const std::string& name, std::span<const std::byte> bytes, Kind kind) {
    if (at_ + bytes.size() + directory_.size() > 0xFFFFFFFFull - (1 << 20))
        return fail(ErrorKind::unsupported, "", "the bundle would be larger than 4 GiB",
                    "write a folder: DIR/meta.json");
    const auto size = static_cast<std::uint32_t>(bytes.size());
    const auto common = [&](Record& record) {
        record.put(kVersion)
            .put(std::uint16_t{0})
            .put(kind.method)
            .put(std::uint16_t{0})
            .put(kDate);
        record.put(kind.crc)
            .put(size)
            .put(kind.size)
            .put(static_cast<std::uint16_t>(name.size()))
            .put(std::uint16_t{0});
    };
    Record local, central;
    local.put(0x04034B50u);
    common(local);
    local.put(name);
    central.put(0x02014B50u).put(kVersion);
    common(central);
    central.put(std::uint16_t{0})
        .put(std::uint16_t{0})
        .put(std::uint16_t{0})
        .put(0u)
        .put(static_cast<std::uint32_t>(at_));
    central.put(name);
    GS_TRY_VOID(file_.append(local.bytes()));
    GS_TRY_VOID(file_.append(bytes));
    at_ += local.bytes().size() + bytes.size();
    directory_.insert(directory_.end(), central.bytes().begin(), central.bytes().end());
    ++entries_;
    return {};
}

Result<void> ZipWriter::finish() {
    Record end;
    end.put(0x06054B50u).put(std::uint16_t{0}).put(std::uint16_t{0}).put(entries_).put(entries_);
    end.put(static_cast<std::uint32_t>(directory_.size()))
        .put(static_cast<std::uint32_t>(at_))
        .put(std::uint16_t{0});
    GS_TRY_VOID(file_.append(directory_));
    return file_.append(end.bytes());
}

}  // namespace gs
