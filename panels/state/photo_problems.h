// PhotoProblems: where the open scene is wrong by its photos, for the Problems panel and the mark
// in the viewport. Found by app/session/photo_problems.h.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "renderer/problems/problem.h"

namespace gs {

/// The lists that `problems.go N KIND` counts in, from 1.
enum class ProblemKind { region, hole, gaussian, floater, seen };
inline constexpr std::array<const char*, 5> kProblemKindNames{"region", "hole", "gaussian",
                                                              "floater", "seen"};

struct PhotoProblems {
    std::uint64_t serial = 0;  ///< another one with each change
    std::string doing;         ///< "looking at photo 3 of 48"; empty: nothing goes on
    double share = 0;          ///< of it, 0..1
    /// Null: not looked for, or not found yet.
    std::shared_ptr<const FoundProblems> found;
    std::uint64_t step = 0;  ///< of training that `found` is of
    double seconds = 0;      ///< that looking took
    /// A place in every photo that sees it; null: none was asked for.
    std::shared_ptr<const PointInPhotos> point;
    std::uint64_t point_step = 0;
    std::uint64_t crops = 0;  ///< another one with other crops: `found` and `point` are new
    /// What was gone to: marked in the viewport while it shows that photo.
    struct Mark {
        std::size_t view = 0;
        PhotoRect rect;
        std::string words;  ///< "region 3: 14.21 dB"
    };
    std::optional<Mark> mark;
};

}  // namespace gs
