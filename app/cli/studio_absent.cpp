// Replaces studio.cpp in builds with GAUSSCOPE_STUDIO=OFF.
#include "app/cli/studio.h"

namespace gs::cli {

Result<std::vector<LapseCamera>> lapse_cameras(const std::string& names, const fs::path&,
                                               const Capture& capture) {
    return choose_lapse_cameras(names, {}, capture);
}

Result<int> open_studio(const ViewArguments&, const CommonArguments&) {
    return fail(ErrorKind::usage, "", "this build has no studio",
                "configure with -DGAUSSCOPE_STUDIO=ON; train, eval and render work without it");
}

}  // namespace gs::cli
