// PhotoProblems: where the open scene differs from its photos, for the Problems panel and the mark
// in the viewport. Found by app/session/parts/photo_problems.h.
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
    std::uint64_t serial = 0;  ///< changes with each update
    /// Null: not searched, or not found yet.
    std::shared_ptr<const FoundProblems> found;
    std::uint64_t step = 0;  ///< training step of `found`
    double seconds = 0;      ///< duration of the search
    /// A point in every photo that sees it; null: none requested.
    std::shared_ptr<const PointInPhotos> point;
    std::uint64_t point_step = 0;
    std::uint64_t crops = 0;  ///< changes with the crops of `found` and `point`
    /// The visited problem: marked in the viewport while it shows that photo.
    struct Mark {
        std::size_t view = 0;
        PhotoRect rect;
        std::string words;  ///< "region 3: 14.21 dB"
    };
    std::optional<Mark> mark;
};

}  // namespace gs
