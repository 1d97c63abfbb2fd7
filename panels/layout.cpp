// The workspace's layout as text: "size KEY=SHARE" and "panel NAME=REGION [front]" lines, readable
// and editable (assets/layouts); unknown lines are skipped.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "panels/workspace.h"

namespace gs {
namespace {

constexpr std::string_view kHeader = "gausscope layout 1";

std::string_view take_line(std::string_view& text) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
    return line;
}

}  // namespace

std::string Workspace::save_layout() const {
    std::string out = fmt::format("{}\n", kHeader);
    const auto number = [&](const char* key, double value) {
        out += fmt::format("size {}={:.5f}\n", key, value);
    };
    number("left", regions_.sizes.left);
    number("right", regions_.sizes.right);
    number("bottom", regions_.sizes.bottom);
    number("left_split", regions_.sizes.left_split);
    number("right_split", regions_.sizes.right_split);
    number("bottom_split", regions_.sizes.bottom_split);
    // Help is looked at, not worked in: what it lies on comes to the front again.
    const Slot* help = find("Help");
    for (const Slot& slot : slots_) {
        const bool below = help->front && &slot == help->covers && slot.region == help->region;
        const bool front = &slot != help && (slot.front || slot.raise || below);
        out +=
            fmt::format("panel {}={}{}\n", slot.row->name,
                        kRegionNames[static_cast<std::size_t>(slot.region)], front ? " front" : "");
    }
    return out;
}

void Workspace::load_layout(std::string_view text) {
    if (take_line(text) != kHeader) return;
    const auto size_of = [&](std::string_view key) -> double* {
        if (key == "left") return &regions_.sizes.left;
        if (key == "right") return &regions_.sizes.right;
        if (key == "bottom") return &regions_.sizes.bottom;
        if (key == "left_split") return &regions_.sizes.left_split;
        if (key == "right_split") return &regions_.sizes.right_split;
        return key == "bottom_split" ? &regions_.sizes.bottom_split : nullptr;
    };
    while (!text.empty()) {
        const std::string_view line = take_line(text);
        const std::size_t blank = line.find(' '), equals = line.find('=');
        if (blank == std::string_view::npos || equals == std::string_view::npos || equals < blank)
            continue;
        const std::string_view kind = line.substr(0, blank),
                               key = line.substr(blank + 1, equals - blank - 1);
        std::string_view value = line.substr(equals + 1);
        if (kind == "size") {
            double number = 0;
            const auto read = std::from_chars(value.data(), value.data() + value.size(), number);
            double* size = size_of(key);
            if (size && read.ec == std::errc() && std::isfinite(number))
                *size = std::clamp(number, 0.06, 0.9);
        } else if (Slot* slot = kind == "panel" ? find(key) : nullptr) {
            const bool front = value.ends_with(" front");
            if (front) value.remove_suffix(6);
            const auto region = std::find(kRegionNames.begin(), kRegionNames.end(), value);
            if (region == kRegionNames.end()) continue;
            slot->region = static_cast<Region>(region - kRegionNames.begin());
            slot->raise = front && slot->region != Region::hidden;
        }
    }
}

}  // namespace gs
