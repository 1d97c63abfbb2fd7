#include <functional>
#include <vector>

#include "base/try.h"
#include "renderer/io/files/meter.h"
#include "renderer/io/splats/formats.h"
#include "renderer/io/splats/limits.h"
#include "renderer/io/splats/rows.h"
#include "renderer/io/splats/spz.h"
#include "renderer/io/splats/spz_streams.h"
#include "renderer/io/splats/values.h"
#include "renderer/scene/transform.h"

namespace gs {
namespace {

constexpr std::uint32_t kAxesExtension =
    0xADBE0003;  // the file's axes are others than right, up, back
constexpr std::uint32_t kAxesRightUpBack = 4, kAxesRightDownForward = 6;
// What its x, y and z point at, by the extension's number less one.
constexpr const char* kSpzAxes[16] = {"LDB", "RDB", "LUB", "RUB", "LDF", "RDF", "LUF", "RUF",
                                      "LFD", "RFD", "LFU", "RFU", "LBD", "RBD", "LBU", "RBU"};
constexpr std::size_t kLongestExtension = 1 << 24;

struct SpzFile {
    const InputFile& file;
    SpzHeader header{};
    int sh_degree = 0;       // in the model
    bool turned = true;      // y and z point the other way than in the model
    bool as_stored = false;  // leave axes alone
    std::uint32_t axes = kAxesRightUpBack;
    std::uint64_t toc = 0;  // version 4: where the sizes of the streams are
    SplatNotes notes{};
};

Result<SpzHeader> parse_header(std::span<const std::byte> bytes, const std::string& path) {
    SpzHeader out;
    if (load_as<std::uint32_t>(bytes.data()) != kSpzMagic)
        return fail_at_byte(path, 0, "does not begin with \"NGSP\"",
                            "it is not an .spz file, or is damaged");
    out.version = load_as<std::uint32_t>(bytes.data() + 4);
    out.count = load_as<std::uint32_t>(bytes.data() + 8);
    out.sh_degree = static_cast<int>(bytes[12]);
    out.fractional_bits = static_cast<int>(bytes[13]);
    out.flags = static_cast<std::uint8_t>(bytes[14]);
    if (out.version < 1 || out.version > 4)
        return fail(ErrorKind::unsupported, path,
                    fmt::format("is SPZ version {}; 1 to 4 are read", out.version));
    if (out.sh_degree > 4)
        return fail_at_byte(
            path, 12,
            fmt::format("names degree {} of spherical harmonics; 0 to 4 exist", out.sh_degree),
            "the file is damaged");
    if (out.version > 1 && out.fractional_bits > 30)
        return fail_at_byte(
            path, 13,
            fmt::format("names {} fractional bits; 0 to 30 are possible", out.fractional_bits),
            "the file is damaged");
    return out;
}

// Columns: where the file's x, y and z point in the model's axes.
Mat3d model_from_axes(std::uint32_t axes) {
    Mat3d out;
    for (int c = 0; c < 3; ++c) {
        const char letter = kSpzAxes[axes - 1][c];
        const int row = letter == 'R' || letter == 'L' ? 0 : letter == 'D' || letter == 'U' ? 1 : 2;
        out.m[row][c] = letter == 'R' || letter == 'D' || letter == 'F' ? 1 : -1;
    }
    return out;
}

void take_extension(SpzFile& spz, std::uint32_t type, std::span<const std::byte> payload) {
    if (type != kAxesExtension || payload.size() < 4) {
        spz.notes.push_back(
            fmt::format("extension {:#010x} ({} bytes) ignored", type, payload.size()));
        return;
    }
    const auto axes = load_as<std::uint32_t>(payload.data());
    if (axes >= 1 && axes <= std::size(kSpzAxes))
        spz.axes = axes;
    else
        spz.notes.push_back(fmt::format("has unknown axes, {}: read as right, up, back", axes));
}

// Rows were decoded as if x pointed right, y up and z back; or, `turned` off, as the model's.
void turn_to_model(const SpzFile& spz, GaussianModel& model) {
    const std::uint32_t taken_as = spz.turned ? kAxesRightUpBack : kAxesRightDownForward;
    if (spz.axes == taken_as) return;
    Affine turn{.linear = model_from_axes(spz.axes) * transpose(model_from_axes(taken_as))};
    transform_rows(model, 0, model.count, turn);
}

// A piece of one stream becomes rows first .. first + n - 1 of the model.
void decode_positions(const SpzFile& spz, const std::byte* bytes, std::size_t first, std::size_t n,
                      GaussianModel& model) {
    const float step = std::ldexp(1.0f, -spz.header.fractional_bits);
    for (std::size_t i = 0; i < n; ++i)
        for (int axis = 0; axis < 3; ++axis) {
            float value;
            if (spz.header.version == 1) {
                value = float_of_half(
                    load_as<std::uint16_t>(bytes + 6 * i + 2 * static_cast<std::size_t>(axis)));
            } else {
                const std::byte* p = bytes + 9 * i + 3 * static_cast<std::size_t>(axis);
                const auto raw = static_cast<std::uint32_t>(p[0]) << 8 |
                                 static_cast<std::uint32_t>(p[1]) << 16 |
                                 static_cast<std::uint32_t>(p[2]) << 24;
                value = static_cast<float>(static_cast<std::int32_t>(raw) >> 8) * step;
            }
            model.at(kMeans + axis, first + i) = spz.turned && axis > 0 ? -value : value;
        }
}

void decode_rotation(const SpzFile& spz, const std::byte* bytes, float* xyzw) {
    if (spz.header.version < 3) {
        for (int c = 0; c < 3; ++c) xyzw[c] = static_cast<float>(bytes[c]) / 127.5f - 1.0f;
        xyzw[3] = largest_of(xyzw[0], xyzw[1], xyzw[2]);
        return;
    }
    std::uint32_t word = load_as<std::uint32_t>(bytes);
    const auto largest = static_cast<int>(word >> 30);
    float squares = 0;
    for (int c = 3; c >= 0; --c) {
        if (c == largest) continue;
        const float magnitude = kHalfSqrt2 * static_cast<float>(word & 511) / 511.0f;
        xyzw[c] = (word & 512) != 0 ? -magnitude : magnitude;
        squares += magnitude * magnitude;
        word >>= 10;
    }
    xyzw[largest] = std::sqrt(std::max(0.0f, 1.0f - squares));
}

void decode_sh(const SpzFile& spz, const std::byte* bytes, std::size_t first, std::size_t n,
               GaussianModel& model) {
    const std::size_t stride = spz_bytes(spz.header, SpzStream::sh);
    const int bases = sh_bases(spz.sh_degree) - 1;  // degree 4 is left out
    for (int k = 0; k < bases; ++k)
        for (int channel = 0; channel < 3; ++channel) {
            const float step =
                (spz.turned && kShFlipsYZ[static_cast<std::size_t>(k)] ? -1.0f : 1.0f) / 128.0f;
            float* plane = model.plane(kShRest + 3 * k + channel) + first;
            const std::byte* from = bytes + 3 * k + channel;
            for (std::size_t i = 0; i < n; ++i)
                plane[i] = (static_cast<float>(from[i * stride]) - 128.0f) * step;
        }
}

void decode(const SpzFile& spz, SpzStream stream, const std::byte* bytes, std::size_t first,
            std::size_t n, GaussianModel& model) {
    const auto byte_at = [&](std::size_t i) { return static_cast<float>(bytes[i]); };
    switch (stream) {
        case SpzStream::positions:
            return decode_positions(spz, bytes, first, n, model);
        case SpzStream::alphas:
            for (std::size_t i = 0; i < n; ++i)
                model.at(kOpacityLogits, first + i) =
                    logit_of_byte(static_cast<std::uint8_t>(bytes[i]));
            return;
        case SpzStream::colors:
            for (std::size_t i = 0; i < 3 * n; ++i)
                model.at(kSh0 + static_cast<int>(i % 3), first + i / 3) =
                    (byte_at(i) / 255.0f - 0.5f) / kSpzColorScale;
            return;
        case SpzStream::scales:
            for (std::size_t i = 0; i < 3 * n; ++i)
                model.at(kLogScales + static_cast<int>(i % 3), first + i / 3) =
                    byte_at(i) / kSpzScaleSteps + kSpzScaleBase;
            return;
        case SpzStream::rotations:
            for (std::size_t i = 0; i < n; ++i) {
                float q[4];
                decode_rotation(spz, bytes + i * spz_bytes(spz.header, stream), q);
                const float turn = spz.turned ? -1.0f : 1.0f;
                model.at(kQuats, first + i) = q[3];
                model.at(kQuats + 1, first + i) = q[0];
                model.at(kQuats + 2, first + i) = turn * q[1];
                model.at(kQuats + 3, first + i) = turn * q[2];
            }
            return;
        case SpzStream::sh:
            return decode_sh(spz, bytes, first, n, model);
    }
}

// Gets how many more rows of a stream are done; false stops.
using Advance = std::function<bool(std::size_t)>;

// Reads all rows of one stream in batches, decoding each with all cores.
Result<void> read_stream(const SpzFile& spz, SpzStream stream, ByteStream& from,
                         GaussianModel& model, const Advance& advance) {
    const std::size_t record = spz_bytes(spz.header, stream);
    if (record == 0 || model.count == 0) return {};
    const std::size_t batch = std::max<std::size_t>(1, 4 * kPieceBytes / record);
    std::vector<std::byte> bytes(std::min(batch, model.count) * record);
    for (std::size_t first = 0; first < model.count; first += batch) {
        const std::size_t n = std::min(batch, model.count - first);
        GS_TRY_VOID(from.read(std::span(bytes).first(n * record)));
        parallel_ranges(n, 16384, [&](std::size_t begin, std::size_t end) {
            decode(spz, stream, bytes.data() + begin * record, first + begin, end - begin, model);
        });
        if (!advance(n)) return reading_cancelled(spz.file.path());
    }
    return {};
}

// Bytes of all streams of one Gaussian.
std::size_t row_bytes(const SpzHeader& header) {
    std::size_t sum = 0;
    for (int s = 0; s < kSpzStreams; ++s) sum += spz_bytes(header, static_cast<SpzStream>(s));
    return sum;
}

Result<GaussianModel> make_model(const SpzFile& spz) {
    GS_TRY_VOID(check_plausible_count(spz.header.count, spz.file.size(), spz.file.path(), 8));
    GaussianModel model = GaussianModel::to_fill(spz.header.count, spz.sh_degree);
    model.antialiased = (spz.header.flags & kSpzAntialiased) != 0;
    return model;
}

// The same records at the end of versions 1 to 3, up to the end of the stream.
void read_extensions(SpzFile& spz, ByteStream& from) {
    std::byte head[8];
    while (from.read(head)) {
        const auto size = load_as<std::uint32_t>(head + 4);
        std::vector<std::byte> payload(std::min<std::size_t>(size, kLongestExtension));
        if (size > kLongestExtension || !from.read(payload)) return;
        take_extension(spz, load_as<std::uint32_t>(head), payload);
    }
}

// Header and streams in one: versions 1 to 3, gzip or plain.
Result<GaussianModel> read_in_one(SpzFile& spz, bool gzip, const Progress& progress) {
    const InputFile& file = spz.file;
    const auto stream =
        gzip ? gzip_stream(file, 0, file.size()) : plain_stream(file, 0, file.size());
    std::byte head[kSpzHeaderBytes];
    GS_TRY_VOID(stream->read(head));
    GS_TRY(const auto header, parse_header(head, file.path()));
    spz.header = header;
    spz.sh_degree = std::min(header.sh_degree, 3);
    const std::uint64_t needed = kSpzHeaderBytes + std::uint64_t{header.count} * row_bytes(header);
    if (!gzip && needed > file.size())
        return fail_at_byte(file.path(), file.size(),
                            fmt::format("the file ends too early: {} Gaussians need {} bytes",
                                        header.count, needed),
                            "the file is cut or its count is wrong; copy it again");
    auto model = make_model(spz);
    if (!model) return model;
    std::size_t done = 0;
    const Advance advance = [&](std::size_t rows) {
        return keep_going(progress, done += rows, kSpzStreams * model->count);
    };
    for (int s = 0; s < kSpzStreams; ++s)
        GS_TRY_VOID(read_stream(spz, static_cast<SpzStream>(s), *stream, *model, advance));
    if ((spz.header.flags & kSpzHasExtensions) != 0) read_extensions(spz, *stream);
    GS_TRY_VOID(stream->finish());
    return model;
}

// Records of type, length and payload between the header of version 4 and its table.
Result<void> read_extensions(SpzFile& spz) {
    std::uint64_t at = kSpzHeader4Bytes;
    while (at + 8 <= spz.toc) {
        std::byte head[8] = {};
        GS_TRY_VOID(spz.file.read_at(at, head));
        const auto type = load_as<std::uint32_t>(head), size = load_as<std::uint32_t>(head + 4);
        if (size > spz.toc - at - 8)
            return fail_at_byte(spz.file.path(), at, "an extension is longer than its space",
                                "the file is damaged");
        std::vector<std::byte> payload(std::min<std::size_t>(size, kLongestExtension));
        GS_TRY_VOID(spz.file.read_at(at + 8, payload));
        take_extension(spz, type, payload);
        at += 8 + std::uint64_t{size};
    }
    spz.turned = !spz.as_stored && spz.axes != kAxesRightDownForward;
    return {};
}

struct Frame {
    SpzStream stream;
    std::uint64_t begin, end;
};

// Where each stream lies, checked against the file and against what the header says.
Result<std::vector<Frame>> read_toc(const SpzFile& spz, std::size_t streams) {
    const InputFile& file = spz.file;
    std::vector<std::byte> table(16 * streams);
    GS_TRY_VOID(file.read_at(spz.toc, table));
    std::vector<Frame> out;
    std::uint64_t at = spz.toc + table.size();
    std::size_t entry = 0;
    for (int s = 0; s < kSpzStreams; ++s) {
        const auto stream = static_cast<SpzStream>(s);
        const std::uint64_t expected =
            spz_bytes(spz.header, stream) * std::uint64_t{spz.header.count};
        if (expected == 0) continue;
        if (entry == streams)
            return fail_at_byte(file.path(), 15, fmt::format("has only {} streams", streams),
                                "the file is damaged");
        const auto packed = load_as<std::uint64_t>(table.data() + 16 * entry);
        const auto unpacked = load_as<std::uint64_t>(table.data() + 16 * entry + 8);
        if (packed > file.size() - at || unpacked != expected)
            return fail_at_byte(file.path(), spz.toc + 16 * entry,
                                fmt::format("stream {}: header says {} bytes ({} unpacked), but {} "
                                            "remain and {} were expected",
                                            entry, packed, unpacked, file.size() - at, expected),
                                "the file is cut or damaged; copy it again");
        out.push_back({stream, at, at + packed});
        at += packed;
        ++entry;
    }
    return out;
}

Result<GaussianModel> read_version_4(SpzFile& spz, const Progress& progress) {
    std::byte head[kSpzHeader4Bytes];
    if (spz.file.size() < sizeof head)
        return fail_at_byte(spz.file.path(), spz.file.size(), "the file ends inside the header",
                            "the file is cut");
    GS_TRY_VOID(spz.file.read_at(0, head));
    GS_TRY(const auto header, parse_header(head, spz.file.path()));
    spz.header = header;
    spz.sh_degree = std::min(header.sh_degree, 3);
    spz.toc = load_as<std::uint32_t>(head + 16);
    const auto streams = static_cast<std::size_t>(head[15]);
    if (spz.toc < kSpzHeader4Bytes || spz.toc + 16 * streams > spz.file.size())
        return fail_at_byte(spz.file.path(), 16,
                            fmt::format("the table of {} streams at byte {} is not inside the file",
                                        streams, spz.toc),
                            "the file is cut or damaged");
    if ((header.flags & kSpzHasExtensions) != 0) GS_TRY_VOID(read_extensions(spz));
    GS_TRY(const auto frames, read_toc(spz, streams));
    auto model = make_model(spz);
    if (!model) return model;
    const auto unpack = [&](Meter& meter) {
        FirstError error;
        parallel_for(frames.size(), 1, [&](std::size_t f) {
            const Frame& frame = frames[f];
            const auto stream = zstd_stream(spz.file, frame.begin, frame.end);
            auto read = read_stream(spz, frame.stream, *stream, *model, [&](std::size_t rows) {
                meter.add(rows);
                return !meter.cancelled() && !error.failed();
            });
            if (read) read = stream->finish();
            if (!read) error.set(read.error());
        });
        return error.result();
    };
    GS_TRY_VOID(run_metered(progress, frames.size() * model->count, unpack));
    return model;
}

}  // namespace

bool recognises_spz(FirstBytes first_bytes, const fs::path& path) {
    if (first_bytes.size() < 8) return false;
    const auto* bytes = reinterpret_cast<const unsigned char*>(first_bytes.data());
    if (bytes[0] != 0x1F || bytes[1] != 0x8B)
        return load_as<std::uint32_t>(first_bytes.data()) == kSpzMagic;
    const auto file = InputFile::open(path);
    if (!file) return false;
    std::byte magic[4];
    return gzip_stream(*file, 0, file->size())->read(magic) &&
           load_as<std::uint32_t>(magic) == kSpzMagic;
}

Result<SplatFile> read_spz(const fs::path& path, const SplatReadOptions& options) {
    GS_TRY(const auto file, InputFile::open(path));
    return read_spz_in(file, false, options.progress);
}

Result<SplatFile> read_spz_in(const InputFile& file, bool as_stored, const Progress& progress) {
    if (file.size() < kSpzHeaderBytes)
        return fail_at_byte(file.path(), file.size(), "the file ends inside the header",
                            "the file is cut");
    std::byte head[8];
    GS_TRY_VOID(file.read_at(0, head));
    const bool gzip = head[0] == std::byte{0x1F} && head[1] == std::byte{0x8B};
    SpzFile spz{.file = file};
    const bool in_streams =
        !gzip && load_as<std::uint32_t>(head) == kSpzMagic && load_as<std::uint32_t>(head + 4) >= 4;
    spz.as_stored = as_stored;
    spz.turned = !as_stored;
    GS_TRY(auto model,
           in_streams ? read_version_4(spz, progress) : read_in_one(spz, gzip, progress));
    if (!as_stored) turn_to_model(spz, model);
    SplatFile out{std::move(model),
                  fmt::format("SPZ {} ({})", spz.header.version,
                              in_streams ? "zstd"
                              : gzip     ? "gzip"
                                         : "plain"),
                  std::move(spz.notes)};
    if (spz.header.sh_degree > 3)
        out.notes.push_back(fmt::format("spherical harmonics of degree {} are reduced to degree 3",
                                        spz.header.sh_degree));
    note_not_finite(out.model, out.notes);
    return out;
}

}  // namespace gs
