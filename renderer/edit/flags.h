// Flags: what is marked at each Gaussian of a scene, one byte a row: selected, hidden, locked. The
// editor (app/session/parts/editor.h) owns them; the functions of this folder select rows.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

namespace gs {

/// Bits of a row's flags.
inline constexpr std::uint8_t kSelected = 1, kHidden = 2, kLocked = 4;
using Flags = std::vector<std::uint8_t>;
/// Rows that a question found, one byte each: 1 or 0.
using Hits = std::vector<std::uint8_t>;

/// How what was found changes what is selected.
enum class SelectMode { replace, add, remove };
inline constexpr std::array<const char*, 3> kSelectModeNames{"new", "add", "remove"};

struct FlagCounts {
    std::uint64_t selected = 0, hidden = 0, locked = 0;
};
FlagCounts count_flags(std::span<const std::uint8_t> flags);

/// `flags` with what was hit selected, added or taken away; hidden rows are never selected.
/// Parallel.
Flags with_selection(const Flags& flags, const Hits& hits, SelectMode mode);
/// `flags` where every row with all bits of `of` has `set` added and `clear` taken away; `of` = 0:
/// every row.
Flags with_bits(const Flags& flags, std::uint8_t of, std::uint8_t set, std::uint8_t clear);
/// The rows that have all bits of `with` and none of `without`, ascending.
std::vector<std::uint32_t> rows_with(std::span<const std::uint8_t> flags, std::uint8_t with,
                                     std::uint8_t without = 0);

}  // namespace gs
