// FilmRender: renders a film picture by picture in idle time: between two training steps, within
// the viewer's share of the time while training runs. Writes a video file, or a folder of PNG
// files. With a streamed set, each picture waits for its own camera's levels. Owned by the engine.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "app/session/engine_context.h"
#include "app/session/parts/streamed_levels.h"
#include "app/session/viewer.h"
#include "renderer/io/video/video_writer.h"
#include "renderer/scene/camera_path.h"

namespace gs {

struct FilmRequest {
    std::string path;  ///< a video's name, else a folder
    std::vector<PathPose> poses{};
    int width = 1920, height = 1080;
    double fps = 30;
    VideoCodec codec = VideoCodec::h264;
    int quality = 75;
    ViewerLens lens{};
    ViewSettings settings{};  ///< what is drawn: mode, style, background, clip box
};

class FilmRender final : public PartWith<Viewer, StreamedLevels> {
  public:
    using PartWith::PartWith;

    /// Reports errors: a film is in progress, no scene is open, the file cannot be written.
    void start(FilmRequest request);

  private:
    struct Film {
        FilmRequest request;
        std::optional<VideoWriter> video{};  // none: PNG files
        std::size_t next = 0;                // picture
    };
    Result<Jobs::Slice> make_next(const Shown& shown, Film& film);
    static std::string what_is_left(const Film& film);
    static std::string text_of(const Film& film);

    std::string path_;  // of the newest film
};

}  // namespace gs
