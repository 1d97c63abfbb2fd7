#include "panels/timeline/row_view.h"

#include <fmt/format.h>
#include <imgui.h>
#include <imgui_stdlib.h>

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "base/format.h"
#include "panels/timeline/metrics.h"
#include "panels/widgets/widgets.h"
#include "profiler/analysis/span_walk.h"
#include "profiler/store/store.h"

namespace gs {
namespace {

// ---- a counter: its values as steps, or the range per pixel where they are dense; under the
// mouse, the value there

constexpr std::size_t kSamplesPerPixel = 12;  // of a counter with more points than pixels

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

/// `counter`: an index of TraceStore::counters().
void draw_counter(const TraceStore& trace, std::uint32_t index, const TimelineCanvas& canvas,
                  float y, float height) {
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
                                   with_alpha(theme().accent, 60));
        canvas.list->AddLine({x, y_of(column.last)}, {std::max(next, x + 1), y_of(column.last)},
                             theme().accent);
        if (column.hi > column.lo)
            canvas.list->AddLine({x, y_of(column.hi)}, {x, y_of(column.lo)}, theme().accent);
    }
    const std::string most = format_short(all.hi);
    canvas.list->AddText({canvas.x + 2, y - 1}, theme().dim, most.c_str());
    const ImVec2 mouse = ImGui::GetMousePos();
    if (!canvas.hovered || mouse.y < y || mouse.y > y + height || mouse.x < canvas.x) return;
    const auto after =
        std::upper_bound(points.begin(), points.end(), canvas.time_at(mouse.x),
                         [](std::int64_t t, const CounterPoint& p) { return t < p.time_ns; });
    if (after != points.begin())
        ImGui::SetTooltip("%s: %s", std::string(trace.name(trace.counters()[index].name)).c_str(),
                          format_number((after - 1)->value, 6).c_str());
}

using Kind = TimelineRow::Kind;

constexpr std::size_t kProjectedAtOnce = 20'000;  // pieces of work a frame
constexpr std::int64_t kLaunchesLateNs =
    1'000'000'000;  // launches of live work may be reported this much later

}  // namespace

void TimelineRowView::draw_choices() {
    if (ImGui::Button("Rows…")) ImGui::OpenPopup("##rows");
    tooltip("Choose which rows to show, and how");
    if (!ImGui::BeginPopup("##rows")) return;
    ImGui::MenuItem("Ranges on the GPU", nullptr, &ranges_);
    ImGui::MenuItem("CUDA calls", nullptr, &calls_);
    ImGui::MenuItem("Call stacks", nullptr, &stacks_);
    ImGui::MenuItem("Counters", nullptr, &counters_);
    ImGui::Separator();
    if (ImGui::MenuItem("Fold all threads and streams")) rows_.fold_all(true);
    if (ImGui::MenuItem("Unfold all")) rows_.fold_all(false);
    if (ImGui::MenuItem(
            fmt::format("Show hidden rows ({}), in the usual order", rows_.hidden()).c_str()))
        rows_.show_all();
    ImGui::EndPopup();
}

void TimelineRowView::draw_filter() {
    ImGui::SetNextItemWidth(7 * em());
    if (ImGui::InputTextWithHint("##filter", "filter rows", &filter_)) rows_.set_filter(filter_);
}

void TimelineRowView::forget() {
    spans_.forget();
    projections_.clear();
    places_.items.clear();
}

void TimelineRowView::keep_in(const TimelineCanvas& canvas) {
    scroll_ = std::clamp(scroll_, 0.0F, std::max(content_height_ - canvas.h, 0.0F));
}

const RangeProjection* TimelineRowView::projection_of(std::uint32_t track) const {
    if (!ranges_) return nullptr;
    for (const RangeProjection& p : projections_)
        if (p.track() == track && !p.levels().empty()) return &p;
    return nullptr;
}

/// Streams that CUPTI or a file described; a stage timer's spans have the ranges' names already.
bool TimelineRowView::update_projections(const TraceStore& trace, bool live) {
    if (!ranges_) return true;
    for (std::uint32_t i = 0; i < trace.tracks().size(); ++i) {
        const TraceTrack& track = trace.tracks()[i];
        if (!track.described()) continue;
        const bool known = std::any_of(projections_.begin(), projections_.end(),
                                       [&](const RangeProjection& p) { return p.track() == i; });
        if (!known) projections_.emplace_back(i);
    }
    std::size_t room = kProjectedAtOnce;
    // A file is complete; of a live program the newest launches may still be on their way.
    const std::int64_t until = live ? trace.end_ns() - kLaunchesLateNs : kAllTime.end_ns;
    for (RangeProjection& projection : projections_) room -= projection.follow(trace, until, room);
    return room > 0;
}

float TimelineRowView::height_of(const Frame& frame, const TimelineRow& row) const {
    if (row.kind == Kind::process || row.kind == Kind::device || row.kind == Kind::group)
        return heading_height();
    if (row.kind == Kind::counter) return counter_height() + row_gap();
    if (row.kind == Kind::samples) return row_height() + row_gap();
    const TraceTrack& track = frame.trace.tracks()[row.index];
    if (track.ended) {
        // Tracks that ended before the window need no rows in it.
        const auto spans = track.rows.empty() ? std::span<const TraceSpan>() : track.rows[0].view();
        if (spans.empty() || spans.back().end_ns < frame.canvas.begin ||
            spans.front().begin_ns > frame.canvas.end)
            return 0;
    }
    if (row.folded) return folded_height() + row_gap();
    const RangeProjection* projection = projection_of(row.index);
    const std::size_t lanes =
        lanes_of(track, false) + (projection ? projection->levels().size() : 0);
    return static_cast<float>(lanes) * row_height() + row_gap();
}

bool TimelineRowView::draw(const TraceStore& trace, const TimelineCanvas& canvas,
                           const SpanSelection& selection,
                           const std::optional<SelectedSample>& sample, bool live, bool clicks) {
    const Frame frame{trace, canvas, selection, sample, clicks};
    spans_.begin_frame();
    samples_.begin_frame();
    pauses_.begin_frame();
    places_.items.clear();
    rows_.show_kinds(calls_, stacks_, counters_);
    rows_.update(trace);
    const bool complete = update_projections(trace, live);
    const std::vector<TimelineRow> rows(rows_.rows().begin(),
                                        rows_.rows().end());  // menus may change the list
    canvas.list->PushClipRect({canvas.x - canvas.labels, canvas.y},
                              {canvas.right(), canvas.bottom()}, true);
    float y = canvas.y - scroll_;
    const float begin = y;
    for (const TimelineRow& row : rows) {
        const float height = height_of(frame, row);
        if (row.kind == Kind::track && height > 0) {
            const RangeProjection* projection = row.folded ? nullptr : projection_of(row.index);
            const float above =
                projection ? static_cast<float>(projection->levels().size()) * row_height() : 0;
            places_.items.push_back({row.index, y + above,
                                     lanes_of(trace.tracks()[row.index], row.folded), row.folded});
        }
        if (height > 0 && y + height >= canvas.y && y < canvas.bottom())
            draw_row(frame, row, y, height);
        y += height;
    }
    content_height_ = y - begin;
    draw_instants(frame);
    draw_arrows_of_frame(frame);
    canvas.list->PopClipRect();
    if (rows.empty())
        canvas.list->AddText({canvas.x, canvas.y + em()}, theme().dim, "no row matches the filter");
    return complete;
}

void TimelineRowView::draw_row(const Frame& frame, const TimelineRow& row, float y, float height) {
    const TimelineCanvas& canvas = frame.canvas;
    if (row.kind == Kind::process)
        canvas.list->AddRectFilled({canvas.x - canvas.labels, y}, {canvas.right(), y + height - 2},
                                   theme().field);
    draw_label(frame, row, y);
    steer_label(frame, row, y, height);
    canvas.list->PushClipRect({canvas.x, canvas.y}, {canvas.right(), canvas.bottom()}, true);
    if (row.kind == Kind::track) draw_spans(frame, row, y, height);
    if (row.kind == Kind::samples) draw_samples(frame, row, y);
    if (row.kind == Kind::counter)
        draw_counter(frame.trace, row.index, canvas, y, counter_height());
    canvas.list->PopClipRect();
    const float line = std::round(y + height - 0.5F * row_gap());
    if (row.kind == Kind::track || row.kind == Kind::samples || row.kind == Kind::counter)
        canvas.list->AddLine({canvas.x - canvas.labels, line}, {canvas.right(), line},
                             theme().grid);
}

void TimelineRowView::draw_spans(const Frame& frame, const TimelineRow& row, float y,
                                 float height) {
    const TraceTrack& track = frame.trace.tracks()[row.index];
    const float inner = row.folded ? y + height : y + row_height();
    pauses_.draw(frame.trace, frame.canvas, track, y, inner, y + height - row_gap());
    spans_.draw_track(frame.trace, frame.canvas, row.index, row.folded,
                      row.folded ? nullptr : projection_of(row.index), frame.selection.span(),
                      pauses_.of(frame.trace, track), y);
}

void TimelineRowView::draw_samples(const Frame& frame, const TimelineRow& row, float y) {
    if (const SampledThread* thread = frame.trace.samples().thread(row.process, row.index))
        samples_.draw_row(frame.trace, frame.canvas, *thread, y, row_height(), frame.sample,
                          spans_.colors());
}

void TimelineRowView::row_menu(const TimelineRow& row) {
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

void TimelineRowView::draw_label(const Frame& frame, const TimelineRow& row, float y) {
    const TimelineCanvas& canvas = frame.canvas;
    const TraceStore& trace = frame.trace;
    const float left = canvas.x - canvas.labels + static_cast<float>(row.indent) * 0.6F * em();
    const float text_y = row.folded && row.kind == Kind::track ? y - 0.25F * em() : y;
    float x = left;
    if (row.foldable) {
        const float s = 0.22F * em(), cx = x + s, cy = text_y + 0.6F * em();
        if (row.folded)
            canvas.list->AddTriangleFilled({cx - s, cy - s}, {cx + s, cy}, {cx - s, cy + s},
                                           theme().faint);
        else
            canvas.list->AddTriangleFilled({cx - s, cy - s}, {cx + s, cy - s}, {cx, cy + s},
                                           theme().faint);
    }
    x += 0.7F * em();
    const bool track = row.kind == Kind::track;
    const bool gpu = row.kind == Kind::device ||
                     (track && trace.tracks()[row.index].kind == TrackKind::gpu_stream);
    const bool faint = track && trace.tracks()[row.index].ended;
    const bool call = (track && trace.tracks()[row.index].kind == TrackKind::api) ||
                      (row.kind == Kind::samples && row.label == "call stacks");
    std::string label = row.label;
    if (gpu && row.kind == Kind::track) {
        canvas.list->AddText({x, text_y}, theme().good, "GPU");
        x += ImGui::CalcTextSize("GPU ").x;
    } else if (row.kind == Kind::device && !row.detail.empty()) {
        label += ": " + row.detail;
    }
    const ImU32 color = faint                      ? theme().faint
                        : row.kind == Kind::device ? theme().good
                        : call                     ? theme().dim
                                                   : theme().text;
    const float room = (row.kind == Kind::process ? canvas.right() : canvas.x) - x - 0.5F * em();
    canvas.list->AddText({x, text_y}, color, fitted(label, room).c_str());
}

/// The mouse over a row's name: folding, the menu, what it is.
void TimelineRowView::steer_label(const Frame& frame, const TimelineRow& row, float y,
                                  float height) {
    const TimelineCanvas& canvas = frame.canvas;
    const bool hovered = canvas.hovered && ImGui::IsMouseHoveringRect(
                                               {canvas.x - canvas.labels, std::max(y, canvas.y)},
                                               {canvas.x, std::min(y + height, canvas.bottom())});
    ImGui::PushID(static_cast<int>(row.key ^ row.key >> 32));
    if (hovered && ImGui::IsMouseReleased(ImGuiMouseButton_Right)) ImGui::OpenPopup("##row menu");
    if (hovered && row.foldable && ImGui::IsMouseReleased(ImGuiMouseButton_Left) && frame.clicks)
        rows_.fold(row.key, !row.folded);
    if (hovered && !ImGui::IsPopupOpen("##row menu"))
        ImGui::SetTooltip("%s%s%s\n%s", row.label.c_str(), row.detail.empty() ? "" : ": ",
                          row.detail.c_str(),
                          row.foldable ? "click to fold; right click to hide or move"
                                       : "right click to hide or move");
    row_menu(row);
    ImGui::PopID();
}

/// Marks on the tracks that are drawn; where they are dense, one a pixel.
void TimelineRowView::draw_instants(const Frame& frame) const {
    const TraceStore& trace = frame.trace;
    const TimelineCanvas& canvas = frame.canvas;
    const auto instants = trace.instants();
    if (instants.empty()) return;
    const float size = 0.28F * em();
    std::vector<float> last_x(trace.tracks().size(), -1e9F);
    for (const TraceInstant& instant : instants) {
        if (instant.time_ns < canvas.begin || instant.time_ns > canvas.end) continue;
        const float x = canvas.x_of(instant.time_ns);
        if (instant.track >= last_x.size() || x - last_x[instant.track] < 1) continue;
        const TrackPlaces::Place* at = places_.of(instant.track);
        if (!at || at->y < canvas.y - row_height() || at->y > canvas.bottom()) continue;
        last_x[instant.track] = x;
        canvas.list->AddTriangleFilled({x - size, at->y - 1}, {x + size, at->y - 1},
                                       {x, at->y + 1.4F * size}, theme().warning);
        canvas.list->AddLine({x, at->y}, {x, at->y + static_cast<float>(at->lanes) * row_height()},
                             with_alpha(theme().warning, 90));
        if (canvas.hovered &&
            ImGui::IsMouseHoveringRect({x - size - 1, at->y - 2}, {x + size + 1, at->y + 2 * size}))
            ImGui::SetTooltip(
                "%s%s", std::string(trace.name(instant.name)).c_str(),
                instant.payload != 0
                    ? fmt::format(" ({})", payload_text(instant.payload, instant.payload_kind))
                          .c_str()
                    : "");
    }
}

/// Arrows of the span under the mouse, and of the selected one.
void TimelineRowView::draw_arrows_of_frame(const Frame& frame) const {
    const TraceStore& trace = frame.trace;
    const auto& pointed = spans_.pointed();
    if (pointed && !pointed->open && !pointed->place.projected && pointed->block.count == 1) {
        const SpanPlace& place = pointed->place;
        const auto spans = trace.tracks()[place.track].rows[place.row].view();
        if (pointed->block.first < spans.size())
            draw_arrows(trace, frame.canvas, places_, place.track, place.row,
                        spans[pointed->block.first]);
    }
    if (const TraceSpan* span = frame.selection.kept(trace))
        draw_arrows(trace, frame.canvas, places_, frame.selection.span()->track,
                    frame.selection.span()->row, *span);
}

}  // namespace gs
