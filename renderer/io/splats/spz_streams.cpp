#include "renderer/io/splats/spz_streams.h"

#include <zstd.h>

#include <algorithm>
#include <vector>

#include "base/inflate.h"
#include "base/try.h"

namespace gs {
namespace {

constexpr std::size_t kBuffer = std::size_t{1} << 18;
constexpr std::size_t kPassedOver = std::size_t{1}
                                    << 24;  // bytes after the last Gaussian: extensions

// Compressed bytes of a part of a file, a buffer at a time.
class Source {
  public:
    Source(const InputFile& file, std::uint64_t offset, std::uint64_t end)
        : file_(file),
          at_(std::min(offset, file.size())),
          end_(std::clamp(end, at_, file.size())) {}
    const InputFile& file() const { return file_; }
    std::uint64_t at() const { return at_; }
    bool ended() const { return at_ == end_; }
    /// The next bytes; empty at the end.
    Result<std::span<const std::byte>> next() {
        buffer_.resize(std::min<std::uint64_t>(kBuffer, end_ - at_));
        GS_TRY_VOID(file_.read_at(at_, buffer_));
        at_ += buffer_.size();
        return std::span<const std::byte>(buffer_);
    }
    tl::unexpected<Error> cut() const {
        return fail_at_byte(file_.path(), at_, "the file ends before the last Gaussian",
                            "the file is cut or its count is wrong; copy it again");
    }
    tl::unexpected<Error> damaged(const char* what) const {
        return fail_at_byte(file_.path(), at_,
                            fmt::format("the compressed data is damaged near here: {}", what),
                            "copy the file again");
    }

  private:
    const InputFile& file_;
    std::uint64_t at_, end_;
    std::vector<std::byte> buffer_;
};

class PlainStream final : public ByteStream {
  public:
    PlainStream(const InputFile& file, std::uint64_t offset, std::uint64_t end)
        : file_(file), at_(offset), end_(end) {}
    Result<void> read(std::span<std::byte> out) override {
        if (out.size() > end_ - std::min(at_, end_)) return Source(file_, end_, end_).cut();
        auto done = file_.read_at(at_, out);
        at_ += out.size();
        return done;
    }

    Result<void> finish() override { return {}; }

  private:
    const InputFile& file_;
    std::uint64_t at_, end_;
};

class GzipStream final : public ByteStream {
  public:
    explicit GzipStream(Source source) : source_(std::move(source)) {}

    Result<void> read(std::span<std::byte> out) override {
        while (!out.empty()) {
            if (ended_) return source_.cut();
            GS_TRY_VOID(step(out));
        }
        return {};
    }
    Result<void> finish() override {
        std::vector<std::byte> rest(kBuffer);
        for (std::size_t passed = 0; !ended_ && passed < kPassedOver;) {
            std::span<std::byte> out(rest);
            GS_TRY_VOID(step(out));
            passed += rest.size() - out.size();
        }
        return {};
    }

  private:
    // Inflates some more into `out`, which shrinks by what was written.
    Result<void> step(std::span<std::byte>& out) {
        if (in_.empty() && !source_.ended()) {
            GS_TRY(in_, source_.next());
        }
        const std::size_t before_out = out.size(), before_in = in_.size();
        const Inflater::State state = inflater_.step(in_, out);
        if (state == Inflater::State::damaged) return source_.damaged(inflater_.message());
        ended_ = state == Inflater::State::ended;
        if (!ended_ && out.size() == before_out && in_.size() == before_in && source_.ended())
            return source_.cut();
        return {};
    }
    Source source_;
    Inflater inflater_{Inflater::Format::gzip};
    std::span<const std::byte> in_;
    bool ended_ = false;
};

class ZstdStream final : public ByteStream {
  public:
    explicit ZstdStream(Source source)
        : source_(std::move(source)), stream_(::ZSTD_createDStream(), &::ZSTD_freeDStream) {}

    Result<void> read(std::span<std::byte> out) override {
        ZSTD_outBuffer to{out.data(), out.size(), 0};
        while (to.pos < to.size) {
            if (ended_) return source_.cut();
            GS_TRY_VOID(step(to));
        }
        return {};
    }
    Result<void> finish() override {
        std::byte rest[4096];
        ZSTD_outBuffer to{rest, sizeof rest, 0};
        while (!ended_) {
            to.pos = 0;
            GS_TRY_VOID(step(to));
            if (to.pos > 0) return source_.damaged("a stream holds more than the header says");
        }
        return {};
    }

  private:
    Result<void> step(ZSTD_outBuffer& to) {
        if (stream_ == nullptr) return source_.damaged("not enough memory for zstd");
        if (in_.pos == in_.size && !source_.ended()) {
            GS_TRY(const auto more, source_.next());
            in_ = {more.data(), more.size(), 0};
        }
        const std::size_t before_out = to.pos, before_in = in_.pos;
        const std::size_t code = ::ZSTD_decompressStream(stream_.get(), &to, &in_);
        if (::ZSTD_isError(code) != 0) return source_.damaged(::ZSTD_getErrorName(code));
        ended_ = code == 0;
        if (!ended_ && to.pos == before_out && in_.pos == before_in && source_.ended())
            return source_.cut();
        return {};
    }
    Source source_;
    std::unique_ptr<ZSTD_DStream, std::size_t (*)(ZSTD_DStream*)> stream_;
    ZSTD_inBuffer in_{nullptr, 0, 0};
    bool ended_ = false;
};

}  // namespace

std::unique_ptr<ByteStream> plain_stream(const InputFile& file, std::uint64_t offset,
                                         std::uint64_t end) {
    return std::make_unique<PlainStream>(file, offset, std::min(end, file.size()));
}
std::unique_ptr<ByteStream> gzip_stream(const InputFile& file, std::uint64_t offset,
                                        std::uint64_t end) {
    return std::make_unique<GzipStream>(Source(file, offset, end));
}
std::unique_ptr<ByteStream> zstd_stream(const InputFile& file, std::uint64_t offset,
                                        std::uint64_t end) {
    return std::make_unique<ZstdStream>(Source(file, offset, end));
}

}  // namespace gs
