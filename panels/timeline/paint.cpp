#include "panels/timeline/paint.h"

#include "profiler/store/gpu_event.h"

namespace gs {
namespace {

constexpr ImU32 kCopyColor = color_rgb(0x8f6fd0), kFillColor = color_rgb(0x6d5a96);

ImU32 call_color(ApiKind kind) {
    switch (kind) {
        case ApiKind::launch:
        case ApiKind::graph_launch:
            return color_rgb(0x5f83ad);
        case ApiKind::synchronize:
            return color_rgb(0xb4585c);
        case ApiKind::copy:
            return kCopyColor;
        case ApiKind::fill:
            return kFillColor;
        case ApiKind::allocate:
        case ApiKind::release:
            return color_rgb(0xb08a3e);
        case ApiKind::other:
            break;
    }
    return color_rgb(0x56606e);
}

bool is_word(char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '~' || c == '$';
}

ImU32 gpu_color(const TraceStore& trace, std::uint32_t name) {
    const Stage stage = trace.names().gpu_stage(name);
    if (stage != Stage::other) return stage_color(stage);
    const std::string_view text = trace.name(name);
    if (text.starts_with("copy") || text.starts_with("Memcpy")) return kCopyColor;
    if (text.starts_with("fill") || text.starts_with("Memset")) return kFillColor;
    return name_color(short_name(text));
}

ImU32 range_color(const TraceStore& trace, std::uint32_t name) {
    const Stage stage = trace.names().stage(name);
    if (stage != Stage::other) return stage_color(stage);
    if (trace.names().is_share(name)) {
        const std::string_view of = trace.name(name).substr(kTasksOf.size());
        for (std::size_t i = 0; i < kStageCount; ++i)
            if (of == kStageNames[i]) return stage_color(static_cast<Stage>(i));
    }
    if (const std::uint32_t chosen = trace.names().color(name); chosen != 0)
        return color_rgb(chosen & 0xffffff);
    return name_color(trace.name(name));
}

}  // namespace

ImU32 name_color(std::string_view name) {
    // Hues that stay away from the stages' lightness, so that stages stand out.
    static constexpr std::array kHues{0x4f7a8c, 0x6b6fa3, 0x7d6a92, 0x5b8a72, 0x8a7a55, 0x8c6458,
                                      0x5d7f9e, 0x74855a, 0x8b5f7b, 0x5f8f8f, 0x7a7f8c, 0x6f8bb0};
    std::uint32_t h = 2166136261U;
    for (const char c : name) h = (h ^ static_cast<unsigned char>(c)) * 16777619U;
    h ^= h >> 15;
    return color_rgb(static_cast<unsigned>(kHues[h % kHues.size()]));
}

ImU32 SpanColors::of(const TraceStore& trace, TrackKind kind, std::uint32_t name) {
    const std::size_t side = kind == TrackKind::gpu_stream                           ? 2
                             : kind == TrackKind::api || kind == TrackKind::overhead ? 1
                                                                                     : 0;
    std::vector<ImU32>& known = known_[side];
    if (known.size() <= name)
        known.resize(std::max<std::size_t>(trace.names().size(), name + std::size_t{1}), 0);
    if (known[name] == 0)
        known[name] = side == 2   ? gpu_color(trace, name)
                      : side == 1 ? call_color(api_kind_of(trace.name(name)))
                                  : range_color(trace, name);
    return known[name];
}

float recorded_share(const SpanBlock& block, std::span<const Interval> unrecorded) {
    if (block.count == 1 || unrecorded.empty()) return block.busy;
    const auto length = static_cast<float>(block.end_ns - block.begin_ns);
    const auto missing =
        static_cast<float>(length_within(unrecorded, {block.begin_ns, block.end_ns}));
    return missing < length ? std::min(block.busy * length / (length - missing), 1.0F) : block.busy;
}

std::string short_name(std::string_view name) {
    // Parameters and template arguments open with ( or <; a name that begins with one is nobody's
    // function.
    const bool function =
        name.find("::") != name.npos || name.starts_with("void ") || name.find('<') != name.npos;
    if (!function) return std::string(name);
    constexpr std::string_view kAnonymous = "(anonymous namespace)::";
    std::string flat;
    int depth = 0;
    for (std::size_t i = 0; i < name.size(); ++i) {
        if (name.substr(i).starts_with(kAnonymous)) {
            i += kAnonymous.size() - 1;
            continue;
        }
        if (name[i] == '<') ++depth;
        if (depth == 0 && name[i] == '(') break;
        if (depth == 0) flat += name[i];
        if (name[i] == '>' && depth > 0) --depth;
    }
    while (!flat.empty() && flat.back() == ' ') flat.pop_back();
    std::size_t begin = flat.size();
    while (begin > 0 && is_word(flat[begin - 1])) --begin;
    return begin == flat.size() ? std::string(name) : flat.substr(begin);
}

}  // namespace gs
