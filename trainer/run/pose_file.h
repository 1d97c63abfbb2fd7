// poses.json: the cameras of a run that corrects poses or intrinsics, as they are now. A
// transforms.json under another name, so that a run's folder is not taken for a capture: beside the
// photos' folder it opens as one.
#pragma once

#include "trainer/trainer.h"

namespace gs {

/// Every view; training photos with how far they were turned (correction_degrees) and moved
/// (correction_move, world units), and with refined intrinsics all with how much their focal length
/// grew (correction_focal, percent). Errors: unwritable.
Result<void> write_poses(const fs::path& path, const Trainer& trainer);
/// The cameras of such a file: those of the capture's views by their photos' names, with the lenses
/// only where the file has refined ones, in the views' sizes. A view that it does not name keeps
/// its own. Errors: unreadable, malformed.
struct StoredPoses {
    std::vector<Camera> cameras;  ///< by view
    std::size_t found = 0;        ///< of them, in the file
};
Result<StoredPoses> read_poses(const fs::path& path, const Capture& capture);

}  // namespace gs
