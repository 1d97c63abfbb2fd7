#include "base/inflate.h"

#include <zlib.h>

#include <algorithm>

namespace gs {
namespace {

constexpr std::size_t kMostAtOnce = std::size_t{1} << 30;  // zlib counts with 32 bits

}  // namespace

Inflater::Inflater(Format format) : stream_(std::make_unique<z_stream>()) {
    ready_ =
        ::inflateInit2(stream_.get(), format == Format::gzip ? MAX_WBITS + 16 : -MAX_WBITS) == Z_OK;
}
Inflater::~Inflater() { ::inflateEnd(stream_.get()); }

Inflater::State Inflater::step(std::span<const std::byte>& in, std::span<std::byte>& out) {
    if (!ready_) return State::damaged;
    for (;;) {
        const std::size_t given = std::min(in.size(), kMostAtOnce),
                          room = std::min(out.size(), kMostAtOnce);
        stream_->next_in = reinterpret_cast<Bytef*>(const_cast<std::byte*>(in.data()));
        stream_->avail_in = static_cast<uInt>(given);
        stream_->next_out = reinterpret_cast<Bytef*>(out.data());
        stream_->avail_out = static_cast<uInt>(room);
        const int code = ::inflate(stream_.get(), Z_NO_FLUSH);
        const bool moved = stream_->avail_in != given || stream_->avail_out != room;
        in = in.subspan(given - stream_->avail_in);
        out = out.subspan(room - stream_->avail_out);
        if (code == Z_STREAM_END) return State::ended;
        if (code != Z_OK && code != Z_BUF_ERROR) return State::damaged;
        if (!moved || in.empty() || out.empty()) return State::more;
    }
}

void Inflater::restart() { ready_ = ready_ && ::inflateReset(stream_.get()) == Z_OK; }

const char* Inflater::message() const {
    if (!ready_) return "zlib has no memory";
    return stream_->msg != nullptr ? stream_->msg : "it is not deflated data";
}

}  // namespace gs
