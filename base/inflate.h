// Inflater: unpacks deflated bytes a piece at a time, so that whoever reads decides how much memory
// they may take. Archives, .spz and gzipped traces are read through it.
#pragma once

#include <cstddef>
#include <memory>
#include <span>

struct z_stream_s;

namespace gs {

class Inflater {
  public:
    enum class Format { raw, gzip };
    enum class State {
        more,     ///< `in` or `out` is used up
        ended,    ///< the stream has its proper end
        damaged,  ///< message() says why
    };
    explicit Inflater(Format format);
    ~Inflater();
    Inflater(const Inflater&) = delete;
    Inflater& operator=(const Inflater&) = delete;

    /// Unpacks from `in` into `out` until one of them is used up or the stream ends. Both shrink by
    /// what was used; when neither does, the stream needs bytes that `in` does not have.
    State step(std::span<const std::byte>& in, std::span<std::byte>& out);
    /// After State::ended: what follows is another gzip member.
    void restart();
    /// zlib's word for the damage.
    const char* message() const;

  private:
    std::unique_ptr<z_stream_s> stream_;
    bool ready_ = false;
};

}  // namespace gs
