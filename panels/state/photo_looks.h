// PhotoLooks: what a run has learned about its photos: exposures and colours, and its cameras'
// vignettes and tone curves, for the Exposure panel; pose corrections, for the Cameras panel and
// the viewport. Made by the engine (app/session/photo_looks.h).
#pragma once

#include <array>
#include <string>
#include <vector>

#include "panels/state/pose_change.h"
#include "panels/state/snapshot.h"

namespace gs {

struct PhotoLook {
    std::size_t view = 0;
    std::string name;
    unsigned camera = 0;
    std::array<double, 3> stops{};  ///< what it does to grey: red, green, blue

    double exposure() const { return (stops[0] + stops[1] + stops[2]) / 3; }
};
struct CameraLook {
    /// By channel: remaining light (0..1) against the distance from the centre, over the
    /// picture's larger side; shown against arriving light, both 0..1.
    std::array<std::vector<CurvePoint>, 3> vignette, curve;
};
struct PhotoLooks {
    std::uint64_t step = 0;
    std::vector<PhotoLook> photos;    ///< those trained on, in the capture's order; empty: no looks
    std::vector<CameraLook> cameras;  ///< empty: not learned, only exposures and colours
    std::vector<PoseChange> poses;    ///< of those trained on; empty: none is corrected
    bool pose_arrows = true;          ///< the viewport draws them (view.poses.arrows)
};

/// One row per photo: name, camera, stops of exposure and of each channel.
std::string looks_csv(const PhotoLooks& looks);

}  // namespace gs
