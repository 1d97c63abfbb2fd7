// The arguments of `gausscope render` (render.cpp), and the maps that it writes.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "app/cli/cameras.h"
#include "app/cli/options.h"
#include "renderer/io/video/video_writer.h"

namespace gs::cli {

struct RenderArguments {
    std::string scene, output;
    std::string cameras, capture, path;  ///< cameras alone, or capture and/or path
    std::string lidar;                   ///< a recording, whose sweeps are drawn; alone
    std::string format = "png";          ///< png | npy
    std::string maps;  ///< comma separated names of kMaps, or "all"; empty: color for png, all for
                       ///< npy
    int width = 0, height = 0;
    double fov = 50;  ///< degrees, vertical, of --path
    ViewerLens lens{};
    double fps = 0;     ///< pictures a second, of --path FILE and --video; 0: as it says, else 30
    std::string video;  ///< the file; empty: pictures into `output`
    std::string codec = kVideoCodecNames[0];
    std::optional<std::string> lapse;  ///< a camera of a run's time lapse; empty: the first
    int quality = 75;
    CaptureArguments loading;
    PictureArguments picture;
    std::string precision = "exact";
    bool test_only = false;
    double lod_budget = 0;  ///< Gaussians of a streamed set in a picture; 0: its finest level
};

inline constexpr std::array<const char*, 8> kMaps{"color",   "alpha",        "depth",  "median",
                                                  "normals", "contributors", "isects", "pairs"};
/// Of these, what is no map of splatting's own work: there is with --exact.
inline constexpr std::size_t kExactMaps = 5;
/// Measured, not drawn: no picture is like the last. Only where they are named.
inline constexpr std::array<const char*, 4> kCostMaps{"time", "wasted", "backward-time",
                                                      "backward-pairs"};

void add_render_options(CLI::App& app, RenderArguments& a);
/// The names in `text`, comma separated. Errors: usage (no map of that name, or none that is drawn
/// along rays where `exact`).
Result<std::vector<std::string>> parse_maps(const std::string& text, bool exact);

}  // namespace gs::cli
