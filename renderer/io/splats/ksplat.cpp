// .ksplat of mkkellogg/GaussianSplats3D. A header of 4096 bytes, a header of 1024 bytes a section,
// then the sections: sizes of partly filled buckets, centres of buckets, records. At levels 1 and 2
// a position is an offset from the centre of its bucket, and numbers are half floats (level 2:
// spherical harmonics are bytes). Read only.
#include <cstring>

#include "base/try.h"
#include "renderer/io/files/records.h"
#include "renderer/io/splats/formats.h"
#include "renderer/io/splats/rows.h"
#include "renderer/io/splats/values.h"

namespace gs {
namespace {

constexpr std::size_t kHeader = 4096, kSectionHeader = 1024;
constexpr std::uint32_t kDefaultRange = 32767;  // of positions at levels 1 and 2
constexpr std::uint64_t kMostSections = 65536;

struct Header {
    std::uint32_t sections = 0;  // space for headers
    std::uint32_t count = 0;
    int level = 0;
    float sh_min = -1.5f, sh_max = 1.5f;
};

struct Section {
    std::uint32_t count = 0, room = 0;
    std::uint32_t bucket_size = 0, buckets = 0, full_buckets = 0, partial_buckets = 0;
    std::uint32_t bucket_bytes = 0;
    float block = 0;
    std::uint32_t range = kDefaultRange;
    int degree = 0;
    std::uint64_t at = 0;  // first byte of its data
    std::vector<float> centers;
    std::vector<std::uint32_t> bucket_ends;  // of the partial buckets: row after the last

    std::size_t coefficients() const { return 3 * static_cast<std::size_t>(sh_bases(degree) - 1); }
    std::uint64_t tables_bytes() const {
        return std::uint64_t{bucket_bytes} * buckets + std::uint64_t{4} * partial_buckets;
    }
};

// Where things are in a record of this level.
struct Layout {
    std::size_t scale, rotation, color, sh, sh_bytes;
    std::size_t record(const Section& s) const { return sh + s.coefficients() * sh_bytes; }
};
constexpr Layout kLayouts[3] = {{12, 24, 40, 44, 4}, {6, 12, 20, 24, 2}, {6, 12, 20, 24, 1}};

Result<Header> read_header(const InputFile& file) {
    std::vector<std::byte> bytes(kHeader);
    if (file.size() < kHeader)
        return fail_at_byte(file.path(), file.size(), "the file ends inside the header",
                            "the file is cut");
    GS_TRY_VOID(file.read_at(0, bytes));
    if (bytes[0] != std::byte{0} || bytes[1] == std::byte{0})
        return fail(ErrorKind::unsupported, file.path(),
                    fmt::format("is ksplat version {}.{}; 0.1 and later are supported",
                                static_cast<int>(bytes[0]), static_cast<int>(bytes[1])));
    Header out;
    out.sections = load_as<std::uint32_t>(bytes.data() + 4);
    out.count = load_as<std::uint32_t>(bytes.data() + 16);
    out.level = load_as<std::uint16_t>(bytes.data() + 20);
    if (out.level > 2)
        return fail_at_byte(file.path(), 20,
                            fmt::format("names compression level {}; 0 to 2 exist", out.level),
                            "the file is damaged");
    // Zero stands for the default, as in the program that writes them.
    const auto lo = load_as<float>(bytes.data() + 36), hi = load_as<float>(bytes.data() + 40);
    if (lo != 0) out.sh_min = lo;
    if (hi != 0) out.sh_max = hi;
    if (out.sections > kMostSections ||
        kHeader + std::uint64_t{kSectionHeader} * out.sections > file.size())
        return fail_at_byte(
            file.path(), 4,
            fmt::format("claims {} sections, more than the file holds", out.sections),
            "the file is cut or damaged");
    return out;
}

Result<Section> read_section_header(const InputFile& file, std::uint64_t at) {
    std::byte bytes[44];
    GS_TRY_VOID(file.read_at(at, bytes));
    const auto number = [&](std::size_t offset) { return load_as<std::uint32_t>(bytes + offset); };
    Section out{.count = number(0),
                .room = number(4),
                .bucket_size = number(8),
                .buckets = number(12),
                .block = load_as<float>(bytes + 16)};
    out.bucket_bytes = load_as<std::uint16_t>(bytes + 20);
    if (number(24) != 0) out.range = number(24);
    out.full_buckets = number(32);
    out.partial_buckets = number(36);
    out.degree = load_as<std::uint16_t>(bytes + 40);
    if (out.degree > 3)
        return fail_at_byte(file.path(), at + 40,
                            fmt::format("names degree {} of spherical harmonics", out.degree),
                            "the file is damaged");
    if (out.count > out.room || std::uint64_t{out.full_buckets} + out.partial_buckets > out.buckets)
        return fail_at_byte(file.path(), at, "a section's counts contradict each other",
                            "the file is damaged");
    return out;
}

Result<void> read_tables(const InputFile& file, int level, Section& section) {
    if (level == 0) return {};
    const auto malformed = [&](const char* what) {
        return fail_at_byte(file.path(), section.at, what, "the file is damaged");
    };
    if ((section.count > 0 && section.buckets == 0) ||
        (section.buckets > 0 && section.bucket_bytes < 12))
        return malformed("a section has no buckets");
    section.bucket_ends.resize(section.partial_buckets);
    GS_TRY_VOID(file.read_at(section.at, std::as_writable_bytes(std::span(section.bucket_ends))));
    std::uint64_t end = std::uint64_t{section.full_buckets} * section.bucket_size;
    for (std::uint32_t& size : section.bucket_ends) {
        end += size;
        size = static_cast<std::uint32_t>(std::min<std::uint64_t>(end, 0xFFFFFFFFu));
    }
    if (end < section.count) return malformed("the buckets hold fewer Gaussians than the section");
    section.centers.resize(3 * std::size_t{section.buckets});
    std::vector<std::byte> raw(std::size_t{section.bucket_bytes} * section.buckets);
    GS_TRY_VOID(file.read_at(section.at + 4 * std::uint64_t{section.partial_buckets}, raw));
    for (std::size_t b = 0; b < section.buckets; ++b)
        std::memcpy(section.centers.data() + 3 * b, raw.data() + b * section.bucket_bytes, 12);
    return {};
}

std::size_t bucket_of(const Section& s, std::size_t row) {
    if (row < std::uint64_t{s.full_buckets} * s.bucket_size) return row / s.bucket_size;
    const auto it = std::ranges::upper_bound(s.bucket_ends, static_cast<std::uint32_t>(row));
    return s.full_buckets + static_cast<std::size_t>(it - s.bucket_ends.begin());
}

// Coefficient number i of a record: each degree has all of red, then green, then blue.
int sh_plane(std::size_t i) {
    static constexpr std::size_t kFirst[3] = {0, 9, 24}, kBases[3] = {3, 5, 7},
                                 kBefore[3] = {0, 3, 8};
    const std::size_t degree = i < 9 ? 0 : i < 24 ? 1 : 2;
    const std::size_t channel = (i - kFirst[degree]) / kBases[degree],
                      base = (i - kFirst[degree]) % kBases[degree];
    return kShRest + 3 * static_cast<int>(kBefore[degree] + base) + static_cast<int>(channel);
}

struct Decoder {
    const Header& header;
    const Section& section;
    GaussianModel& model;

    void operator()(const std::byte* from, std::size_t row, std::size_t i) const {
        const Layout& layout = kLayouts[header.level];
        const float step = section.block / 2 / static_cast<float>(section.range);
        const std::size_t bucket = header.level == 0 ? 0 : bucket_of(section, row);
        for (int axis = 0; axis < 3; ++axis) {
            const auto a = static_cast<std::size_t>(axis);
            const float position = header.level == 0
                                       ? load_as<float>(from + 4 * a)
                                       : (static_cast<float>(load_as<std::uint16_t>(from + 2 * a)) -
                                          static_cast<float>(section.range)) *
                                                 step +
                                             section.centers[3 * bucket + a];
            model.at(kMeans + axis, i) = position;
            const float scale = real(from + layout.scale, a);
            model.at(kLogScales + axis, i) = scale > 0 ? std::log(scale) : kSmallestLogScale;
            model.at(kSh0 + axis, i) =
                sh0_of_color(static_cast<float>(from[layout.color + a]) / 255.0f);
        }
        for (int c = 0; c < 4; ++c)
            model.at(kQuats + c, i) = real(from + layout.rotation, static_cast<std::size_t>(c));
        model.at(kOpacityLogits, i) =
            logit_of_byte(static_cast<std::uint8_t>(from[layout.color + 3]));
        for (int p = kShRest; p < model.planes(); ++p) model.at(p, i) = 0;
        for (std::size_t k = 0; k < section.coefficients(); ++k)
            model.at(sh_plane(k), i) =
                header.level == 2 ? header.sh_min + static_cast<float>(from[layout.sh + k]) /
                                                        255.0f * (header.sh_max - header.sh_min)
                                  : real(from + layout.sh, k);
    }

  private:
    static constexpr float kSmallestLogScale = -10;  // where the file holds a size of zero
    float real(const std::byte* from, std::size_t k) const {
        return header.level == 0 ? load_as<float>(from + 4 * k)
                                 : float_of_half(load_as<std::uint16_t>(from + 2 * k));
    }
};

// All section headers with where their data lies, checked against the size of the file.
Result<std::vector<Section>> read_sections(const InputFile& file, const Header& header) {
    std::vector<Section> out;
    std::uint64_t at = kHeader + std::uint64_t{kSectionHeader} * header.sections, count = 0;
    for (std::uint32_t s = 0; s < header.sections; ++s) {
        const std::uint64_t header_at = kHeader + std::uint64_t{kSectionHeader} * s;
        GS_TRY(auto section, read_section_header(file, header_at));
        section.at = at;
        const std::uint64_t record = kLayouts[header.level].record(section);
        // Space for unused ones need not be in the file after the last record.
        if (at > file.size() || section.tables_bytes() + record * section.count > file.size() - at)
            return fail_at_byte(
                file.path(), header_at,
                fmt::format("section {} claims {} Gaussians, more than the file holds", s,
                            section.count),
                "the file is cut or damaged; copy it again");
        at += section.tables_bytes() + record * section.room;
        count += section.count;
        GS_TRY_VOID(read_tables(file, header.level, section));
        out.push_back(std::move(section));
    }
    if (count != header.count)
        return fail_at_byte(
            file.path(), 16,
            fmt::format("claims {} Gaussians, its sections hold {}", header.count, count),
            "the file is damaged");
    return out;
}

}  // namespace

bool recognises_ksplat(FirstBytes first_bytes, const fs::path& path) {
    if (first_bytes.size() < kHeader || first_bytes[0] != std::byte{0} ||
        first_bytes[1] == std::byte{0})
        return false;
    const auto most = load_as<std::uint32_t>(first_bytes.data() + 4),
               used = load_as<std::uint32_t>(first_bytes.data() + 8);
    std::error_code ignored;
    const std::uint64_t size = fs::file_size(path, ignored);
    return load_as<std::uint16_t>(first_bytes.data() + 20) <= 2 && most > 0 && used <= most &&
           !ignored && kHeader + std::uint64_t{kSectionHeader} * most <= size;
}

Result<SplatFile> read_ksplat(const fs::path& path, const SplatReadOptions& options) {
    GS_TRY(const auto file, InputFile::open(path));
    GS_TRY(const auto header, read_header(file));
    GS_TRY(const auto sections, read_sections(file, header));
    int degree = 0;
    for (const Section& section : sections)
        if (section.count > 0) degree = std::max(degree, section.degree);
    SplatFile out{GaussianModel::to_fill(header.count, degree),
                  fmt::format("ksplat level {}", header.level),
                  {}};
    std::size_t before = 0;
    for (const Section& section : sections) {
        const std::size_t record = kLayouts[header.level].record(section);
        const Decoder decode{header, section, out.model};
        GS_TRY_VOID(read_records(file, section.at + section.tables_bytes(), record, section.count,
                                 options.progress,
                                 [&](const std::byte* bytes, std::size_t first, std::size_t n) {
                                     for (std::size_t i = 0; i < n; ++i)
                                         decode(bytes + i * record, first + i, before + first + i);
                                 }));
        before += section.count;
    }
    note_not_finite(out.model, out.notes);
    return out;
}

}  // namespace gs
