// Options that several subcommands share: names, help and values. A subcommand's own options are in
// its own file.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "app/backend/backend.h"
#include "base/expected.h"
#include "renderer/io/captures/capture_io.h"
#include "renderer/io/splats/splat_io.h"
#include "renderer/raster/rasterizer.h"
#include "renderer/scene/capture.h"
#include "trainer/settings/settings.h"

namespace CLI {
class App;
class Validator;
}  // namespace CLI

namespace gs::cli {

/// Options of every subcommand.
struct CommonArguments {
    std::string backend = "auto";  ///< auto | cpu | cuda
    std::optional<int> device;     ///< CUDA's number of the GPU
    bool headless = false;
    bool json = false;  ///< last line on stdout: one JSON object
    std::optional<std::uint64_t> seed;
    std::string config;  ///< file of training settings, JSON or key = value lines
    int threads = 0;     ///< 0: all cores
    bool verbose = false;
    std::vector<std::string> command;  ///< words after "--"; for `record`
};
void add_common(CLI::App& app, CommonArguments& a);
/// Threads, log level.
void apply(const CommonArguments& common);
/// The backend of --backend and --device. Errors (usage): cuda where it cannot be used, with the
/// reason.
Result<Backend> backend_of(const CommonArguments& common);
/// `common` on the CPU, which alone draws along rays; `what` needs that ("--exact"). Errors
/// (usage): another backend is named; with this `advice`.
Result<CommonArguments> on_rays(const CommonArguments& common, const std::string& what,
                                const std::string& advice);
/// Only its rasterizer.
Result<std::unique_ptr<Rasterizer>> make_rasterizer(const CommonArguments& common);

/// How a capture is loaded: the same options wherever a CAPTURE is given.
struct CaptureArguments {
    std::string downscale = "auto";  ///< a whole number or "auto"
    int max_side = 0;
    std::string masks;
    std::vector<std::string> lidars;  ///< recordings beside it; of `train`
    std::string model;                ///< one of a capture's models
    std::optional<int> test_every;
    std::string test_views;  ///< names, comma separated
    std::string background;  ///< "r,g,b", each 0..1; empty: black
    std::optional<bool> undistort;
    std::uint64_t photo_memory_mib = 0;  ///< 0: all photos stay in memory
    std::string init = "points";         ///< "points" | "random" | "random:N"
    bool operator==(const CaptureArguments&) const = default;
};
/// --stacks[=HZ]: call stacks of another program, HZ times a second.
void add_stacks(CLI::App& app, int& hz);
/// --spill DIR: the folder for spill_to().
void add_spill(CLI::App& app, std::string& folder);
void add_loading(CLI::App& app, CaptureArguments& a);
/// --photo-memory MIB: for commands that can do without all photos in memory.
void add_photo_memory(CLI::App& app, CaptureArguments& a);
void add_background(CLI::App& app, std::string& background, const char* group);
Result<CaptureOptions> capture_options(const CaptureArguments& arguments,
                                       const CommonArguments& common);
/// Replaces options of `known` (a run's loading options) that `arguments` give.
Result<CaptureOptions> over_known(CaptureOptions known, const CaptureArguments& arguments,
                                  const CommonArguments& common);
/// Loads with a progress bar, prints the memory forecast before and what was skipped after. Ends
/// with an error that `look` has about the forecast.
Result<std::shared_ptr<Capture>> load_with_progress(
    const CaptureFiles& files, CaptureOptions options,
    const std::function<Result<void>(const CaptureForecast&)>& look = {});
/// "X0,Y0,Z0,X1,Y1,Z1", a smaller and a larger corner. Errors (usage).
Result<ClipBox> parse_box(const std::string& text);
/// "r,g,b" -> numbers; empty -> black.
Result<Vec3f> parse_color(const std::string& text);

/// How pictures are made; eval and render.
struct PictureArguments {
    std::string background, profile = "tight";
    int sh_degree = 3;
    double scale = 1;
    bool antialiased = false;
    std::string projection = "auto";
    bool exact = false;            ///< along rays
    std::uint64_t most_pairs = 0;  ///< listed at once; 0: what fits
};
void add_picture(CLI::App& app, PictureArguments& a);
/// --exact, where picture_backend() draws.
void add_exact(CLI::App& app, PictureArguments& a);
/// What draws the pictures. Errors: of backend_of(); usage: --exact with what only splatting has.
Result<Backend> picture_backend(const PictureArguments& arguments, const CommonArguments& common);
/// How Gaussians become pictures, for reports: "ewa", "ut" or "rays".
const char* projection_of(const PictureArguments& arguments, const RenderOptions& options);
Result<RenderOptions> picture_options(const PictureArguments& arguments);
/// Uses the scene's trained rendering options, unless given.
void draw_as_trained(const SplatFile& scene, const PictureArguments& arguments,
                     RenderOptions& options);

/// The studio's window; view and train --view.
struct WindowArguments {
    std::string script;
    int width = 0, height = 0;  ///< 0: default
    double scale = 0;           ///< 0: the display's scale
};
void add_window(CLI::App& app, WindowArguments& a);

/// One option per row of the settings table, kept as given. The seed is a common option.
void add_settings(CLI::App& app, std::vector<std::pair<std::string, double>>& out);
/// "--absgrad", "--no-absgrad": a setting that is on or off.
bool is_setting_switch(std::string_view word);

/// A finite number from `least` to `most`.
CLI::Validator number_from(double least, double most);
/// The same without a fraction.
CLI::Validator whole_from(double least, double most = std::numeric_limits<std::uint32_t>::max());
/// --stall-after S|auto of `serve` and `attach`, as StallOptions::after_s.
void add_stall_after(CLI::App& app, double& after_s);
inline constexpr double kMostSteps = 9007199254740992;  ///< what a double counts exactly
CLI::Validator picture_side();

}  // namespace gs::cli
