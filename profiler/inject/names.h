// Names that NVTX calls bring along, as ids of the ring's string arena. NVTX's strings belong to
// the caller and may be gone after the call, so every one is looked up by content; a known one is
// found without a lock in some ten nanoseconds. Used by hooks.cpp, which calls none of these in the
// child of a fork: the arena is the parent's.
//
// Programs that build a new name for every step ("iteration 12345") would fill the arena. Once half
// of it is used, the digits of names not seen before become '#', so such names stay one name
// instead of becoming none.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/record/ring.h"

namespace gs::inject {

/// A string's bytes; not terminated.
struct Text {
    const char* data = nullptr;
    std::size_t bytes = 0;
};
Text text_of(const char* text) noexcept;

/// UTF-8 of a wide string, cut to what a name may have.
class Narrow {
  public:
    explicit Narrow(const wchar_t* text) noexcept;
    Text text() const noexcept { return {text_, bytes_}; }

  private:
    char text_[abi::kMaxStringBytes + 1];
    std::size_t bytes_ = 0;
};

/// The id of `text` in the domain named `domain`, added if new; 0: no text, or no room (counted).
/// `color` as abi::StringEntry::color: the first one a name comes with is its colour.
StringId name_id(const Text& text, StringId domain, std::uint32_t color) noexcept;

/// Names category `number` of `domain`.
void name_category(const Text& text, StringId domain, std::uint32_t number) noexcept;

/// In the child of a fork: no other thread is left that could hold a lock.
void forget_names() noexcept;

}  // namespace gs::inject
