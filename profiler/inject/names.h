// Names that NVTX calls bring along, as ids of the ring's string arena. NVTX's strings belong to
// the caller and may be gone after the call, so every one is looked up by content
// (base/record/strings.h). Used by hooks.cpp, which calls none of these in the child of a fork: the
// arena is the parent's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/record/ring.h"

namespace gs::inject {

/// No more of it than shows that it is too long for a name.
std::string_view text_of(const char* text) noexcept;

/// UTF-8 of a wide string, cut to what a name may have.
class Narrow {
  public:
    explicit Narrow(const wchar_t* text) noexcept;
    std::string_view text() const noexcept { return {text_, bytes_}; }

  private:
    char text_[abi::kMaxStringBytes + 1];
    std::size_t bytes_ = 0;
};

/// The id of `text` in the domain named `domain`, added if new; 0: no text, or no space (counted).
/// `color` as abi::StringEntry::color: the first one a name comes with is its colour.
StringId name_id(std::string_view text, StringId domain, std::uint32_t color) noexcept;

/// Names category `number` of `domain`.
void name_category(std::string_view text, StringId domain, std::uint32_t number) noexcept;

}  // namespace gs::inject
