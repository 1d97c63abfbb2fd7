#include "panels/timeline/spans.h"

#include <fmt/format.h>
#include <imgui.h>

#include <algorithm>
#include <cmath>

#include "panels/timeline/metrics.h"
#include "panels/widgets/widgets.h"

namespace gs {
namespace {

const TraceSpan& plain(const TraceSpan& span) { return span; }
const TraceSpan& projected_span(const ProjectedRange& range) { return range.span; }

/// The span's name if it fits, with a frame's number.
void draw_block_label(const TraceStore& trace, const SpanBlock& block, const SpanPlace& place,
                      float left, float right, float height, ImU32 color) {
    const float room = right - left - 0.5F * em();
    if (room < 1.7F * em()) return;
    std::string name(trace.name(block.name));
    if (place.kind == TrackKind::gpu_stream) name = short_name(name);
    std::string label = name;
    const TraceTrack& track = trace.tracks()[place.track];
    if (!place.projected && place.kind == TrackKind::thread && place.row < track.rows.size() &&
        group_of(trace.names().stage(block.name)) == StageGroup::frame) {
        const auto spans = track.rows[place.row].view();
        const bool known =
            block.first < spans.size() && spans[block.first].begin_ns == block.begin_ns;
        if (known && spans[block.first].has_payload) {
            // The number of a frame says more than half of its name.
            const std::string number = payload_text(spans[block.first]);
            label = name + " " + number;
            if (ImGui::CalcTextSize(label.c_str()).x > room) label = number;
        }
    }
    label = fitted(label, room);
    if (label.size() > 3 || ImGui::CalcTextSize(label.c_str()).x <= room)
        ImGui::GetWindowDrawList()->AddText(
            {std::round(left + 0.25F * em()), std::round(place.y + (height - em()) / 2 - 1)},
            text_on(color), label.c_str());
}

}  // namespace

std::size_t lanes_of(const TraceTrack& track, bool folded) {
    return folded ? 1 : track.rows.size();
}

void SpanPainter::draw_track(const TraceStore& trace, const TimelineCanvas& canvas,
                             std::uint32_t index, bool folded, const RangeProjection* projection,
                             const std::optional<SelectedSpan>& selected,
                             const Intervals& unrecorded, float y) {
    const TraceTrack& track = trace.tracks()[index];
    selected_ = selected && selected->track == index ? selected : std::nullopt;
    if (projection) {
        draw_projection(trace, *projection, canvas, y);
        y += static_cast<float>(projection->levels().size()) * row_height();
    }
    const float first = y;
    const float height = folded ? folded_height() : row_height();
    for (std::size_t lane = 0; lane < lanes_of(track, folded); ++lane) {
        if (y + height >= canvas.y && y < canvas.bottom()) {
            blocks_.clear();
            blocks_of(track.rows[lane].view(), canvas.begin, canvas.end,
                      block_quantum(canvas.ns_per_px), plain, blocks_);
            for (SpanBlock& block : blocks_) block.busy = recorded_share(block, unrecorded);
            draw_blocks(trace, canvas, {index, lane, y, track.kind, false}, height);
        }
        y += height;
    }
    if (!folded) draw_open(trace, index, canvas, first);
}

void SpanPainter::draw_open(const TraceStore& trace, std::uint32_t index,
                            const TimelineCanvas& canvas, float y) {
    for (const OpenSpan& open : trace.sources().open_spans()) {
        if (open.track != index) continue;
        SpanBlock block{.begin_ns = open.begin_ns,
                        .end_ns = std::max(trace.sources().read_ns(), open.begin_ns),
                        .name = open.name};
        const SpanPlace place{index, open.depth, y + static_cast<float>(open.depth) * row_height(),
                              trace.tracks()[index].kind, false};
        if (block.end_ns >= canvas.begin && block.begin_ns <= canvas.end)
            draw_block(trace, block, canvas, place, row_height(), true);
    }
}

void SpanPainter::draw_projection(const TraceStore& trace, const RangeProjection& projection,
                                  const TimelineCanvas& canvas, float y) {
    for (std::size_t level = 0; level < projection.levels().size(); ++level, y += row_height()) {
        if (y + row_height() < canvas.y || y >= canvas.bottom()) continue;
        blocks_.clear();
        blocks_of(projection.levels()[level].view(), canvas.begin, canvas.end,
                  block_quantum(canvas.ns_per_px), projected_span, blocks_);
        draw_blocks(trace, canvas, {projection.track(), level, y, TrackKind::thread, true},
                    row_height());
    }
}

void SpanPainter::draw_blocks(const TraceStore& trace, const TimelineCanvas& canvas,
                              const SpanPlace& place, float height) {
    // Blocks of one colour that touch become one rectangle: a dense row is a few hundred instead of
    // thousands.
    struct Run {
        float left = 0, right = 0;
        ImU32 color = 0;
    } run;
    const auto finish = [&] {
        if (run.color != 0)
            canvas.list->AddRectFilled({run.left, place.y}, {run.right, place.y + height - 1},
                                       run.color);
        run = {};
    };
    for (const SpanBlock& block : blocks_) {
        if (block.count == 1 || is_pointed_at(block, canvas, place, height)) {
            finish();
            draw_block(trace, block, canvas, place, height, false);
            continue;
        }
        const float left = canvas.clamped_x(block.begin_ns),
                    right = std::max(canvas.clamped_x(block.end_ns), left + 1);
        const ImU32 color = block_color(trace, block, place);
        if (color != run.color || left > run.right + 0.6F) {
            finish();
            run = {left, right, color};
        }
        run.right = std::max(run.right, right);
    }
    finish();
}

/// The colour of a block of many spans: lighter if they fill less of its time, in a few steps so
/// that neighbours look alike.
ImU32 SpanPainter::block_color(const TraceStore& trace, const SpanBlock& block,
                               const SpanPlace& place) {
    ImU32 color = colors_.of(trace, place.kind, block.name);
    if (place.projected) color = mix(color, theme().panel, 0.35F);
    if (block.count > 1)
        color = mix(theme().panel, color, 0.3F + 0.6F * std::round(8 * block.busy) / 8);
    return color;
}

bool SpanPainter::is_pointed_at(const SpanBlock& block, const TimelineCanvas& canvas,
                                const SpanPlace& place, float height) {
    const ImVec2 mouse = ImGui::GetMousePos();
    if (!canvas.hovered || mouse.y < place.y || mouse.y >= place.y + height || mouse.x < canvas.x)
        return false;
    const float left = canvas.clamped_x(block.begin_ns);
    return mouse.x >= left && mouse.x < std::max(canvas.clamped_x(block.end_ns), left + 2);
}

bool SpanPainter::is_selected(const SpanBlock& block, const SpanPlace& place) const {
    return selected_ && !place.projected && selected_->track == place.track &&
           selected_->row == place.row && selected_->span.begin_ns >= block.begin_ns &&
           selected_->span.begin_ns < block.end_ns;
}

void SpanPainter::draw_block(const TraceStore& trace, const SpanBlock& block,
                             const TimelineCanvas& canvas, const SpanPlace& place, float height,
                             bool open) {
    const float left = canvas.clamped_x(block.begin_ns), right = canvas.clamped_x(block.end_ns);
    const float end = std::max(right - (right - left > 3 ? 1.0F : 0.0F), left + 1);
    const ImU32 color = block_color(trace, block, place);
    const bool faded = block.count == 1 && place.kind == TrackKind::api;
    const float top = place.y + (faded ? 0.12F * height : 0), bottom = place.y + height - 1;
    const bool hovered = is_pointed_at(block, canvas, place, height);
    if (hovered) pointed_ = PointedSpan{block, place, open};
    const bool wide = end - left > 6;
    canvas.list->AddRectFilled({left, top}, {end, bottom},
                               hovered ? mix(color, IM_COL32_WHITE, 0.3F) : color,
                               wide ? 2.0F : 0.0F);
    if (open) canvas.list->AddLine({end, top}, {end, bottom}, theme().text);
    if (is_selected(block, place))
        canvas.list->AddRect({left - 1, top - 1}, {std::max(end, left + 2) + 1, bottom + 1},
                             IM_COL32_WHITE, wide ? 2.0F : 0.0F, 0, std::max(1.5F, 0.1F * em()));
    if (block.count == 1 && height >= row_height())
        draw_block_label(trace, block, place, std::max(left, canvas.x), end, height, color);
}

}  // namespace gs
