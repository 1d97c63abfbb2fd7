#include "app/cli/files/exported_cameras.h"

#include "base/log.h"
#include "base/try.h"
#include "trainer/run/pose_file.h"

namespace gs::cli {

Result<ExportedCameras> exported_cameras(const std::string& input, bool lenses) {
    ExportedCameras out;
    std::string path = input;
    CaptureOptions loading{.undistort = !lenses};
    if (auto described = read_run_description(input)) {
        path = described->capture;
        loading = described->loading;
        out.run = std::move(*described);
    }
    loading.photos = false;
    GS_TRY(out.capture, load_capture(path, loading));
    const fs::path poses = fs::path(input) / "poses.json";
    if (out.run && path_exists(poses)) {
        GS_TRY(StoredPoses stored, read_poses(poses, out.capture));
        out.cameras = std::move(stored.cameras);
        out.corrected = stored.found;
        return out;
    }
    for (const View& view : out.capture.views) out.cameras.push_back(view.camera);
    if (out.run) log_info("{}: the run corrected no cameras; these are the capture's", input);
    return out;
}

}  // namespace gs::cli
