#include "panels/viewport/frame_words.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "base/format.h"
#include "panels/widgets/widgets.h"
#include "renderer/scene/camera_names.h"

namespace gs {
namespace {

constexpr double kNoValue = std::numeric_limits<double>::quiet_NaN();

/// 0.01234, 12.34, 11,870, 1.23 M: counts in full.
std::string words_of_value(double value) {
    const double size = std::abs(value);
    if (size >= 999.5 && size < 1e9 && value == std::round(value)) return format_count(value);
    return size >= 9999.5 ? format_short(value) : format_number(value, 4);
}

/// A pixel's value or colour, in words; empty when it is not known.
std::string value_text(const ViewFrame& frame, int x, int y, const PixelColor& read) {
    if (has_map(frame)) return words_of_value(map_value(frame, x, y)) + " " + frame.unit;
    if (frame.mode == ViewMode::normals && frame.normals.channels == 3) {
        if (x < 0 || y < 0 || x >= frame.normals.width || y >= frame.normals.height) return {};
        const auto n = [&](int c) { return frame.normals.at(c, x, y); };
        return std::isnan(n(0)) ? "no normal"
                                : fmt::format("normal {:.3f} {:.3f} {:.3f}", n(0), n(1), n(2));
    }
    if (frame.picture && read.x == x && read.y == y)
        return fmt::format("RGB {} {} {}", read.rgba[0], read.rgba[1], read.rgba[2]);
    if (frame.rgba.empty() || x < 0 || y < 0 || x >= frame.rgba.width || y >= frame.rgba.height)
        return {};
    const std::uint8_t* c = frame.rgba.at(x, y);
    return fmt::format("RGB {} {} {}", c[0], c[1], c[2]);
}

}  // namespace

bool has_map(const ViewFrame& frame) {
    return frame.map.width > 0 && frame.map.height > 0 && frame.map.channels > 0;
}

double map_value(const ViewFrame& frame, int x, int y) {
    if (!has_map(frame) || x < 0 || y < 0 || frame.map_cell < 1) return kNoValue;
    const int mx = x / frame.map_cell, my = y / frame.map_cell;
    if (mx >= frame.map.width || my >= frame.map.height) return kNoValue;
    return static_cast<double>(frame.map.at(0, mx, my));
}

std::vector<std::string> facts_of(const ViewFrame& frame) {
    std::vector<std::string> words{fmt::format("{} x {}", frame.camera.width, frame.camera.height)};
    if (frame.step > 0) words.push_back("step " + format_count(static_cast<double>(frame.step)));
    if (frame.camera.model != CameraModel::pinhole) words.push_back(text_of(frame.camera.model));
    if (frame.exact) words.push_back("along rays");
    if (frame.camera.rolling())
        words.push_back(std::string("shutter ") + text_of(frame.camera.shutter));
    if (frame.milliseconds > 0) words.push_back(format_ms(frame.milliseconds));
    if (frame.visible > 0)
        words.push_back(format_count(static_cast<double>(frame.visible)) + " visible");
    if (frame.isects > 0)
        words.push_back(format_short(static_cast<double>(frame.isects)) + " tile pairs");
    if (frame.psnr <= 0) return words;
    std::string score = fmt::format("{:.2f} dB", frame.psnr);
    if (frame.shrunk) score = "~" + score + " at this size";
    if (frame.name.empty())
        words.push_back(score);
    else
        words.insert(words.begin(), score + " to the photo");
    return words;
}

std::vector<std::string> what_is_cut(const ViewFrame& frame) {
    std::vector<std::string> words;
    if (frame.clip) words.push_back("clipped to a box");
    if (frame.cut_before > 0)
        words.push_back("hidden nearer than " + format_number(frame.cut_before, 3));
    return words;
}

std::vector<std::string> statistics_of(const ViewFrame& frame) {
    const auto n = [](double v) { return format_compact(v); };
    return {"min " + n(frame.map_min), "p50 " + n(frame.map_p50), "mean " + n(frame.map_mean),
            "p95 " + n(frame.map_p95), "max " + n(frame.map_max) + " " + frame.unit};
}

std::string nearness_of(const ViewFrame& frame) {
    if (frame.other && frame.tinted)
        return "A and B: no score while Gaussians are coloured or hidden";
    if (std::isnan(frame.psnr_between)) return {};
    constexpr double kEqual = 199;  // dB; psnr_of() gives 200 for pictures that do not differ
    if (frame.psnr_between > kEqual) return "A and B: the same picture";
    std::string words = fmt::format("A and B: {:.2f} dB", frame.psnr_between);
    if (std::isfinite(frame.ssim_between))
        words += fmt::format("  SSIM {:.4f}", frame.ssim_between);
    return words;
}

std::string pixel_text(const ViewFrame& frame, int x, int y, const PixelColor& read) {
    std::string words = fmt::format("({}, {})", x, y);
    if (has_map(frame) && frame.map_cell > 1)
        words += fmt::format("  tile ({}, {})", x / frame.map_cell, y / frame.map_cell);
    const bool both = frame.other && frame.other->mode == frame.mode;
    const std::string value = value_text(frame, x, y, read);
    if (!value.empty()) words += (both ? "  " + frame.name : "") + "  " + value;
    if (both) words += "  " + frame.other->name + "  " + value_text(*frame.other, x, y, {});
    if (!both && x >= 0 && y >= 0 && x < frame.photo.width && y < frame.photo.height) {
        const std::uint8_t* c = frame.photo.at(x, y);
        words += fmt::format("  photo RGB {} {} {}", c[0], c[1], c[2]);
    }
    return words;
}

std::string what_is_not_shown(const ViewFrame& frame) {
    switch (frame.mode) {
        case ViewMode::error:
            if (!has_map(frame) && frame.note.empty())
                return "No error here: go to a capture camera, or open a second scene";
            break;
        case ViewMode::photo:
            if (frame.photo.empty() && frame.note.empty())
                return "No photo here: go to a capture camera";
            break;
        case ViewMode::median:
            if (frame.map_empty) return "No median depth: no pixel blocks half of the light";
            break;
        case ViewMode::normals:
            if (frame.map_empty) return "No normals: no pixel blocks half of the light";
            break;
        case ViewMode::depth:
            if (frame.map_empty) return "No depth: the picture is empty";
            break;
        case ViewMode::time:
        case ViewMode::wasted:
        case ViewMode::backward_time:
        case ViewMode::backward_pairs:
            if (frame.map_empty) return "Not measured here";
            break;
        default:
            break;
    }
    return {};
}

std::string what_is_left_out(const Snapshot& snapshot, const ViewFrame& frame) {
    const ViewSettings& view = snapshot.view;
    if (view.level_colors && !snapshot.levels) return "no level colours: this scene has one level";
    if (style_applies(view.style, frame.mode)) return {};
    return sentence(kViewModeNames[static_cast<std::size_t>(frame.mode)]) +
           " needs style splats, not " + kDrawStyleNames[static_cast<std::size_t>(view.style)];
}

}  // namespace gs
