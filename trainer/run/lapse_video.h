// The strip of a time lapse as a video: its pictures one after the other. Called by
// `render --time-lapse` and the studio's timelapse.export.
#pragma once

#include <string>

#include "base/progress.h"
#include "renderer/io/video/video_writer.h"
#include "trainer/run/time_lapse.h"

namespace gs {

/// Pictures a second, unless said otherwise: as the studio plays them.
inline constexpr double kLapseFps = 12;

struct LapseVideo {
    std::string view, encoder;
    std::size_t pictures = 0;
    std::vector<std::string> skipped;  ///< that could not be read, or are of another size
};
/// Of the camera called `view` among `views`; empty: the first that has pictures. `options`: its
/// size is found from the first picture. Errors: usage (no such camera, none at all),
/// VideoWriter's, cancelled.
Result<LapseVideo> write_lapse_video(const std::vector<LapseView>& views, const std::string& view,
                                     const fs::path& file, VideoOptions options,
                                     const Progress& progress);

}  // namespace gs
