#include "renderer/io/files/file_set.h"

#include <zlib.h>

#include <algorithm>
#include <map>

#include "base/bytes.h"
#include "base/inflate.h"
#include "base/try.h"
#include "renderer/io/files/input_file.h"

namespace gs {
namespace {

class Folder final : public FileSet {
  public:
    explicit Folder(fs::path folder) : folder_(std::move(folder)) {}
    Result<std::vector<std::byte>> read(const std::string& name,
                                        std::uint64_t max_bytes) const override {
        if (const std::string problem = problem_of_name(name); !problem.empty())
            return fail(ErrorKind::malformed, folder_.string(),
                        fmt::format("names a file \"{}\", {}", name, problem),
                        "the file is damaged or malicious");
        return read_file(folder_ / name, max_bytes);
    }
    std::string find(const std::string& name) const override { return name; }
    std::string describe(const std::string& name) const override {
        return (folder_ / name).string();
    }
    std::uint64_t size() const override {
        std::uint64_t sum = 0;
        std::error_code ignored;
        for (auto it = fs::directory_iterator(folder_, ignored); it != fs::end(it);
             it.increment(ignored))
            if (it->is_regular_file(ignored)) sum += it->file_size(ignored);
        return sum;
    }

  private:
    fs::path folder_;
};

constexpr std::uint32_t kEndSignature = 0x06054B50, kCentralSignature = 0x02014B50,
                        kLocalSignature = 0x04034B50;
constexpr std::size_t kEndBytes = 22, kCentralBytes = 46, kLocalBytes = 30, kLongestComment = 65535;
constexpr std::size_t kMostEntries = 4096;
constexpr std::uint16_t kEncrypted = 1, kStored = 0, kDeflated = 8;

struct Entry {
    std::uint16_t flags = 0, method = 0;
    std::uint32_t crc = 0;
    std::uint64_t packed = 0, unpacked = 0, header_at = 0;
};

class Zip final : public FileSet {
  public:
    Zip(InputFile file, std::map<std::string, Entry> entries)
        : file_(std::move(file)), entries_(std::move(entries)) {}

    Result<std::vector<std::byte>> read(const std::string& name,
                                        std::uint64_t max_bytes) const override {
        const auto it = entries_.find(name);
        if (it == entries_.end())
            return fail(ErrorKind::malformed, file_.path(),
                        fmt::format("has no entry \"{}\"", name),
                        "the file is damaged, or not a SOG bundle");
        const Entry& entry = it->second;
        if ((entry.flags & kEncrypted) != 0 ||
            (entry.method != kStored && entry.method != kDeflated))
            return fail(
                ErrorKind::unsupported, file_.path(),
                fmt::format("entry \"{}\" is encrypted or packed by method {}", name, entry.method),
                "pack it stored or deflated");
        if (entry.unpacked > max_bytes)
            return fail_at_byte(
                file_.path(), entry.header_at,
                fmt::format("entry \"{}\" would unpack to {} bytes, more than the {} accepted",
                            name, entry.unpacked, max_bytes),
                "the file is damaged or malicious");
        auto packed = packed_bytes(name, entry);
        if (!packed) return packed;
        auto bytes = entry.method == kStored ? std::move(packed) : inflated(name, entry, *packed);
        if (!bytes) return bytes;
        const auto crc = ::crc32_z(0, reinterpret_cast<const Bytef*>(bytes->data()), bytes->size());
        if (crc != entry.crc || bytes->size() != entry.unpacked)
            return damaged(name, entry, "its checksum is wrong");
        return bytes;
    }
    std::string find(const std::string& name) const override {
        std::string best;
        for (const auto& [path, entry] : entries_)
            if ((path == name || path.ends_with("/" + name)) &&
                (best.empty() || path.size() < best.size()))
                best = path;
        return best;
    }
    std::string describe(const std::string& name) const override {
        return file_.path() + ":" + name;
    }
    std::uint64_t size() const override { return file_.size(); }

  private:
    tl::unexpected<Error> damaged(const std::string& name, const Entry& entry,
                                  const char* what) const {
        return fail_at_byte(file_.path(), entry.header_at,
                            fmt::format("entry \"{}\" is damaged: {}", name, what),
                            "copy the file again");
    }
    Result<std::vector<std::byte>> packed_bytes(const std::string& name, const Entry& entry) const {
        std::byte local[kLocalBytes];
        if (entry.header_at + kLocalBytes > file_.size())
            return damaged(name, entry, "it starts after the end");
        GS_TRY_VOID(file_.read_at(entry.header_at, local));
        if (load_as<std::uint32_t>(local) != kLocalSignature)
            return damaged(name, entry, "it has no header");
        const std::uint64_t at = entry.header_at + kLocalBytes +
                                 load_as<std::uint16_t>(local + 26) +
                                 load_as<std::uint16_t>(local + 28);
        if (at > file_.size() || entry.packed > file_.size() - at)
            return damaged(name, entry, "it ends after the end of the file");
        std::vector<std::byte> out(entry.packed);
        GS_TRY_VOID(file_.read_at(at, out));
        return out;
    }
    Result<std::vector<std::byte>> inflated(const std::string& name, const Entry& entry,
                                            const std::vector<std::byte>& packed) const {
        constexpr std::uint64_t kMostExpansion = 1032;  // deflate cannot do more
        if (entry.unpacked > kMostExpansion * (entry.packed + 1))
            return damaged(name, entry, "it is too long");
        std::vector<std::byte> out(entry.unpacked);
        Inflater inflater(Inflater::Format::raw);
        std::span<const std::byte> in = packed;
        std::span<std::byte> room = out;
        const bool whole = inflater.step(in, room) == Inflater::State::ended && room.empty();
        if (!whole) return damaged(name, entry, "it cannot be unpacked");
        return out;
    }

    InputFile file_;
    std::map<std::string, Entry> entries_;
};

// The byte where the end record begins.
Result<std::uint64_t> find_end(const InputFile& file, std::vector<std::byte>& record) {
    const std::uint64_t window = std::min<std::uint64_t>(file.size(), kEndBytes + kLongestComment);
    std::vector<std::byte> tail(window);
    GS_TRY_VOID(file.read_at(file.size() - window, tail));
    for (std::size_t at = window < kEndBytes ? 0 : window - kEndBytes + 1; at-- > 0;)
        if (load_as<std::uint32_t>(tail.data() + at) == kEndSignature) {
            record.assign(tail.begin() + static_cast<std::ptrdiff_t>(at),
                          tail.begin() + static_cast<std::ptrdiff_t>(at + kEndBytes));
            return file.size() - window + at;
        }
    return fail_at_byte(file.path(), file.size(), "is a zip archive without its directory",
                        "the file is cut; copy it again");
}

Result<std::map<std::string, Entry>> read_directory(const InputFile& file) {
    std::vector<std::byte> end;
    GS_TRY(const auto end_at, find_end(file, end));
    const std::size_t count = load_as<std::uint16_t>(end.data() + 10);
    const std::uint64_t size = load_as<std::uint32_t>(end.data() + 12),
                        at = load_as<std::uint32_t>(end.data() + 16);
    if (count == 0xFFFF || at == 0xFFFFFFFF)
        return fail(ErrorKind::unsupported, file.path(), "is a zip64 archive",
                    "pack it without zip64");
    if (count > kMostEntries || at > end_at || size > end_at - at)
        return fail_at_byte(file.path(), end_at,
                            "the directory of the archive does not fit into it",
                            "the file is damaged");
    std::vector<std::byte> directory(size);
    GS_TRY_VOID(file.read_at(at, directory));
    std::map<std::string, Entry> out;
    for (std::size_t entry = 0, p = 0; entry < count; ++entry) {
        const std::byte* from = directory.data() + p;
        if (p + kCentralBytes > size || load_as<std::uint32_t>(from) != kCentralSignature)
            return fail_at_byte(file.path(), at + p, "the directory of the archive is damaged",
                                "copy the file again");
        const std::size_t name_bytes = load_as<std::uint16_t>(from + 28);
        const std::size_t more =
            load_as<std::uint16_t>(from + 30) + std::size_t{load_as<std::uint16_t>(from + 32)};
        if (p + kCentralBytes + name_bytes > size)
            return fail_at_byte(file.path(), at + p, "a name in the archive's directory is cut",
                                "the file is damaged");
        std::string name(reinterpret_cast<const char*>(from + kCentralBytes), name_bytes);
        Entry e;
        e.flags = load_as<std::uint16_t>(from + 8);
        e.method = load_as<std::uint16_t>(from + 10);
        e.crc = load_as<std::uint32_t>(from + 16);
        e.packed = load_as<std::uint32_t>(from + 20);
        e.unpacked = load_as<std::uint32_t>(from + 24);
        e.header_at = load_as<std::uint32_t>(from + 42);
        out.emplace(std::move(name), e);
        p += kCentralBytes + name_bytes + more;
    }
    return out;
}

}  // namespace

std::string problem_of_name(const std::string& name) {
    if (name.empty() || name.size() > 1024) return "which is not a name";
    if (name.find('\\') != std::string::npos || name.find('\0') != std::string::npos ||
        name.find(':') != std::string::npos)
        return "which has characters that names cannot have";
    const fs::path path(name);
    if (path.is_absolute()) return "which is not inside the folder";
    for (const fs::path& part : path)
        if (part == "..") return "which is not inside the folder";
    return {};
}

std::unique_ptr<FileSet> open_folder(const fs::path& folder) {
    return std::make_unique<Folder>(folder);
}

Result<std::unique_ptr<FileSet>> open_zip(const fs::path& path) {
    GS_TRY(auto file, InputFile::open(path));
    GS_TRY(auto entries, read_directory(file));
    return std::make_unique<Zip>(std::move(file), std::move(entries));
}

}  // namespace gs
