// ViewSettings: how a picture for people is drawn; ViewFrame: the picture. Settings are changed by
// commands, frames are made by the engine and shown by the viewport.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>

#include "base/vec.h"
#include "renderer/scene/camera.h"
#include "renderer/scene/clip_box.h"
#include "renderer/scene/image.h"

namespace gs {

class DevicePicture;  // renderer/device/device_picture.h; nobody who only shows frames looks into
                      // it

enum class ViewMode {
    color,
    depth,
    alpha,
    contributors,
    isects,
    pairs,
    error,
    photo,
    median,
    normals,
    time,
    wasted,
    backward_time,
    backward_pairs
};
inline constexpr std::array<const char*, 14> kViewModeNames{
    "color", "depth",  "alpha",   "contributors", "isects", "pairs",         "error",
    "photo", "median", "normals", "time",         "wasted", "backward-time", "backward-pairs"};
enum class DrawStyle { splats, points, ellipsoids, rings, centres };
inline constexpr std::array<const char*, 5> kDrawStyleNames{"splats", "points", "ellipsoids",
                                                            "rings", "centres"};
/// Whether Gaussians are drawn in this style while the mode is shown: the maps of the rasterizer's
/// own work, and what is found from it, are of splats; dots and rings lie over the picture's
/// colours alone.
constexpr bool style_applies(DrawStyle style, ViewMode mode) {
    const bool over_splats = style == DrawStyle::rings || style == DrawStyle::centres;
    return style == DrawStyle::splats || mode == ViewMode::color ||
           (!over_splats && (mode == ViewMode::depth || mode == ViewMode::alpha));
}
/// Whether the mode is a map of one number a pixel or tile, in the colours of a colormap.
constexpr bool has_colormap(ViewMode mode) {
    return mode != ViewMode::color && mode != ViewMode::photo && mode != ViewMode::normals;
}
/// Whether it is a map of one number a tile.
constexpr bool is_of_tiles(ViewMode mode) {
    return mode == ViewMode::isects || mode == ViewMode::pairs || mode >= ViewMode::time;
}
/// Whether the mode shows what gradients cost.
constexpr bool is_of_backward(ViewMode mode) {
    return mode == ViewMode::backward_time || mode == ViewMode::backward_pairs;
}
enum class Colormap { viridis, inferno, cividis, turbo, gray, diverging };
inline constexpr std::array<const char*, 6> kColormapNames{"viridis", "inferno", "cividis",
                                                           "turbo",   "gray",    "diverging"};
enum class RangeMode { automatic, manual, percentile };
inline constexpr std::array<const char*, 3> kRangeModeNames{"auto", "manual", "percentile"};
/// How the picture and the other one that it is compared with share the viewport.
enum class Compare { off, beside, split, toggle };
inline constexpr std::array<const char*, 4> kCompareNames{"off", "beside", "split", "toggle"};
enum class CompareWith { photo, scene };
inline constexpr std::array<const char*, 2> kCompareWithNames{"photo", "scene"};
/// What the colours of the capture cameras mean.
enum class FrustaColor { split, psnr, ssim, loss, used };
inline constexpr std::array<const char*, 5> kFrustaColorNames{"split", "psnr", "ssim", "loss",
                                                              "used"};
enum class Navigation { orbit, trackball, fly };
inline constexpr std::array<const char*, 3> kNavigationNames{"orbit", "trackball", "fly"};

/// By which ProjectionMethod pictures are drawn: as the run trained or the file says, or another
/// one.
enum class ViewProjection { automatic, ewa, ut };
inline constexpr std::array<const char*, 3> kViewProjectionNames{"auto", "ewa", "ut"};

/// What Gaussians may be coloured by, instead of their own colours.
enum class GaussianValue {
    none,
    opacity,
    size,
    anisotropy,
    sh_energy,
    gradient,
    second_moment,
    density,
    age,
    views,
    filter,
    error,
    cost,
    level
};
inline constexpr std::array<const char*, 14> kGaussianValueNames{
    "off",     "opacity", "size",  "anisotropy", "sh-energy", "gradient", "second-moment",
    "density", "age",     "views", "filter",     "error",     "cost",     "level"};
struct ColorBy {
    GaussianValue value = GaussianValue::none;
    Colormap map = Colormap::viridis;
    bool automatic = true;  ///< the range follows the values
    double lo = 0, hi = 1;  ///< the range else, in the value's own unit
    bool filter = false;    ///< what lies outside of the range is not drawn
    bool operator==(const ColorBy&) const = default;
};

/// How the viewport is drawn. Owned by the app, changed by commands ("view.mode depth"), shown by
/// the viewport panel.
struct ViewSettings {
    ViewMode mode = ViewMode::color;
    DrawStyle style = DrawStyle::splats;
    Colormap colormap = Colormap::viridis;
    RangeMode range = RangeMode::automatic;
    double range_lo = 0, range_hi = 1;  ///< in the map's own unit
    double percentile = 99;             ///< upper; the lower is 100 - this
    bool logarithmic = false;
    Compare compare = Compare::off;
    CompareWith with = CompareWith::photo;  ///< the scene counts while a second one is open
    double split = 0.5;                     ///< 0..1 across the picture
    bool show_photo = false;  ///< in compare mode toggle: the other picture instead of this one
    bool swapped = false;     ///< two scenes: B is this picture, A the other one
    bool signed_error =
        false;  ///< mode error: this picture minus the other one, not the size of the difference
    bool tile_grid = false;       ///< lines every `ViewFrame::map_cell` pixels over tile maps
    Vec3f background{0, 0, 0};    ///< 0..1, behind the splats of the free camera
    bool sky = true;              ///< the scene's, where it has one, in place of the background
    double near_plane = 0;        ///< world units; 0: the scene's own
    std::optional<ClipBox> clip;  ///< Gaussians outside are not drawn
    bool frusta = true;
    bool frusta_photos = false;  ///< each holds its photo
    FrustaColor frusta_color = FrustaColor::split;
    double frusta_size = 1;   ///< times what suits the scene
    bool grid = false;        ///< on the ground
    bool overlays = true;     ///< legend, value under mouse, axes
    bool photo_look = false;  ///< a photo's camera shows the scene as that photo would
    bool shutter = true;      ///< a photo's rolling shutter counts; false: one pose for all rows
    bool shutter_arrows = false;  ///< what it moves, and when each row is read, over its picture
    Navigation navigation = Navigation::orbit;
    ViewProjection projection = ViewProjection::automatic;
    bool exact = false;  ///< along rays, where along_rays()
    int sh_degree = 3;
    bool fast = false;  ///< pictures that are only looked at: Precision::fast
    double scale_modifier = 1;
    double point_size = 2;      ///< px across, of the dots of styles points and centres
    bool level_colors = false;  ///< streamed sets: each Gaussian in the colour of its level
    ColorBy color_by;
    double fly_speed = 1;         ///< scene extents per second
    double viewer_budget = 0.25;  ///< share of engine time view frames may take while training
    double lod_budget = 2e6;      ///< streamed sets: Gaussians drawn at most
    double lod_memory = 512;      ///< the same: MiB of them that are kept
    double lod_pixels =
        2;  ///< the same: how far apart the Gaussians of a region may lie on the screen
    int lod_level = -1;     ///< the same: this level everywhere; -1: by gain and budget
    int capture_view = -1;  ///< index of the capture camera the viewport is snapped to, -1: free
};

/// Whether what is seen through this camera is drawn along rays (ViewSettings::exact): not maps of
/// splatting's own work, nor the orthographic view, whose rays are parallel.
inline bool along_rays(const ViewSettings& settings, const Camera& camera) {
    return settings.exact && !camera.orthographic() && settings.mode != ViewMode::contributors &&
           !is_of_tiles(settings.mode);
}

/// One picture for the viewport, as the engine made it: in `rgba`, or left in device memory in
/// `picture`. `map` holds the scalar behind a heatmap, in its own unit.
struct ViewFrame {
    std::uint64_t serial = 0;
    std::uint64_t request = 0;  ///< number of the view request it answers
    std::uint64_t step = 0;     ///< training step it shows
    ViewMode mode = ViewMode::color;
    Camera camera;
    Image8 rgba;  ///< 4 channels, the colormap applied for maps; empty when `picture` holds the
                  ///< colours
    std::shared_ptr<const DevicePicture> picture;  ///< null: `rgba` is the picture
    ImageF map;  ///< 1 plane at picture size for depth, alpha, contributors, error, median; at tile
                 ///< size where is_of_tiles()
    ImageF
        normals;  ///< mode normals: 3 planes, a unit vector in the world, NaN where there is none
    int map_cell = 1;                   ///< pixels per map value: 1, or the tile size
    bool map_empty = false;             ///< the map, or the normals, have a value nowhere
    double range_lo = 0, range_hi = 1;  ///< range the colormap was applied with
    double map_min = 0, map_max = 0, map_mean = 0, map_p50 = 0, map_p95 = 0;
    std::string unit;     ///< "world units", "Gaussians", "pairs", "|error|"
    std::string note;     ///< what one must know of the map: "gradient of every pixel is 1"
    bool exact = false;   ///< along_rays()
    bool tinted = false;  ///< Gaussians are hidden, or in other colours than their own
    Colormap colormap = Colormap::viridis;  ///< applied to the map
    bool logarithmic = false;               ///< the same
    Image8 photo;             ///< the capture's photo for this camera, RGB; empty for a free camera
    double psnr = 0;          ///< against the photo, 0 when there is none
    bool shrunk = false;      ///< the photo was, to the picture's size: psnr is not the model's
    double milliseconds = 0;  ///< what the engine spent on it
    std::uint64_t visible = 0, isects = 0;
    std::optional<ClipBox> clip;  ///< nothing outside was drawn
    double cut_before = 0;        ///< the near plane, where it was set by hand, world units
    // ---- where two scenes are compared
    std::string name;   ///< which of them this is: "A", "B"; empty: only one is drawn
    std::string scene;  ///< "playbot.sog"; in mode error what was subtracted: "A - B"
    std::shared_ptr<const ViewFrame>
        other;  ///< the other scene from the same camera; its map has the same range
    double psnr_between =
        std::numeric_limits<double>::quiet_NaN();  ///< of one picture against the other, dB; NaN
                                                   ///< where tinted
    double ssim_between =
        std::numeric_limits<double>::quiet_NaN();  ///< NaN: not measured while the camera moves
};

}  // namespace gs
