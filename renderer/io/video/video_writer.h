// VideoWriter: a video file from pictures, one after the other: H.264 or AV1 in MP4 or Matroska, by
// libavcodec. That is opened at run time from libgausscope_video.so, so that neither the program's
// start nor its bundle carries it. Called by `render --video`, by films and time lapses of the
// studio.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "base/expected.h"
#include "base/file.h"
#include "renderer/io/video/video_plugin.h"
#include "renderer/scene/image.h"

namespace gs {

enum class VideoCodec { h264, av1 };
inline constexpr std::array<const char*, 2> kVideoCodecNames{"h264", "av1"};

struct VideoOptions {
    int width = 0, height = 0;  ///< of the pictures; the video has one more where they are odd
    double fps = 30;
    VideoCodec codec = VideoCodec::h264;
    int quality = 75;  ///< 1..100; 75 is hard to tell from the pictures
};

/// Whether the name's ending is one of a video: .mp4, .m4v, .mkv, in small letters or large.
bool is_video_name(const fs::path& file);

class VideoWriter {
  public:
    /// Errors: usage (the ending); unsupported (no video library, no encoder); unwritable.
    static Result<VideoWriter> create(const fs::path& file, const VideoOptions& options);
    VideoWriter(VideoWriter&& other) noexcept;
    VideoWriter& operator=(VideoWriter&& other) noexcept;
    /// Without finish() nothing appears under the name.
    ~VideoWriter();

    /// The next picture: RGB or RGBA (alpha is left out), of the size that was announced.
    Result<void> add(const Image8& picture);
    /// Syncs and renames into place.
    Result<void> finish();
    /// As libavcodec calls it: "libx264".
    const std::string& encoder() const { return encoder_; }

  private:
    VideoWriter() = default;
    void discard() noexcept;

    const video::Plugin* plugin_ = nullptr;
    void* video_ = nullptr;
    fs::path file_, temporary_;
    VideoOptions options_;
    std::string encoder_;
    std::vector<std::uint8_t> rgba_;  // of even sides
};

}  // namespace gs
