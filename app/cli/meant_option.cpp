#include "app/cli/meant_option.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/edit_distance.h"
#include "base/text.h"

namespace gs {
namespace {

struct ForeignOption {
    const char* theirs;  ///< without hyphens in front, underscores as hyphens
    const char* ours;    ///< an option and perhaps a remark, or a sentence
};
/// INRIA's 3DGS code, gsplat's examples, nerfstudio, LichtFeld Studio, Brush.
constexpr ForeignOption kForeign[] = {
    {"iterations", "--steps N"},
    {"max-steps", "--steps N"},
    {"max-num-iterations", "--steps N"},
    {"total-steps", "--steps N"},
    {"total-train-iters", "--steps N"},
    {"iter", "--steps N"},
    {"i", "--steps N"},
    {"num-iters", "--steps N"},
    {"epochs", "--steps N (steps, one photo each, not epochs)"},
    {"m", "-o DIR"},
    {"model-path", "-o DIR"},
    {"result-dir", "-o DIR"},
    {"output-dir", "-o DIR"},
    {"output-path", "-o DIR"},
    {"export-path", "-o DIR"},
    {"s", "name the capture's folder without an option in front of it"},
    {"source-path", "name the capture's folder without an option in front of it"},
    {"data-dir", "name the capture's folder without an option in front of it"},
    {"data-path", "name the capture's folder without an option in front of it"},
    {"data", "name the capture's folder without an option in front of it"},
    {"d", "name the capture's folder without an option in front of it"},
    {"r", "--downscale N (or --max-side PIXELS)"},
    {"resolution", "--downscale N (or --max-side PIXELS)"},
    {"data-factor", "--downscale N"},
    {"downscale-factor", "--downscale N"},
    {"resize-factor", "--downscale N"},
    {"images", "--downscale N (photos are shrunk here; images_N is not needed)"},
    {"max-width", "--max-side PIXELS"},
    {"max-resolution", "--max-side PIXELS"},
    {"eval", "--test-every 8 (which is the default)"},
    {"llffhold", "--test-every N"},
    {"eval-split-every", "--test-every N"},
    {"eval-interval", "--eval-every N"},
    {"eval-steps", "--eval-every N"},
    {"test-iterations", "--eval-every N"},
    {"save-iterations", "--save-at N,..."},
    {"save-steps", "--save-at N,..."},
    {"checkpoint-iterations", "--save-at N,..."},
    {"export-every", "--keep-every N (checkpoints, which convert makes splat files of)"},
    {"start-checkpoint", "--resume FILE"},
    {"ckpt", "--resume FILE"},
    {"load-checkpoint", "--resume FILE"},
    {"init-type", "--init points or --init random"},
    {"init-num-pts", "--init random:N"},
    {"cap-max", "--max-gaussians N"},
    {"max-cap", "--max-gaussians N"},
    {"max-splats", "--max-gaussians N"},
    {"strategy.cap-max", "--max-gaussians N"},
    {"strategy.grow-grad2d", "--densify-gradient X"},
    {"growth-grad-threshold", "--densify-gradient X"},
    {"densify-grad-threshold", "--densify-gradient X"},
    {"densify-grad-thresh", "--densify-gradient X"},
    {"densify-from-iter", "--densify-from N"},
    {"densify-until-iter", "--densify-until N"},
    {"densification-interval", "--densify-every N"},
    {"refine-every", "--densify-every N"},
    {"strategy.refine-every", "--densify-every N"},
    {"percent-dense", "--densify-extent X"},
    {"opacity-reset-interval", "--opacity-reset-every N"},
    {"reset-every", "--opacity-reset-every N"},
    {"position-lr-init", "--lr-means X (x the scene's extent, as there)"},
    {"position-lr-final", "--lr-means-final X (x the scene's extent, as there)"},
    {"means-lr", "--lr-means X (x the scene's extent, as there)"},
    {"feature-lr", "--lr-sh0 X (and --lr-sh-rest, a twentieth of it there)"},
    {"sh0-lr", "--lr-sh0 X"},
    {"shn-lr", "--lr-sh-rest X"},
    {"opacity-lr", "--lr-opacity X"},
    {"opacities-lr", "--lr-opacity X"},
    {"scaling-lr", "--lr-scales X"},
    {"scales-lr", "--lr-scales X"},
    {"rotation-lr", "--lr-quats X"},
    {"quats-lr", "--lr-quats X"},
    {"ssim-lambda", "--lambda-dssim X"},
    {"init-opa", "--init-opacity X"},
    {"sh-degree-interval", "--sh-interval N"},
    {"batch-size", "--batch N"},
    {"pose-opt", "--refine-poses"},
    {"camera-optimizer.mode", "--refine-poses"},
    {"app-opt", "--appearance"},
    {"train-test-exp", "--appearance exposure"},
    {"ppisp", "--appearance ppisp"},
    {"random-bkgd", "--random-background"},
    {"background-color", "--background R,G,B"},
    {"white-background", "--background white"},
    {"w", "--background white"},
    {"with-ut", "--projection ut"},
    {"gut", "--projection ut"},
    {"antialiasing", "--antialiased"},
    {"mip-filter", "--antialiased"},
    {"disable-viewer", "train opens no window without --view"},
    {"no-gui", "train opens no window without --view"},
    {"with-viewer", "--view"},
    {"gpu", "--device N"},
    {"quiet", "progress goes to stderr: 2>/dev/null"},
};

struct ForeignCommand {
    const char *theirs, *ours;
};
constexpr ForeignCommand kForeignCommands[] = {
    {"doctor", "info"},    {"export", "convert"}, {"simplify", "convert"}, {"evaluate", "eval"},
    {"profile", "record"}, {"monitor", "serve"},  {"benchmark", "bench"},  {"studio", "view"},
    {"compare", "lab"},    {"plan", "info"},      {"metrics", "eval"},
};

/// Sentences are about commands that read captures.
bool has(const std::vector<std::string>& options, std::string_view ours) {
    const std::string_view option = ours.starts_with("--") ? ours.substr(2, ours.find(' ') - 2)
                                    : ours.front() == '-'  ? std::string_view("output")
                                                           : std::string_view("downscale");
    return std::ranges::count(options, option) > 0;
}

/// The option's name alone: "max-steps" of "--max_steps=7".
std::string name_of(std::string_view word) {
    std::string out = lower_case(word.substr(0, word.find('=')));
    out.erase(0, std::min(out.find_first_not_of('-'), out.size()));
    std::ranges::replace(out, '_', '-');
    return out;
}

/// Empty: none comes near.
std::string nearest_of(std::string_view name, const std::vector<std::string>& names) {
    const auto nearest = std::ranges::min_element(
        names, {}, [&](const std::string& other) { return edit_distance(name, other); });
    const bool near =
        nearest != names.end() && edit_distance(name, *nearest) * 3 <= name.size() + 1;
    return near ? *nearest : std::string();
}

}  // namespace

std::string meant_option(std::string_view word, const std::vector<std::string>& options) {
    if (word.size() < 2 || word.front() != '-') return {};
    const std::string name = name_of(word);
    for (const ForeignOption& foreign : kForeign)
        if (name == foreign.theirs && has(options, foreign.ours))
            return foreign.ours[0] == '-' ? fmt::format("did you mean {}?", foreign.ours)
                                          : foreign.ours;
    const std::string nearest = nearest_of(name, options);
    return nearest.empty() ? nearest : fmt::format("did you mean --{}?", nearest);
}

std::string meant_command(std::string_view word, const std::vector<std::string>& commands) {
    for (const ForeignCommand& foreign : kForeignCommands)
        if (word == foreign.theirs) return foreign.ours;
    return nearest_of(word, commands);
}

}  // namespace gs
