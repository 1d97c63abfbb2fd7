#include "panels/widgets/roofline.h"

#include <fmt/format.h>
#include <imgui.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "base/format.h"
#include "panels/widgets/plot.h"
#include "panels/widgets/table_view.h"
#include "panels/widgets/widgets.h"

namespace gs {
namespace {

bool positive(double v) { return std::isfinite(v) && v > 0; }

/// 1.2e12 -> "1.2 T"; for rates, which get large.
std::string rate(double value) {
    if (!positive(value)) return "-";
    constexpr std::array<const char*, 6> kPrefixes{"", " k", " M", " G", " T", " P"};
    std::size_t k = 0;
    for (; value >= 999.5 && k + 1 < kPrefixes.size(); ++k) value /= 1000;
    return format_number(value, 3) + kPrefixes[k];
}

std::string ratio_text(double ratio) {
    return positive(ratio) ? fmt::format("{:.{}f} x", ratio, ratio < 9.95 ? 1 : 0)
                           : std::string("-");
}

struct Axes {
    ImVec2 a, b;  // corners of the plot's region
    RooflineRange range;
    float x(double value) const { return a.x + share(value, range.x_lo, range.x_hi) * (b.x - a.x); }
    float y(double value) const { return b.y - share(value, range.y_lo, range.y_hi) * (b.y - a.y); }

  private:
    static float share(double value, double lo, double hi) {
        return static_cast<float>(std::clamp(std::log(value / lo) / std::log(hi / lo), -4.0, 5.0));
    }
};

void draw_grid(const Axes& axes, ImDrawList& list) {
    const auto ticks = [](double lo, double hi, float room, float each) {
        return plot_ticks(lo, hi, std::max(2, static_cast<int>(room / each)), true);
    };
    float free_from = axes.a.x - em();
    for (const double tick :
         ticks(axes.range.x_lo, axes.range.x_hi, axes.b.x - axes.a.x, 4 * em())) {
        const float x = std::round(axes.x(tick));
        list.AddLine({x, axes.a.y}, {x, axes.b.y}, theme().grid);
        const std::string label = rate(tick);
        const float half = ImGui::CalcTextSize(label.c_str()).x / 2;
        if (x - half < free_from || x + half > axes.b.x - 4.4F * em()) continue;
        list.AddText({x - half, axes.b.y + 0.15F * em()}, theme().dim, label.c_str());
        free_from = x + half + 0.5F * em();
    }
    const char* name = "ops / byte";
    list.AddText({axes.b.x - ImGui::CalcTextSize(name).x, axes.b.y + 0.15F * em()}, theme().dim,
                 name);
    float free_below = axes.b.y + 2 * em();
    for (const double tick :
         ticks(axes.range.y_lo, axes.range.y_hi, axes.b.y - axes.a.y, 1.9F * em())) {
        const float y = std::round(axes.y(tick));
        list.AddLine({axes.a.x, y}, {axes.b.x, y}, theme().grid);
        const std::string label = rate(tick);
        const ImVec2 size = ImGui::CalcTextSize(label.c_str());
        if (y + size.y / 2 > free_below || y - size.y / 2 < axes.a.y - 0.6F * em()) continue;
        list.AddText({axes.a.x - size.x - 0.35F * em(), y - size.y / 2}, theme().dim,
                     label.c_str());
        free_below = y - size.y / 2;
    }
    list.AddText({axes.a.x + 0.3F * em(), axes.a.y}, theme().dim, "ops/s");
}

void draw_ceilings(const Axes& axes, const StageCosts& costs, ImDrawList& list) {
    const double bandwidth = costs.bytes_per_second, peak = costs.operations_per_second;
    const double ridge = positive(bandwidth) && positive(peak) ? peak / bandwidth : NAN;
    const float thick = std::max(1.5F, 0.1F * em());
    if (positive(bandwidth)) {
        const double end = positive(peak) ? std::min(ridge, axes.range.x_hi) : axes.range.x_hi;
        list.AddLine({axes.a.x, axes.y(bandwidth * axes.range.x_lo)},
                     {axes.x(end), axes.y(bandwidth * end)}, theme().warning, thick);
    }
    if (positive(peak)) {
        const double begin =
            positive(bandwidth) ? std::max(ridge, axes.range.x_lo) : axes.range.x_lo;
        list.AddLine({axes.x(begin), axes.y(peak)}, {axes.b.x, axes.y(peak)}, theme().warning,
                     thick);
    }
}

void draw_marker(ImDrawList& list, ImVec2 at, RooflinePoint::Edge edge, float r, ImU32 color,
                 bool bright) {
    const float out = r + std::max(1.0F, 0.1F * em());
    const ImU32 rim = bright ? theme().text : theme().window;
    if (edge == RooflinePoint::Edge::none) {
        list.AddCircleFilled(at, out, rim);
        return list.AddCircleFilled(at, r, color);
    }
    const float way = edge == RooflinePoint::Edge::left ? -1.0F : 1.0F;
    const auto triangle = [&](float s, ImU32 c) {
        const ImVec2 tip{at.x + way * s, at.y}, top{at.x - way * s, at.y - s},
            bottom{at.x - way * s, at.y + s};
        way < 0 ? list.AddTriangleFilled(tip, top, bottom, c)
                : list.AddTriangleFilled(tip, bottom, top, c);
    };
    triangle(out + 1, rim);
    triangle(r, color);
}

/// Names beside their points, where they neither cover another name nor leave the plot.
class Labels {
  public:
    Labels(ImDrawList& list, const Axes& axes) : list_(list), axes_(axes) {}
    void cover(ImVec2 at, float r) { taken_.push_back({at.x - r, at.y - r, at.x + r, at.y + r}); }
    void place(ImVec2 at, float r, const char* words, ImU32 color) {
        const ImVec2 size = ImGui::CalcTextSize(words);
        const float gap = r + 0.3F * em();
        const std::array<ImVec2, 6> corners{{{at.x + gap, at.y - size.y / 2},
                                             {at.x - gap - size.x, at.y - size.y / 2},
                                             {at.x - size.x / 2, at.y - gap - size.y},
                                             {at.x - size.x / 2, at.y + gap},
                                             {at.x + gap, at.y - 1.4F * size.y},
                                             {at.x + gap, at.y + 0.4F * size.y}}};
        for (const ImVec2 corner : corners) {
            const ImVec4 box{corner.x, corner.y, corner.x + size.x, corner.y + size.y};
            const bool inside = box.x >= axes_.a.x && box.z <= axes_.b.x && box.y >= axes_.a.y &&
                                box.w <= axes_.b.y;
            const bool free = std::none_of(taken_.begin(), taken_.end(), [&](const ImVec4& other) {
                return box.x < other.z && other.x < box.z && box.y < other.w && other.y < box.w;
            });
            if (!inside || !free) continue;
            taken_.push_back(box);
            return list_.AddText(corner, color, words);
        }
    }

  private:
    ImDrawList& list_;
    const Axes& axes_;
    std::vector<ImVec4> taken_;
};

void cost_tooltip(const StageCosts& costs, const StageCost& cost) {
    ImGui::BeginTooltip();
    colored_text(mix(stage_color(cost.floor.stage), theme().text, 0.4F), name_of(cost.floor.stage));
    text(fmt::format("{} measured, lower bound {}: {}", format_ms(cost.measured_ms),
                     format_ms(cost.floor.floor_ms), ratio_text(cost.ratio())));
    const double seconds = cost.measured_ms * 1e-3;
    if (cost.floor.work.bytes > 0)
        dim_text(fmt::format("{}, {}B/s of {}B/s", format_bytes(cost.floor.work.bytes),
                             rate(cost.floor.work.bytes / seconds), rate(costs.bytes_per_second)));
    if (cost.floor.work.operations > 0)
        dim_text(fmt::format("{} operations, {}/s of {}/s", rate(cost.floor.work.operations),
                             rate(cost.floor.work.operations / seconds),
                             rate(costs.operations_per_second)));
    if (cost.floor.limit != CostLimit::none)
        dim_text(std::string("bound by ") + name_of(cost.floor.limit));
    dim_text(cost.floor.work.counted ? "bytes and operations counted"
                                     : "bytes and operations estimated");
    ImGui::EndTooltip();
}

}  // namespace

double roof_at(const StageCosts& costs, double intensity) {
    const double infinite = std::numeric_limits<double>::infinity();
    const double memory =
        positive(costs.bytes_per_second) ? costs.bytes_per_second * intensity : infinite;
    return std::min(memory,
                    positive(costs.operations_per_second) ? costs.operations_per_second : infinite);
}

std::vector<RooflinePoint> roofline_points(const StageCosts& costs, RooflineRange& range) {
    const double bandwidth = costs.bytes_per_second, peak = costs.operations_per_second;
    std::vector<RooflinePoint> points;
    if (!positive(bandwidth) && !positive(peak)) return points;
    double x_lo = 1, x_hi = 1, y_hi = 0, y_lo = std::numeric_limits<double>::infinity();
    if (positive(bandwidth) && positive(peak)) x_lo = x_hi = peak / bandwidth, y_hi = peak;
    for (std::size_t i = 0; i < costs.stages.size(); ++i) {
        const StageCost& cost = costs.stages[i];
        if (!positive(cost.measured_ms)) continue;
        RooflinePoint point{.index = i,
                            .intensity = cost.floor.work.operations / cost.floor.work.bytes,
                            .attained = cost.floor.work.operations / (cost.measured_ms * 1e-3)};
        if (!positive(cost.floor.work.operations) && positive(cost.floor.work.bytes) &&
            positive(bandwidth))
            point.edge = RooflinePoint::Edge::left;
        else if (!positive(cost.floor.work.bytes) && positive(point.attained))
            point.edge = RooflinePoint::Edge::right;
        else if (!positive(point.attained) || !positive(point.intensity))
            continue;
        points.push_back(point);
        if (point.edge == RooflinePoint::Edge::none)
            x_lo = std::min(x_lo, point.intensity), x_hi = std::max(x_hi, point.intensity);
    }
    range.x_lo = x_lo / 5;
    range.x_hi = x_hi * 5;
    for (RooflinePoint& point : points) {
        const StageCost& cost = costs.stages[point.index];
        if (point.edge == RooflinePoint::Edge::left) {
            point.intensity = range.x_lo;
            point.attained = roof_at(costs, range.x_lo) * (cost.floor.work.bytes / bandwidth) /
                             (cost.measured_ms * 1e-3);
        } else if (point.edge == RooflinePoint::Edge::right) {
            point.intensity = range.x_hi;
        }
        y_lo = std::min(y_lo, point.attained);
        y_hi = std::max(y_hi, point.attained);
    }
    if (points.empty()) return points;
    range.y_lo = std::min(y_lo, y_hi / 10) / 2.5;
    range.y_hi = y_hi * 2.5;
    return points;
}

namespace {

Table costs_table(const StageCosts& costs) {
    const auto known = [](double ms) { return positive(ms) ? ms : NAN; };
    return table_of<StageCost>(
        std::span(costs.stages),
        {{"stage", "stage", nullptr, [](const StageCost& c) { return name_of(c.floor.stage); }, -1},
         {"measured_ms", "time, ms", significant<3>, &StageCost::measured_ms, 3.9F},
         {"floor_ms", "", nullptr, [](const StageCost& c) { return c.floor.floor_ms; }},
         {"", "floor, ms", significant<3>,
          [=](const StageCost& c) {
              const bool sure = c.floor.work.counted || !positive(c.floor.floor_ms);
              return TableCell(
                  (sure ? "" : "~") + cell_text(known(c.floor.floor_ms), significant<3>),
                  Tone::dim);
          },
          3.9F},
         {"ratio", "ratio", ratio_text,
          [](const StageCost& c) {
              const double r = c.ratio();
              return TableCell(r, !positive(r) ? Tone::dim
                                  : r <= 2     ? Tone::good
                                  : r > 5      ? Tone::warning
                                               : Tone::normal);
          },
          3.9F},
         {"bytes", "", nullptr, [](const StageCost& c) { return c.floor.work.bytes; }},
         {"operations", "", nullptr, [](const StageCost& c) { return c.floor.work.operations; }},
         {"bound_by", "", nullptr,
          [](const StageCost& c) {
              return c.floor.limit == CostLimit::none ? "" : name_of(c.floor.limit);
          }},
         {"", "bound by", nullptr,
          [](const StageCost& c) { return TableCell(name_of(c.floor.limit), Tone::dim); }, 5.6F},
         {"counted", "", nullptr, [](const StageCost& c) { return c.floor.work.counted; }}});
}

}  // namespace

std::string costs_csv(const StageCosts& costs) { return table_csv(costs_table(costs)); }

void Roofline::draw_head(const StageCosts& costs) const {
    if (ImGui::Button("CSV")) ImGui::SetClipboardText(costs_csv(costs).c_str());
    tooltip("Copy the table as CSV");
    ImGui::SameLine();
    const std::string words =
        fmt::format("{}: {}B/s, {} ops/s{}", costs.machine, rate(costs.bytes_per_second),
                    rate(costs.operations_per_second), costs.measured ? "" : " by data sheet");
    ImGui::AlignTextToFramePadding();
    dim_text(fitted(words, ImGui::GetContentRegionAvail().x));
    tooltip(words + (costs.measured ? ", as measured on this machine" : ", not measured here"));
}

void Roofline::draw_plot(const StageCosts& costs, float height) {
    const ImVec2 corner = ImGui::GetCursorScreenPos(), room = ImGui::GetContentRegionAvail();
    ImGui::InvisibleButton("##roofline", {std::max(room.x, 1.0F), height});
    if (room.x < 12 * em() || height < 6 * em() || !ImGui::IsItemVisible()) return;
    Axes axes{{corner.x + 3.2F * em(), corner.y + 0.4F * em()},
              {corner.x + room.x - 0.6F * em(), corner.y + height - 1.5F * em()},
              {}};
    const std::vector<RooflinePoint> points = roofline_points(costs, axes.range);
    ImDrawList& list = *ImGui::GetWindowDrawList();
    list.AddRectFilled(axes.a, axes.b, theme().window);
    draw_grid(axes, list);
    list.PushClipRect(axes.a, axes.b, true);
    draw_ceilings(axes, costs, list);
    list.PopClipRect();
    const ImVec2 mouse = ImGui::GetMousePos();
    const RooflinePoint* under = nullptr;
    float nearest = em();
    const auto place_of = [&](const RooflinePoint& p) {
        const float inset = p.edge == RooflinePoint::Edge::none ? 0 : 0.5F * em();
        return ImVec2(std::clamp(axes.x(p.intensity), axes.a.x + inset, axes.b.x - inset),
                      axes.y(p.attained));
    };
    for (const RooflinePoint& point : points) {
        const ImVec2 at = place_of(point);
        const float away = std::hypot(at.x - mouse.x, at.y - mouse.y);
        if (ImGui::IsItemHovered() && away < nearest) nearest = away, under = &point;
    }
    if (under) hovering_ = costs.stages[under->index].floor.stage;
    const float r = 0.32F * em();
    Labels labels(list, axes);
    for (const RooflinePoint& point : points) labels.cover(place_of(point), r);
    for (const RooflinePoint& point : points) {
        const Stage stage = costs.stages[point.index].floor.stage;
        const bool bright = hovered_ == stage;
        draw_marker(list, place_of(point), point.edge, bright ? 1.3F * r : r, stage_color(stage),
                    bright);
        labels.place(place_of(point), r, name_of(stage), bright ? theme().text : theme().dim);
    }
    if (under) cost_tooltip(costs, costs.stages[under->index]);
}

void Roofline::draw_table(const StageCosts& costs) {
    ImGui::PushStyleVar(ImGuiStyleVar_CellPadding, {0.2F * em(), 0.1F * em()});
    const auto mark = [&](std::size_t i) {
        const Stage stage = costs.stages[i].floor.stage;
        if (hovered_ == stage) ImGui::TableSetBgColor(ImGuiTableBgTarget_RowBg0, theme().field);
        if (!ImGui::IsItemHovered()) return;
        hovering_ = stage;
        cost_tooltip(costs, costs.stages[i]);
    };
    const auto draw_stage = [&](std::size_t i) { stage_label(costs.stages[i].floor.stage); };
    TableView view{.id = "##costs", .size = ImGui::GetContentRegionAvail(), .tight = true};
    view.flags |= ImGuiTableFlags_SizingStretchProp;
    view.click = [](std::size_t) {};
    view.item = mark;
    view.draw = {{"stage", draw_stage}};
    gs::draw_table(costs_table(costs), view);
    ImGui::PopStyleVar();
}

void Roofline::draw(const StageCosts& costs) {
    draw_head(costs);
    if (costs.stages.empty()) return empty_note("Nothing measured yet: start training");
    hovering_.reset();
    const float room = ImGui::GetContentRegionAvail().y;
    const float height = std::min(18 * em(), 0.55F * room);
    if (positive(costs.bytes_per_second) || positive(costs.operations_per_second))
        draw_plot(costs, height);
    if (ImGui::GetContentRegionAvail().y > 3 * em()) draw_table(costs);
    hovered_ = hovering_;
}

}  // namespace gs
