// PhotoSource: reads the pixels of photos that do not stay in memory. Captures whose photos do not
// fit have one (io/captures/photo_stream.h). lend_photo() (capture.h) asks it for photos; the
// trainer announces the next ones.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "renderer/scene/image.h"

namespace gs {

/// As View::photo and View::mask.
struct PhotoPixels {
    Image8 photo, mask;
    std::uint64_t bytes() const { return photo.bytes.size() + mask.bytes.size(); }
};

/// A photo that was there when its capture was loaded cannot be read any more: which, why, and what
/// to do.
class PhotoError : public std::runtime_error {
  public:
    using std::runtime_error::runtime_error;
};

/// Photos that were to be shown or measured and could not be read.
struct UnreadPhotos {
    std::size_t count = 0;
    std::string first{};  ///< which the first was, and why
    void add(std::string why) { add({1, std::move(why)}); }
    void add(UnreadPhotos more) {
        if (count == 0) first = std::move(more.first);
        count += more.count;
    }
    /// Empty where there are none.
    std::string words() const {
        return count > 1 ? std::to_string(count) + " photos were left out; " + first : first;
    }
};

/// Safe to call from several threads. Photos go by their numbers, View::number.
class PhotoSource {
  public:
    virtual ~PhotoSource() = default;
    /// Who holds them keeps them in memory, beyond the source's own limit. Throws PhotoError,
    /// std::bad_alloc.
    virtual std::shared_ptr<const PhotoPixels> read(std::size_t number) = 0;
    /// In what order they will be asked for from now on, as far as is known; a photo may come
    /// several times.
    virtual void expect(std::vector<std::size_t> numbers) = 0;
    /// The next `count` of those expected have had their turn.
    virtual void pass(std::size_t count) = 0;
    /// Pixels in memory now, those lent not counted.
    virtual std::uint64_t bytes() const = 0;
};

}  // namespace gs
