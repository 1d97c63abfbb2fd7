#include <zlib.h>
#include <zstd.h>

#include <memory>
#include <vector>

#include "base/try.h"
#include "renderer/io/files/meter.h"
#include "renderer/io/splats/formats.h"
#include "renderer/io/splats/rows.h"
#include "renderer/io/splats/spz.h"
#include "renderer/io/splats/values.h"

namespace gs {
namespace {

constexpr int kZstdLevel = 12;
constexpr float kFixedLimit = 8388607;  // largest 24-bit number

struct Losses {
    Tally colors, scales, positions, sh;
};

// 12 bits are what every writer uses; small scenes get up to 16, of large ones only as many as fit.
int choose_fractional_bits(const GaussianModel& model, const SplatRows& rows) {
    float largest = 0;
    for (const std::uint32_t i : rows)
        for (int axis = 0; axis < 3; ++axis)
            largest = std::max(largest, std::abs(model.at(kMeans + axis, i)));
    int bits = 16;
    while (bits > 0 && std::ldexp(largest, bits) > kFixedLimit) --bits;
    return largest >= 128 ? std::min(bits, 12) : bits;
}

class Encoder {
  public:
    Encoder(const GaussianModel& model, const SplatRows& rows, const SpzHeader& header,
            Losses& losses)
        : model_(model), rows_(rows), header_(header), losses_(losses) {}

    void operator()(SpzStream stream, std::byte* out, std::size_t first, std::size_t n) const {
        const std::size_t record = spz_bytes(header_, stream);
        for (std::size_t r = 0; r < n; ++r) encode(stream, rows_[first + r], out + r * record);
    }

  private:
    void encode(SpzStream stream, std::size_t i, std::byte* out) const {
        switch (stream) {
            case SpzStream::positions:
                return position(i, out);
            case SpzStream::alphas:
                *out = std::byte{byte_of_logit(model_.at(kOpacityLogits, i))};
                return;
            case SpzStream::colors:
                for (int c = 0; c < 3; ++c)
                    out[c] = level(model_.at(kSh0 + c, i) * kSpzColorScale * 255 + 127.5f,
                                   losses_.colors);
                return;
            case SpzStream::scales:
                for (int c = 0; c < 3; ++c)
                    out[c] = level((model_.at(kLogScales + c, i) - kSpzScaleBase) * kSpzScaleSteps,
                                   losses_.scales);
                return;
            case SpzStream::rotations:
                return rotation(i, out);
            case SpzStream::sh:
                return sh(i, out);
        }
    }
    // Rounded to a byte; counted when it is not in reach of one.
    static std::byte level(float value, Tally& clamped) {
        if (value < -0.5f || value > 255.5f) clamped.add(1);
        return std::byte{static_cast<std::uint8_t>(quantised(value, 1, 255))};
    }
    void position(std::size_t i, std::byte* out) const {
        for (int axis = 0; axis < 3; ++axis) {
            const float value = (axis > 0 ? -1.0f : 1.0f) *
                                std::ldexp(model_.at(kMeans + axis, i), header_.fractional_bits);
            if (std::abs(value) > kFixedLimit) losses_.positions.add(1);
            const auto fixed = static_cast<std::int32_t>(
                std::lround(std::clamp(value, -kFixedLimit, kFixedLimit)));
            for (int b = 0; b < 3; ++b)
                *out++ = static_cast<std::byte>(static_cast<std::uint32_t>(fixed) >> 8 * b & 255);
        }
    }
    void rotation(std::size_t i, std::byte* out) const {
        // y and z turn with their axes; the format counts components as x y z w.
        const UnitQuat unit = unit_quat(model_.at(kQuats, i), model_.at(kQuats + 1, i),
                                        -model_.at(kQuats + 2, i), -model_.at(kQuats + 3, i));
        const int largest = (unit.largest + 3) % 4;
        auto word = static_cast<std::uint32_t>(largest);
        for (int c = 0; c < 4; ++c) {
            if (c == largest) continue;
            const float value = unit.q[(c + 1) % 4];
            word = word << 10 | (value < 0 ? 512u : 0u) |
                   quantised(std::abs(value) / kHalfSqrt2, 511, 511);
        }
        store_as(out, word);
    }
    void sh(std::size_t i, std::byte* out) const {
        for (int k = 0; k < sh_bases(header_.sh_degree) - 1; ++k)
            for (int c = 0; c < 3; ++c) {
                const float sign = kShFlipsYZ[static_cast<std::size_t>(k)] ? -1.0f : 1.0f;
                *out++ = level(sign * model_.at(kShRest + 3 * k + c, i) * 128 + 128, losses_.sh);
            }
    }

    const GaussianModel& model_;
    const SplatRows& rows_;
    const SpzHeader& header_;
    Losses& losses_;
};

std::vector<std::byte> header_bytes(const SpzHeader& header, std::size_t size,
                                    std::size_t streams) {
    std::vector<std::byte> out(size);
    store_as(out.data(), kSpzMagic);
    store_as(out.data() + 4, header.version);
    store_as(out.data() + 8, header.count);
    out[12] = static_cast<std::byte>(header.sh_degree);
    out[13] = static_cast<std::byte>(header.fractional_bits);
    out[14] = static_cast<std::byte>(header.flags);
    if (size == kSpzHeader4Bytes) {
        out[15] = static_cast<std::byte>(streams);
        store_as(out.data() + 16, static_cast<std::uint32_t>(kSpzHeader4Bytes));
    }
    return out;
}

// Takes bytes, writes them compressed.
class GzipWriter {
  public:
    explicit GzipWriter(AtomicFile& file) : file_(file), buffer_(kPieceBytes) {
        ready_ = ::deflateInit2(&stream_, Z_DEFAULT_COMPRESSION, Z_DEFLATED, MAX_WBITS + 16, 9,
                                Z_DEFAULT_STRATEGY) == Z_OK;
    }
    ~GzipWriter() { ::deflateEnd(&stream_); }
    GzipWriter(const GzipWriter&) = delete;
    GzipWriter& operator=(const GzipWriter&) = delete;

    Result<void> append(std::span<const std::byte> bytes, bool last) {
        if (!ready_) return fail(ErrorKind::unwritable, "", "not enough memory for zlib");
        stream_.next_in = reinterpret_cast<Bytef*>(const_cast<std::byte*>(bytes.data()));
        stream_.avail_in = static_cast<uInt>(bytes.size());
        do {
            stream_.next_out = reinterpret_cast<Bytef*>(buffer_.data());
            stream_.avail_out = static_cast<uInt>(buffer_.size());
            ::deflate(&stream_, last ? Z_FINISH : Z_NO_FLUSH);
            GS_TRY_VOID(file_.append(std::span(buffer_).first(buffer_.size() - stream_.avail_out)));
        } while (stream_.avail_out == 0);
        return {};
    }

  private:
    AtomicFile& file_;
    std::vector<std::byte> buffer_;
    z_stream stream_{};
    bool ready_ = false;
};

// Encodes a stream batch by batch and hands each to `take`.
template <class Take>
Result<void> encode_stream(const Encoder& encode, const SpzHeader& header, SpzStream stream,
                           Take&& take) {
    const std::size_t record = spz_bytes(header, stream);
    if (record == 0) return {};
    const std::size_t batch = 4 * kPieceBytes / record;
    std::vector<std::byte> bytes;
    for (std::size_t first = 0; first < header.count; first += batch) {
        const std::size_t n = std::min<std::size_t>(batch, header.count - first);
        bytes.resize(n * record);
        parallel_ranges(n, 16384, [&](std::size_t begin, std::size_t end) {
            encode(stream, bytes.data() + begin * record, first + begin, end - begin);
        });
        GS_TRY_VOID(take(std::span<const std::byte>(bytes), first + n));
    }
    return {};
}

Result<void> write_gzip(AtomicFile& file, const fs::path& path, const Encoder& encode,
                        const SpzHeader& header, const Progress& progress) {
    GzipWriter gzip(file);
    GS_TRY_VOID(gzip.append(header_bytes(header, kSpzHeaderBytes, 0), false));
    for (int s = 0; s < kSpzStreams; ++s) {
        auto done = encode_stream(
            encode, header, static_cast<SpzStream>(s),
            [&](std::span<const std::byte> bytes, std::size_t rows) -> Result<void> {
                GS_TRY_VOID(gzip.append(bytes, false));
                if (!keep_going(progress, static_cast<std::size_t>(s) * header.count + rows,
                                std::size_t{kSpzStreams} * header.count))
                    return writing_cancelled(path);
                return {};
            });
        if (!done) return done;
    }
    return gzip.append({}, true);
}

struct ZstdFrame {
    std::vector<std::byte> bytes;
    std::uint64_t unpacked = 0;
};

Result<ZstdFrame> zstd_frame(const Encoder& encode, const SpzHeader& header, SpzStream stream,
                             const fs::path& path, Meter& meter) {
    ZstdFrame out{.unpacked = spz_bytes(header, stream) * std::uint64_t{header.count}};
    const std::unique_ptr<ZSTD_CCtx, std::size_t (*)(ZSTD_CCtx*)> context(::ZSTD_createCCtx(),
                                                                          &::ZSTD_freeCCtx);
    if (context == nullptr)
        return fail(ErrorKind::unwritable, path.string(), "not enough memory for zstd");
    ::ZSTD_CCtx_setParameter(context.get(), ZSTD_c_compressionLevel, kZstdLevel);
    ::ZSTD_CCtx_setPledgedSrcSize(context.get(), out.unpacked);
    std::vector<std::byte> buffer(kPieceBytes);
    const auto pump = [&](std::span<const std::byte> bytes, ZSTD_EndDirective how) -> Result<void> {
        ZSTD_inBuffer in{bytes.data(), bytes.size(), 0};
        for (std::size_t left = 1; left != 0;) {
            ZSTD_outBuffer to{buffer.data(), buffer.size(), 0};
            left = ::ZSTD_compressStream2(context.get(), &to, &in, how);
            if (::ZSTD_isError(left) != 0)
                return fail(ErrorKind::unwritable, path.string(),
                            fmt::format("zstd: {}", ::ZSTD_getErrorName(left)));
            out.bytes.insert(out.bytes.end(), buffer.begin(),
                             buffer.begin() + static_cast<std::ptrdiff_t>(to.pos));
            if (how == ZSTD_e_continue && in.pos == in.size) break;
        }
        return {};
    };
    std::size_t packed = 0;
    const auto take = [&](std::span<const std::byte> bytes, std::size_t rows) -> Result<void> {
        GS_TRY_VOID(pump(bytes, ZSTD_e_continue));
        meter.add(rows - packed);
        packed = rows;
        if (meter.cancelled()) return writing_cancelled(path);
        return {};
    };
    GS_TRY_VOID(encode_stream(encode, header, stream, take));
    GS_TRY_VOID(pump({}, ZSTD_e_end));
    return out;
}

Result<void> write_zstd(AtomicFile& file, const fs::path& path, const Encoder& encode,
                        const SpzHeader& header, const Progress& progress) {
    std::vector<SpzStream> streams;
    for (int s = 0; s < kSpzStreams && header.count > 0; ++s)
        if (spz_bytes(header, static_cast<SpzStream>(s)) > 0)
            streams.push_back(static_cast<SpzStream>(s));
    std::vector<ZstdFrame> frames(streams.size());
    const auto pack = [&](Meter& meter) {
        FirstError error;
        parallel_for(streams.size(), 1, [&](std::size_t s) {
            auto frame = zstd_frame(encode, header, streams[s], path, meter);
            if (frame)
                frames[s] = std::move(*frame);
            else
                error.set(frame.error());
        });
        return error.result();
    };
    GS_TRY_VOID(run_metered(progress, streams.size() * header.count, pack));
    GS_TRY_VOID(file.append(header_bytes(header, kSpzHeader4Bytes, streams.size())));
    for (const ZstdFrame& frame : frames) {
        const std::uint64_t entry[2] = {frame.bytes.size(), frame.unpacked};
        GS_TRY_VOID(file.append(std::as_bytes(std::span(entry))));
    }
    for (const ZstdFrame& frame : frames) GS_TRY_VOID(file.append(frame.bytes));
    return {};
}

void note_losses(const Losses& losses, const SpzHeader& header, SplatNotes& notes) {
    if (losses.colors.count() > 0)
        notes.push_back(fmt::format("SPZ clamps colours: {} values beyond -3.33..3.33",
                                    grouped(losses.colors.count())));
    if (losses.sh.count() > 0)
        notes.push_back(fmt::format("SPZ clamps spherical harmonics: {} coefficients beyond -1..1",
                                    grouped(losses.sh.count())));
    if (losses.scales.count() > 0)
        notes.push_back(fmt::format("SPZ clamps sizes: {} beyond e^-10..e^5.94",
                                    grouped(losses.scales.count())));
    if (losses.positions.count() > 0)
        notes.push_back(fmt::format("SPZ clamps positions: {} beyond 8,388,607",
                                    grouped(losses.positions.count())));
    notes.push_back(fmt::format(
        "position is fixed point in steps of 1/{}, rotation 3 x 10 bits, the rest bytes",
        1u << header.fractional_bits));
}

}  // namespace

Result<SplatNotes> write_spz(const fs::path& path, const GaussianModel& model,
                             const SplatWriteOptions& options) {
    if (options.spz_version != 3 && options.spz_version != 4)
        return fail(ErrorKind::usage, path.string(),
                    fmt::format("cannot write SPZ version {}", options.spz_version),
                    "choose 3 or 4");
    SplatNotes notes;
    const SplatRows rows = drawable_rows(model, notes);
    SpzHeader header{.version = static_cast<std::uint32_t>(options.spz_version),
                     .count = static_cast<std::uint32_t>(rows.size()),
                     .sh_degree = model.sh_degree,
                     .fractional_bits = choose_fractional_bits(model, rows),
                     .flags = model.antialiased ? kSpzAntialiased : std::uint8_t{0}};
    GS_TRY(auto file, AtomicFile::create(path));
    Losses losses;
    const Encoder encode(model, rows, header, losses);
    GS_TRY_VOID(header.version == 3 ? write_gzip(file, path, encode, header, options.progress)
                                    : write_zstd(file, path, encode, header, options.progress));
    GS_TRY_VOID(file.commit());
    note_losses(losses, header, notes);
    return notes;
}

}  // namespace gs
