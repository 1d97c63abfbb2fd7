// The door between gausscope and libgausscope_video.so, which holds all that is linked to libav:
// some sixty libraries that a start of the program need not load, and that a machine may not have.
// Plain C, so that neither side depends on the other's C++. Opened by video_writer.cpp, filled by
// libav/.
#pragma once

#include <cstddef>
#include <cstdint>

namespace gs::video {

inline constexpr int kPluginVersion = 1;
inline constexpr const char* kPluginEntry = "gausscope_video_plugin";

struct PluginOptions {
    const char* file;       ///< is overwritten
    const char* container;  ///< "mp4" or "matroska"
    const char* encoders;   ///< names of libavcodec, comma separated; the first that works is taken
    int width, height;      ///< even
    double fps;
    int quality;  ///< 1..100
};

/// Functions return false when something went wrong; `error` then says what (`error_bytes` long).
struct Plugin {
    int version;  ///< kPluginVersion, or the rest has another shape
    void* (*open)(const PluginOptions* options, char* error, std::size_t error_bytes);  ///< or null
    const char* (*encoder)(void* video);  ///< the one taken, as long as it is open
    /// One more picture: width x height RGBA, top row first.
    bool (*add)(void* video, const std::uint8_t* rgba, char* error, std::size_t error_bytes);
    /// Writes what is still held back, and the index.
    bool (*finish)(void* video, char* error, std::size_t error_bytes);
    void (*close)(void* video);  ///< in any case, last
};
using PluginEntry = const Plugin* (*)();

}  // namespace gs::video
