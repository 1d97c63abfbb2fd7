// What a file may claim. A header says how many Gaussians there are before they have been seen, and
// compressed data can expand a thousandfold; memory is only asked for what a file of this size can
// honestly hold. Used by the readers of compressed formats; the others compare their count with the
// size of the file.
#pragma once

#include "base/expected.h"

namespace gs {

/// Real files take 7 bytes a Gaussian and more; all the same, one byte may stand for this many
/// (copies of one Gaussian compress almost without bound), and this many are allowed in any file.
inline constexpr std::uint64_t kGaussiansPerByte = 64, kGaussiansAlways = 1u << 20;

inline Result<void> check_plausible_count(std::uint64_t count, std::uint64_t file_bytes,
                                          const std::string& path, std::uint64_t at_byte) {
    const std::uint64_t limit = kGaussiansAlways + kGaussiansPerByte * file_bytes;
    if (count <= limit && count < 0xFFFFFFFFull) return {};
    return fail_at_byte(path, at_byte,
                        fmt::format("claims {} Gaussians, more than a file of {} bytes can hold",
                                    count, file_bytes),
                        "the file is damaged");
}

}  // namespace gs
