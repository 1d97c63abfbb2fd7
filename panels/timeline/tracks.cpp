// The timeline's rows: names at the left, spans, ranges as the GPU saw them, counters, instants.
#include <fmt/format.h>
#include <imgui.h>

#include <algorithm>
#include <cmath>

#include "base/format.h"
#include "panels/timeline/metrics.h"
#include "panels/timeline/timeline_panel.h"

namespace gs {
namespace {

using Kind = TimelineRow::Kind;

constexpr std::size_t kProjectedAtOnce = 20'000;  // pieces of work a frame
constexpr std::int64_t kLaunchesLateNs =
    1'000'000'000;                            // what launched live work may be told this much later
constexpr std::size_t kSamplesPerPixel = 12;  // of a counter with more points than pixels
constexpr float kFoldedHeight = 0.6F;         // of a row

const TraceSpan& plain(const TraceSpan& span) { return span; }
const TraceSpan& projected_span(const ProjectedRange& range) { return range.span; }

std::size_t lanes_of(const TraceTrack& track, bool folded) {
    return folded ? 1 : track.rows.size();
}

}  // namespace

const RangeProjection* TimelinePanel::projection_of(std::uint32_t track) const {
    if (!projections) return nullptr;
    for (const RangeProjection& p : projections_)
        if (p.track() == track && !p.levels().empty()) return &p;
    return nullptr;
}

/// Streams that CUPTI or a file described; a stage timer's spans have the ranges' names already.
void TimelinePanel::update_projections(const TraceStore& trace) {
    if (!projections) return;
    for (std::uint32_t i = 0; i < trace.tracks().size(); ++i) {
        const TraceTrack& track = trace.tracks()[i];
        if (track.kind != TrackKind::gpu_stream || track.works.empty()) continue;
        const bool known = std::any_of(projections_.begin(), projections_.end(),
                                       [&](const RangeProjection& p) { return p.track() == i; });
        if (!known) projections_.emplace_back(i);
    }
    std::size_t room = kProjectedAtOnce;
    // A file is complete; of a live program the newest launches may still be on their way.
    const std::int64_t until = live_ ? trace.end_ns() - kLaunchesLateNs : kAllTime.end_ns;
    for (RangeProjection& projection : projections_) room -= projection.follow(trace, until, room);
    busy_ |= room == 0;
}

float TimelinePanel::height_of(const TraceStore& trace, const TimelineRow& row,
                               const TimelineCanvas& canvas) {
    if (row.kind == Kind::process || row.kind == Kind::device) return heading_height();
    if (row.kind == Kind::counter) return counter_height() + row_gap();
    const TraceTrack& track = trace.tracks()[row.index];
    if (track.ended) {
        // What ended before the window needs no room in it.
        const auto spans = track.rows.empty() ? std::span<const TraceSpan>() : track.rows[0].view();
        if (spans.empty() || spans.back().end_ns < canvas.begin ||
            spans.front().begin_ns > canvas.end)
            return 0;
    }
    if (row.folded) return kFoldedHeight * row_height() + row_gap();
    const RangeProjection* projection = projection_of(row.index);
    const std::size_t lanes =
        lanes_of(track, false) + (projection ? projection->levels().size() : 0);
    return static_cast<float>(lanes) * row_height() + row_gap();
}

void TimelinePanel::draw_rows(const TraceStore& trace, const TimelineCanvas& canvas) {
    pointed_.reset();
    drawn_.clear();
    rows_.show_kinds(calls, counters);
    rows_.update(trace);
    update_projections(trace);
    const std::vector<TimelineRow> rows(rows_.rows().begin(),
                                        rows_.rows().end());  // menus may change the list
    canvas.list->PushClipRect({canvas.x - canvas.labels, canvas.y},
                              {canvas.right(), canvas.bottom()}, true);
    float y = canvas.y - scroll_;
    const float begin = y;
    for (const TimelineRow& row : rows) {
        const float height = height_of(trace, row, canvas);
        if (row.kind == Kind::track && height > 0) {
            const RangeProjection* projection = row.folded ? nullptr : projection_of(row.index);
            const float above =
                projection ? static_cast<float>(projection->levels().size()) * row_height() : 0;
            drawn_.push_back({row.index, y + above, lanes_of(trace.tracks()[row.index], row.folded),
                              row.folded});
        }
        if (height > 0 && y + height >= canvas.y && y < canvas.bottom())
            draw_row(trace, row, canvas, y, height);
        y += height;
    }
    content_height_ = y - begin;
    draw_instants(trace, canvas);
    draw_arrows(trace, canvas);
    canvas.list->PopClipRect();
    if (rows.empty())
        canvas.list->AddText({canvas.x, canvas.y + em()}, kDimColor, "no row fits the filter");
    if (pointed_ && dragged_ < 3 && !anchor_) span_tooltip(trace);
}

void TimelinePanel::draw_row(const TraceStore& trace, const TimelineRow& row,
                             const TimelineCanvas& canvas, float y, float height) {
    if (row.kind == Kind::process)
        canvas.list->AddRectFilled({canvas.x - canvas.labels, y}, {canvas.right(), y + height - 2},
                                   kFieldColor);
    draw_label(trace, row, canvas, y, height);
    canvas.list->PushClipRect({canvas.x, canvas.y}, {canvas.right(), canvas.bottom()}, true);
    if (row.kind == Kind::track) draw_track(trace, row, canvas, y);
    if (row.kind == Kind::counter) draw_counter(trace, row.index, canvas, y, counter_height());
    canvas.list->PopClipRect();
    const float line = std::round(y + height - 0.5F * row_gap());
    if (row.kind == Kind::track || row.kind == Kind::counter)
        canvas.list->AddLine({canvas.x - canvas.labels, line}, {canvas.right(), line}, kGridColor);
}

void TimelinePanel::row_menu(const TimelineRow& row) {
    if (!ImGui::BeginPopup("##row menu")) return;
    dim_text(row.label);
    if (row.foldable && ImGui::MenuItem(row.folded ? "Unfold" : "Fold"))
        rows_.fold(row.key, !row.folded);
    if (ImGui::MenuItem("Move up")) rows_.move(row.key, -1);
    if (ImGui::MenuItem("Move down")) rows_.move(row.key, 1);
    if (ImGui::MenuItem("Move to the top")) rows_.move(row.key, -1000);
    if (ImGui::MenuItem("Hide")) rows_.hide(row.key);
    ImGui::Separator();
    if (ImGui::MenuItem("Show hidden rows, in the usual order", nullptr, false, rows_.hidden() > 0))
        rows_.show_all();
    ImGui::EndPopup();
}

void TimelinePanel::draw_label(const TraceStore& trace, const TimelineRow& row,
                               const TimelineCanvas& canvas, float y, float height) {
    const float left = canvas.x - canvas.labels + static_cast<float>(row.indent) * 0.6F * em();
    const float text_y = row.folded && row.kind == Kind::track ? y - 0.25F * em() : y;
    float x = left;
    if (row.foldable) {
        const float s = 0.22F * em(), cx = x + s, cy = text_y + 0.6F * em();
        if (row.folded)
            canvas.list->AddTriangleFilled({cx - s, cy - s}, {cx + s, cy}, {cx - s, cy + s},
                                           kFaintColor);
        else
            canvas.list->AddTriangleFilled({cx - s, cy - s}, {cx + s, cy - s}, {cx, cy + s},
                                           kFaintColor);
    }
    x += 0.7F * em();
    const bool track = row.kind == Kind::track;
    const bool gpu = row.kind == Kind::device ||
                     (track && trace.tracks()[row.index].kind == TrackKind::gpu_stream);
    const bool faint = track && trace.tracks()[row.index].ended;
    const bool call = track && trace.tracks()[row.index].kind == TrackKind::api;
    std::string label = row.label;
    if (gpu && row.kind == Kind::track) {
        canvas.list->AddText({x, text_y}, kGoodColor, "GPU");
        x += ImGui::CalcTextSize("GPU ").x;
    } else if (row.kind == Kind::device && !row.detail.empty()) {
        label += ": " + row.detail;
    }
    const ImU32 color = faint                      ? kFaintColor
                        : row.kind == Kind::device ? kGoodColor
                        : call                     ? kDimColor
                                                   : kTextColor;
    const float room = (row.kind == Kind::process ? canvas.right() : canvas.x) - x - 0.5F * em();
    canvas.list->AddText({x, text_y}, color, fitted(label, room).c_str());
    const bool hovered = canvas.hovered && ImGui::IsMouseHoveringRect(
                                               {canvas.x - canvas.labels, std::max(y, canvas.y)},
                                               {canvas.x, std::min(y + height, canvas.bottom())});
    ImGui::PushID(static_cast<int>(row.key ^ row.key >> 32));
    if (hovered && ImGui::IsMouseReleased(ImGuiMouseButton_Right)) ImGui::OpenPopup("##row menu");
    if (hovered && row.foldable && ImGui::IsMouseReleased(ImGuiMouseButton_Left) && dragged_ < 3)
        rows_.fold(row.key, !row.folded);
    if (hovered && !ImGui::IsPopupOpen("##row menu"))
        ImGui::SetTooltip("%s%s%s\n%s", row.label.c_str(), row.detail.empty() ? "" : ": ",
                          row.detail.c_str(),
                          row.foldable ? "click folds; right click hides and moves"
                                       : "right click hides and moves");
    row_menu(row);
    ImGui::PopID();
}

void TimelinePanel::draw_track(const TraceStore& trace, const TimelineRow& row,
                               const TimelineCanvas& canvas, float y) {
    const TraceTrack& track = trace.tracks()[row.index];
    if (const RangeProjection* projection = row.folded ? nullptr : projection_of(row.index)) {
        draw_projection(trace, *projection, canvas, y);
        y += static_cast<float>(projection->levels().size()) * row_height();
    }
    const float first = y;
    const float height = row.folded ? kFoldedHeight * row_height() : row_height();
    for (std::size_t lane = 0; lane < lanes_of(track, row.folded); ++lane) {
        if (y + height >= canvas.y && y < canvas.bottom()) {
            blocks_.clear();
            blocks_of(track.rows[lane].view(), canvas.begin, canvas.end,
                      block_quantum(canvas.ns_per_px), plain, blocks_);
            draw_blocks(trace, canvas, {row.index, lane, y, track.kind, false}, height);
        }
        y += height;
    }
    if (!row.folded) draw_open(trace, row.index, canvas, first);
}

void TimelinePanel::draw_open(const TraceStore& trace, std::uint32_t index,
                              const TimelineCanvas& canvas, float y) {
    for (const OpenSpan& open : trace.sources().open_spans()) {
        if (open.track != index) continue;
        SpanBlock block;
        block.begin_ns = open.begin_ns;
        block.end_ns = std::max(trace.sources().read_ns(), open.begin_ns);
        block.name = open.name;
        const Place place{index, open.depth, y + static_cast<float>(open.depth) * row_height(),
                          trace.tracks()[index].kind, false};
        if (block.end_ns >= canvas.begin && block.begin_ns <= canvas.end)
            draw_block(trace, block, canvas, place, row_height(), true);
    }
}

void TimelinePanel::draw_projection(const TraceStore& trace, const RangeProjection& projection,
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

void TimelinePanel::draw_blocks(const TraceStore& trace, const TimelineCanvas& canvas,
                                const Place& place, float height) {
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

/// Of a block of many: the lighter the less of its time they fill, in a few steps so that
/// neighbours look alike.
ImU32 TimelinePanel::block_color(const TraceStore& trace, const SpanBlock& block,
                                 const Place& place) {
    ImU32 color = colors_.of(trace, place.kind, block.name);
    if (place.projected) color = mix(color, kPanelColor, 0.35F);
    if (block.count > 1)
        color = mix(kPanelColor, color, 0.3F + 0.6F * std::round(8 * block.busy) / 8);
    return color;
}

bool TimelinePanel::is_pointed_at(const SpanBlock& block, const TimelineCanvas& canvas,
                                  const Place& place, float height) {
    const ImVec2 mouse = ImGui::GetMousePos();
    if (!canvas.hovered || mouse.y < place.y || mouse.y >= place.y + height || mouse.x < canvas.x)
        return false;
    const float left = canvas.clamped_x(block.begin_ns);
    return mouse.x >= left && mouse.x < std::max(canvas.clamped_x(block.end_ns), left + 2);
}

void TimelinePanel::draw_block(const TraceStore& trace, const SpanBlock& block,
                               const TimelineCanvas& canvas, const Place& place, float height,
                               bool open) {
    const float left = canvas.clamped_x(block.begin_ns), right = canvas.clamped_x(block.end_ns);
    const float end = std::max(right - (right - left > 3 ? 1.0F : 0.0F), left + 1);
    const ImU32 color = block_color(trace, block, place);
    const bool faded = block.count == 1 && place.kind == TrackKind::api;
    const float top = place.y + (faded ? 0.12F * height : 0), bottom = place.y + height - 1;
    const bool hovered = is_pointed_at(block, canvas, place, height);
    if (hovered) pointed_ = Pointed{block, place, open};
    const bool wide = end - left > 6;
    canvas.list->AddRectFilled({left, top}, {end, bottom},
                               hovered ? mix(color, IM_COL32_WHITE, 0.3F) : color,
                               wide ? 2.0F : 0.0F);
    if (open) canvas.list->AddLine({end, top}, {end, bottom}, kTextColor);
    if (selected_ && !place.projected && selected_->track == place.track &&
        selected_->row == place.row && selected_->span.begin_ns >= block.begin_ns &&
        selected_->span.begin_ns < block.end_ns)
        canvas.list->AddRect({left - 1, top - 1}, {std::max(end, left + 2) + 1, bottom + 1},
                             IM_COL32_WHITE, wide ? 2.0F : 0.0F, 0, std::max(1.5F, 0.1F * em()));
    if (block.count == 1 && height >= row_height())
        draw_block_label(trace, block, place, std::max(left, canvas.x), end, height, color);
}

void TimelinePanel::draw_block_label(const TraceStore& trace, const SpanBlock& block,
                                     const Place& place, float left, float right, float height,
                                     ImU32 color) const {
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

/// Marks on the tracks that are drawn; where they are dense, one a pixel.
void TimelinePanel::draw_instants(const TraceStore& trace, const TimelineCanvas& canvas) {
    const auto instants = trace.instants();
    if (instants.empty()) return;
    const float size = 0.28F * em();
    std::vector<float> last_x(trace.tracks().size(), -1e9F);
    for (const TraceInstant& instant : instants) {
        if (instant.time_ns < canvas.begin || instant.time_ns > canvas.end) continue;
        const float x = canvas.x_of(instant.time_ns);
        if (instant.track >= last_x.size() || x - last_x[instant.track] < 1) continue;
        const auto at = std::find_if(drawn_.begin(), drawn_.end(),
                                     [&](const Drawn& d) { return d.track == instant.track; });
        if (at == drawn_.end() || at->y < canvas.y - row_height() || at->y > canvas.bottom())
            continue;
        last_x[instant.track] = x;
        canvas.list->AddTriangleFilled({x - size, at->y - 1}, {x + size, at->y - 1},
                                       {x, at->y + 1.4F * size}, kWarningColor);
        canvas.list->AddLine({x, at->y}, {x, at->y + static_cast<float>(at->lanes) * row_height()},
                             with_alpha(kWarningColor, 90));
        if (canvas.hovered &&
            ImGui::IsMouseHoveringRect({x - size - 1, at->y - 2}, {x + size + 1, at->y + 2 * size}))
            ImGui::SetTooltip(
                "%s%s", std::string(trace.name(instant.name)).c_str(),
                instant.payload != 0 ? fmt::format(" ({})", instant.payload).c_str() : "");
    }
}

namespace {

/// The range of a counter's values over one pixel column; of dense ones over some of them.
struct Column {
    double lo = 1e300, hi = -1e300, last = 0;
    void add(double value) {
        if (!std::isfinite(value)) return;
        lo = std::min(lo, value);
        hi = std::max(hi, value);
        last = value;
    }
};

}  // namespace

void TimelinePanel::draw_counter(const TraceStore& trace, std::uint32_t index,
                                 const TimelineCanvas& canvas, float y, float height) const {
    const auto points = trace.counters()[index].points.view();
    const auto before = [](const CounterPoint& p, std::int64_t t) { return p.time_ns < t; };
    auto at = std::lower_bound(points.begin(), points.end(), canvas.begin, before);
    if (at != points.begin()) --at;
    const auto stop = std::lower_bound(at, points.end(), canvas.end, before);
    std::vector<std::pair<float, Column>> columns;
    Column all;
    while (at != stop) {
        const float x = std::floor(canvas.clamped_x(at->time_ns));
        auto next = std::lower_bound(at, stop, canvas.time_at(x + 1), before);
        if (next == at) ++next;
        const auto count = static_cast<std::size_t>(next - at),
                   samples = std::min(count, kSamplesPerPixel);
        Column column;
        for (std::size_t k = 0; k < samples; ++k)
            column.add(at[static_cast<std::ptrdiff_t>(k * count / samples)].value);
        column.add((next - 1)->value);
        if (column.lo <= column.hi)
            columns.emplace_back(x, column), all.add(column.lo), all.add(column.hi);
        at = next;
    }
    if (columns.empty()) return;
    const double low = std::min(all.lo, 0.0), high = all.hi > low ? all.hi : low + 1;
    const auto y_of = [&](double v) {
        return y + height - 2 - static_cast<float>((v - low) / (high - low)) * (height - 4);
    };
    const float floor_y = y_of(0);
    for (std::size_t i = 0; i < columns.size(); ++i) {
        const auto& [x, column] = columns[i];
        const float next =
            i + 1 < columns.size() ? columns[i + 1].first : canvas.clamped_x(trace.end_ns());
        canvas.list->AddRectFilled({x, y_of(column.last)}, {std::max(next, x + 1), floor_y},
                                   with_alpha(kAccentColor, 60));
        canvas.list->AddLine({x, y_of(column.last)}, {std::max(next, x + 1), y_of(column.last)},
                             kAccentColor);
        if (column.hi > column.lo)
            canvas.list->AddLine({x, y_of(column.hi)}, {x, y_of(column.lo)}, kAccentColor);
    }
    const std::string most = format_short(all.hi);
    canvas.list->AddText({canvas.x + 2, y - 1}, kDimColor, most.c_str());
    const ImVec2 mouse = ImGui::GetMousePos();
    if (!canvas.hovered || mouse.y < y || mouse.y > y + height || mouse.x < canvas.x) return;
    const auto after =
        std::upper_bound(points.begin(), points.end(), canvas.time_at(mouse.x),
                         [](std::int64_t t, const CounterPoint& p) { return t < p.time_ns; });
    if (after != points.begin())
        ImGui::SetTooltip("%s: %s", std::string(trace.name(trace.counters()[index].name)).c_str(),
                          format_number((after - 1)->value, 6).c_str());
}

}  // namespace gs
