#include "profiler/store/stage_map.h"

#include <algorithm>
#include <array>

namespace gs {
namespace {

struct BuiltIn {
    const char* pattern;
    Stage stage;
    const char* origin;
};

// More particular patterns come before those they would fall under.
constexpr std::array kBuiltIn = std::to_array<BuiltIn>({
    // Ours (renderer/raster/cuda, trainer/cuda).
    {"gs*cuda*project_backward", Stage::project_backward, "gausscope"},
    {"gs*cuda*blend_backward", Stage::blend_backward, "gausscope"},
    {"gs*cuda*photo_loss", Stage::loss, "gausscope"},

    // Inria's rasterizer and what grew from it. Its forward and backward kernels share their names;
    // only the backward
    // ones take float3 arrays (mangled or not, the type is in the name).
    {"renderCUDA*float3", Stage::blend_backward, "Inria"},
    {"PerGaussianRenderCUDA", Stage::blend_backward, "Taming 3DGS"},
    {"renderCUDA", Stage::blend, "Inria"},
    {"preprocessCUDA*float3", Stage::project_backward, "Inria"},
    {"computeCov2DCUDA", Stage::project_backward, "Inria"},
    {"preprocessCUDA", Stage::project, "Inria"},
    {"checkFrustum", Stage::cull, "Inria"},
    {"duplicateWithKeys", Stage::emit, "Inria"},
    {"identifyTileRanges", Stage::ranges, "Inria"},
    {"perTileBucketCount", Stage::ranges, "Taming 3DGS"},
    {"adamUpdateCUDA", Stage::adam, "Inria"},

    // gsplat.
    {"rasterize_to_pixels*bwd", Stage::blend_backward, "gsplat"},
    {"rasterize_to_pixels*fwd", Stage::blend, "gsplat"},
    {"rasterize_to_indices", Stage::blend, "gsplat"},
    {"projection*bwd", Stage::project_backward, "gsplat"},
    {"projection*fwd", Stage::project, "gsplat"},
    {"spherical_harmonics*bwd", Stage::project_backward, "gsplat"},
    {"spherical_harmonics", Stage::project, "gsplat"},
    {"quat_scale_to_covar_preci_bwd", Stage::project_backward, "gsplat"},
    {"quat_scale_to_covar_preci", Stage::project, "gsplat"},
    {"intersect_offset", Stage::ranges, "gsplat"},
    {"intersect_tile", Stage::emit, "gsplat"},
    {"relocation_kernel", Stage::density, "gsplat"},
    {"gaussian_losses", Stage::loss, "gsplat"},
    {"adam_kernel", Stage::adam, "gsplat"},

    // LichtFeld Studio and Faster-GS.
    {"blend_backward_cu", Stage::blend_backward, "Faster-GS"},
    {"preprocess_backward_cu", Stage::project_backward, "Faster-GS"},
    {"preprocess_cu", Stage::project, "Faster-GS"},
    {"apply_depth_ordering_cu", Stage::sort, "Faster-GS"},
    {"create_instances_cu", Stage::emit, "Faster-GS"},
    {"extract_instance_ranges_cu", Stage::ranges, "Faster-GS"},
    {"extract_bucket_counts", Stage::ranges, "Faster-GS"},
    {"blend_cu", Stage::blend, "Faster-GS"},
    {"adam_step", Stage::adam, "Faster-GS"},

    // LiteGS.
    {"raster_backward_kernel", Stage::blend_backward, "LiteGS"},
    {"raster_forward_kernel", Stage::blend, "LiteGS"},
    {"frustum_culling", Stage::cull, "LiteGS"},
    {"sparse_chunk_adam", Stage::adam, "LiteGS"},
    {"sparse_primitive_adam", Stage::adam, "LiteGS"},

    // What all of them build on.
    {"RadixSort", Stage::sort, "CUB"},
    {"MergeSort", Stage::sort, "CUB"},
    {"DeviceScan", Stage::sort, "CUB"},
    {"multi_tensor_apply", Stage::adam, "PyTorch"},
    {"FusedAdam", Stage::adam, "PyTorch"},
    {"fusedssim", Stage::loss, "fused-ssim"},
});

bool matches(std::string_view pattern, std::string_view name) {
    while (true) {
        const std::size_t star = std::min(pattern.find('*'), pattern.size());
        const std::size_t at = name.find(pattern.substr(0, star));
        if (at == std::string_view::npos) return false;
        if (star == pattern.size()) return true;
        name.remove_prefix(at + star);
        pattern.remove_prefix(star + 1);
    }
}

std::string_view trimmed(std::string_view text) {
    const std::size_t first = text.find_first_not_of(" \t\r");
    if (first == std::string_view::npos) return {};
    return text.substr(first, text.find_last_not_of(" \t\r") - first + 1);
}

std::string all_stages() {
    std::string out;
    for (const char* name : kStageNames) out += (out.empty() ? "" : ", ") + std::string(name);
    return out;
}

Result<StageRule> parse_rule(const std::string& path, std::uint64_t number, std::string_view line) {
    const std::size_t equals = line.rfind('=');
    if (equals == std::string_view::npos)
        return fail_at_line(path, number, "a rule is \"pattern = stage\"",
                            "put the kernel's name before the '='");
    const std::string_view pattern = trimmed(line.substr(0, equals)),
                           wanted = trimmed(line.substr(equals + 1));
    if (pattern.find_first_not_of('*') == std::string_view::npos)
        return fail_at_line(path, number, "the pattern is empty and would match every kernel");
    const auto found = std::find(std::begin(kStageNames), std::end(kStageNames), wanted);
    if (found == std::end(kStageNames))
        return fail_at_line(path, number, fmt::format("there is no stage \"{}\"", wanted),
                            "stages: " + all_stages());
    return StageRule{std::string(pattern), static_cast<Stage>(found - std::begin(kStageNames)),
                     fmt::format("{}:{}", path, number)};
}

}  // namespace

StageMap::StageMap() {
    rules_.reserve(kBuiltIn.size());
    for (const BuiltIn& rule : kBuiltIn) rules_.push_back({rule.pattern, rule.stage, rule.origin});
}

Result<void> StageMap::add_file(const fs::path& path) {
    constexpr std::uint64_t kLargestFile = 1 << 20;
    const auto text = read_text_file(path, kLargestFile);
    if (!text) return tl::unexpected(text.error());
    std::vector<StageRule> added;
    std::string_view rest = *text;
    for (std::uint64_t number = 1; !rest.empty(); ++number) {
        const std::size_t end = std::min(rest.find('\n'), rest.size());
        const std::string_view line =
            trimmed(rest.substr(0, std::min(end, rest.substr(0, end).find('#'))));
        rest.remove_prefix(std::min(end + 1, rest.size()));
        if (line.empty()) continue;
        auto rule = parse_rule(path.string(), number, line);
        if (!rule) return tl::unexpected(rule.error());
        added.push_back(std::move(*rule));
    }
    rules_.insert(rules_.begin(), std::make_move_iterator(added.begin()),
                  std::make_move_iterator(added.end()));
    return {};
}

const StageRule* StageMap::rule_of(std::string_view kernel) const {
    const auto found = std::find_if(rules_.begin(), rules_.end(), [&](const StageRule& rule) {
        return matches(rule.pattern, kernel);
    });
    return found == rules_.end() ? nullptr : &*found;
}

Stage StageMap::stage_of(std::string_view kernel) const {
    const StageRule* rule = rule_of(kernel);
    return rule == nullptr ? Stage::other : rule->stage;
}

}  // namespace gs
