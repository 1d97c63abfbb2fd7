#include "renderer/io/splats/spz_streams.h"

#include <zlib.h>
#include <zstd.h>

#include <algorithm>
#include <vector>

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
        if (auto read = file_.read_at(at_, buffer_); !read) return tl::unexpected(read.error());
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
    explicit GzipStream(Source source) : source_(std::move(source)) {
        ready_ = ::inflateInit2(&stream_, MAX_WBITS + 16) == Z_OK;
    }
    ~GzipStream() override { ::inflateEnd(&stream_); }
    GzipStream(const GzipStream&) = delete;
    GzipStream& operator=(const GzipStream&) = delete;

    Result<void> read(std::span<std::byte> out) override {
        while (!out.empty()) {
            if (ended_) return source_.cut();
            if (auto done = step(out); !done) return done;
        }
        return {};
    }
    Result<void> finish() override {
        std::vector<std::byte> rest(kBuffer);
        for (std::size_t passed = 0; !ended_ && passed < kPassedOver;) {
            std::span<std::byte> out(rest);
            if (auto done = step(out); !done) return done;
            passed += rest.size() - out.size();
        }
        return {};
    }

  private:
    // Inflates some more into `out`, which shrinks by what was written.
    Result<void> step(std::span<std::byte>& out) {
        if (!ready_) return source_.damaged("zlib has no memory");
        if (stream_.avail_in == 0 && !source_.ended()) {
            const auto more = source_.next();
            if (!more) return tl::unexpected(more.error());
            stream_.next_in = reinterpret_cast<Bytef*>(const_cast<std::byte*>(more->data()));
            stream_.avail_in = static_cast<uInt>(more->size());
        }
        const std::size_t room = std::min<std::size_t>(out.size(), 1u << 30);
        stream_.next_out = reinterpret_cast<Bytef*>(out.data());
        stream_.avail_out = static_cast<uInt>(room);
        const int code = ::inflate(&stream_, Z_NO_FLUSH);
        out = out.subspan(room - stream_.avail_out);
        if (code == Z_STREAM_END)
            ended_ = true;
        else if (code == Z_BUF_ERROR && source_.ended())
            return source_.cut();
        else if (code != Z_OK && code != Z_BUF_ERROR)
            return source_.damaged(stream_.msg != nullptr ? stream_.msg : "gzip");
        return {};
    }
    Source source_;
    z_stream stream_{};
    bool ready_ = false, ended_ = false;
};

class ZstdStream final : public ByteStream {
  public:
    explicit ZstdStream(Source source)
        : source_(std::move(source)), stream_(::ZSTD_createDStream(), &::ZSTD_freeDStream) {}

    Result<void> read(std::span<std::byte> out) override {
        ZSTD_outBuffer to{out.data(), out.size(), 0};
        while (to.pos < to.size) {
            if (ended_) return source_.cut();
            if (auto done = step(to); !done) return done;
        }
        return {};
    }
    Result<void> finish() override {
        std::byte rest[4096];
        ZSTD_outBuffer to{rest, sizeof rest, 0};
        while (!ended_) {
            to.pos = 0;
            if (auto done = step(to); !done) return done;
            if (to.pos > 0) return source_.damaged("a stream holds more than the header says");
        }
        return {};
    }

  private:
    Result<void> step(ZSTD_outBuffer& to) {
        if (stream_ == nullptr) return source_.damaged("zstd has no memory");
        if (in_.pos == in_.size && !source_.ended()) {
            const auto more = source_.next();
            if (!more) return tl::unexpected(more.error());
            in_ = {more->data(), more->size(), 0};
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
