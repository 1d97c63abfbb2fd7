#include "panels/trace/compare_panel.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/format.h"
#include "panels/widgets/table_view.h"
#include "panels/widgets/widgets.h"
#include "profiler/store/node_gpus.h"

namespace gs {
namespace {

constexpr std::array kSideNames{"A", "B"};
constexpr std::array<ImU32, 2> kSideColors{color_rgb(0x6fa8dc), color_rgb(0xe0a458)};

const TraceEntry* entry_of(const Snapshot& snapshot, std::uint64_t id) {
    for (const TraceEntry& entry : snapshot.traces)
        if (entry.id == id && entry.store) return &entry;
    return nullptr;
}

Tone verdict_tone(Verdict verdict) {
    return verdict == Verdict::faster   ? Tone::good
           : verdict == Verdict::slower ? Tone::warning
                                        : Tone::dim;
}

/// The difference with its interval: "-1.20 ms (-1.31 to -1.08)".
std::string difference_text(const ComparedRow& row) {
    if (!std::isfinite(row.difference_ms)) return "-";
    const auto signed_ms = [](double v) { return (v > 0 ? "+" : "") + format_compact(v); };
    return fmt::format("{} ({} to {})", signed_ms(row.difference_ms), signed_ms(row.low_ms),
                       signed_ms(row.high_ms));
}

std::string kind_text(ComparedRow::Kind kind) {
    switch (kind) {
        case ComparedRow::Kind::iteration:
            return "";
        case ComparedRow::Kind::gpu_stage:
        case ComparedRow::Kind::gpu_total:
            return "GPU";
        case ComparedRow::Kind::cpu_stage:
            return "CPU";
        case ComparedRow::Kind::range:
            return "range";
    }
    return "";
}

}  // namespace

void ComparePanel::draw_side(const Snapshot& snapshot, std::size_t which) {
    Side& side = sides[which];
    const TraceEntry* chosen = entry_of(snapshot, side.trace);
    ImGui::PushID(static_cast<int>(which));
    ImGui::AlignTextToFramePadding();
    colored_text(kSideColors[which], kSideNames[which]);
    ImGui::SameLine();
    ImGui::SetNextItemWidth(9 * em());
    if (ImGui::BeginCombo("##trace", chosen ? chosen->name.c_str() : "Choose a trace")) {
        for (const TraceEntry& entry : snapshot.traces)
            if (entry.store && ImGui::Selectable(entry.name.c_str(), entry.id == side.trace))
                side = {entry.id, 0, std::nullopt};
        ImGui::EndCombo();
    }
    const std::vector<std::uint32_t> choices =
        chosen ? recorded_processes(chosen->store->processes()) : std::vector<std::uint32_t>();
    if (choices.size() > 1) {
        ImGui::SameLine();
        ImGui::SetNextItemWidth(7 * em());
        const auto& processes = chosen->store->processes();
        side.process = std::min(side.process, static_cast<std::uint32_t>(processes.size()) - 1);
        if (ImGui::BeginCombo("##process", processes[side.process].name.c_str())) {
            for (const std::uint32_t i : choices)
                if (ImGui::Selectable(
                        fmt::format("{} ({})", processes[i].name, processes[i].pid).c_str(),
                        i == side.process))
                    side.process = i;
            ImGui::EndCombo();
        }
    }
    ImGui::SameLine();
    if (side.range) {
        if (ImGui::Button((format_ns(side.range->length_ns()) + " selected").c_str()))
            side.range.reset();
        tooltip("Compares only this time range; click for all of it");
    } else if (view_.selection && side.trace == snapshot.shown_trace) {
        if (ImGui::Button("Use the selection")) side.range = view_.selection;
        tooltip("Compare only the time range selected in the timeline");
    } else {
        dim_text("all of it");
    }
    ImGui::PopID();
}

void ComparePanel::work_out(const Snapshot& snapshot) {
    wanted_ = false;
    std::array<CompareSide, 2> given;
    for (std::size_t i = 0; i < 2; ++i) {
        const TraceEntry* entry = entry_of(snapshot, sides[i].trace);
        if (!entry || sides[i].process >= entry->store->processes().size()) {
            result_.reset();
            return;
        }
        given[i].store = entry->store;
        given[i].process = sides[i].process;
        given[i].name = entry->name;
        if (sides[i].range) {
            given[i].begin_ns = sides[i].range->begin_ns;
            given[i].end_ns = sides[i].range->end_ns;
        }
    }
    result_ = compare(given[0], given[1]);
    made_of_ = sides;
}

/// Both sides' medians as bars on one scale, with their 95th percentiles as whiskers.
void ComparePanel::draw_medians(const ComparedRow& row, double most) {
    const ImVec2 at = ImGui::GetCursorScreenPos();
    const float width = ImGui::GetContentRegionAvail().x, half = 0.5F * em();
    ImDrawList& list = *ImGui::GetWindowDrawList();
    const auto x_of = [&](double ms) {
        return at.x + width * static_cast<float>(std::clamp(ms / most, 0.0, 1.0));
    };
    for (std::size_t i = 0; i < 2; ++i) {
        const Distribution& d = i == 0 ? row.a : row.b;
        if (d.count == 0 || !std::isfinite(d.median_ms)) continue;
        const float y = at.y + static_cast<float>(i) * half + 1;
        list.AddRectFilled({at.x, y}, {std::max(x_of(d.median_ms), at.x + 1), y + half - 1},
                           kSideColors[i]);
        list.AddLine({x_of(d.median_ms), y + 0.5F * half}, {x_of(d.p95_ms), y + 0.5F * half},
                     with_alpha(kSideColors[i], 160));
    }
    ImGui::Dummy({width, 2 * half + 2});
    if (ImGui::IsItemHovered())
        ImGui::SetTooltip(
            "A: median %s, P95 %s, mean %s, %zu iterations\nB: median %s, P95 %s, mean %s, %zu "
            "iterations\n%s",
            format_ms(row.a.median_ms).c_str(), format_ms(row.a.p95_ms).c_str(),
            format_ms(row.a.mean_ms).c_str(), row.a.count, format_ms(row.b.median_ms).c_str(),
            format_ms(row.b.p95_ms).c_str(), format_ms(row.b.mean_ms).c_str(), row.b.count,
            row.matched
                ? "The shift is the middle of the differences between iterations of the same "
                  "number, not the difference of the medians."
                : "The shift is the median difference over all pairs of iterations.");
}

void ComparePanel::draw_table(Commands&) {
    const float room = ImGui::GetContentRegionAvail().y;
    const float height = result_->matched.empty() ? room : std::max(0.68F * room, room - 9 * em());
    double most = 1e-9;
    for (const ComparedRow& row : result_->rows)
        for (const Distribution& d : {row.a, row.b})
            if (std::isfinite(d.p95_ms)) most = std::max(most, d.p95_ms);
    const auto& rows = result_->rows;
    const auto draw_name = [&](std::size_t i) {
        const ComparedRow& row = rows[i];
        const std::string kind = kind_text(row.kind);
        colored_text(
            row.stage == Stage::other ? theme().text
                                      : mix(stage_color(row.stage), theme().text, 0.4F),
            fitted(kind.empty() || row.name.starts_with(kind) ? row.name : kind + " " + row.name,
                   ImGui::GetContentRegionAvail().x));
    };
    using Row = ComparedRow;
    const auto a = [](const Row& row) { return row.a.median_ms; };
    const auto b = [](const Row& row) { return row.b.median_ms; };
    const auto verdict = [](const Row& row) {
        return TableCell(name_of(row.verdict), verdict_tone(row.verdict));
    };
    const CellFormat change = [](double v) { return (v > 0 ? "+" : "") + format_share(v); };
    const std::string shift =
        std::string(!rows.empty() && rows[0].matched ? "paired shift" : "shift") +
        " B - A, ms (95 %)";
    TableView view{.id = "##compared", .size = {0, height}};
    view.flags |= ImGuiTableFlags_SizingFixedFit;
    view.draw = {{"per iteration", draw_name},
                 {"medians, to P95", [&](std::size_t i) { draw_medians(rows[i], most); }}};
    gs::draw_table(
        table_of<Row>(std::span(rows),
                      {{"", "per iteration", nullptr, &Row::name, -1.2F},
                       {"", "medians, to P95", nullptr, [](const Row&) { return ""; }, -1.6F},
                       {"", "A", format_ms, a, 4.6F},
                       {"", "B", format_ms, b, 4.6F},
                       {"", shift.c_str(), format_ms, difference_text, 12},
                       {"", "%", change, &Row::relative, 3.6F},
                       {"", "verdict", nullptr, verdict, 5}}),
        view);
}

/// The same iterations on both sides, those whose time differs most first.
void ComparePanel::draw_matched(const Snapshot& snapshot, Commands& commands) {
    if (result_->matched.empty()) return;
    std::vector<const MatchedIteration*> order;
    for (const MatchedIteration& m : result_->matched) order.push_back(&m);
    const auto change = [](const MatchedIteration& m) {
        return m.b.milliseconds() - m.a.milliseconds();
    };
    std::ranges::sort(order, [&](const MatchedIteration* a, const MatchedIteration* b) {
        return std::abs(change(*a)) > std::abs(change(*b));
    });
    const auto show = [&](std::size_t side) {
        return [&, side](std::size_t i) {
            const Iteration& it = side == 0 ? order[i]->a : order[i]->b;
            ImGui::PushID(static_cast<int>(side));
            if (ImGui::Selectable(format_ms(it.milliseconds()).c_str())) {
                if (made_of_[side].trace != snapshot.shown_trace)
                    commands.push("trace.show", {std::to_string(made_of_[side].trace)});
                commands.push("timeline.show",
                              {std::to_string(it.begin_ns), std::to_string(it.end_ns)});
            }
            ImGui::PopID();
            tooltip("Show it in the timeline");
        };
    };
    using Row = MatchedIteration;
    const auto number = [](const Row& m) { return format_count(static_cast<double>(m.number)); };
    const auto drawn = [](const Row&) { return ""; };
    const auto slower = [&](const Row& m) {
        return (change(m) > 0 ? "+" : "") + format_compact(change(m));
    };
    gs::draw_table(table_of<Row>(std::span(order), {{"", "matched iteration", nullptr, number},
                                                    {"", "A", nullptr, drawn},
                                                    {"", "B", nullptr, drawn},
                                                    {"", "B - A, ms", nullptr, slower}}),
                   {.id = "##matched", .draw = {{"A", show(0)}, {"B", show(1)}}});
}

/// Until something else is chosen: the first two traces that were opened, B rather the shown one;
/// with one, this session against it.
void ComparePanel::propose(const Snapshot& snapshot) {
    const bool has[] = {entry_of(snapshot, sides[0].trace) != nullptr,
                        entry_of(snapshot, sides[1].trace) != nullptr};
    const bool chosen = sides != proposed_;
    if (chosen && has[0] && has[1]) return;
    std::vector<const TraceEntry*> there;
    for (const TraceEntry& entry : snapshot.traces)
        if (entry.store) there.push_back(&entry);
    std::stable_partition(there.begin(), there.end(), [](const auto* e) { return !e->own; });
    if (there.empty()) return;
    if (there.size() == 2 && there[1]->own) std::swap(there[0], there[1]);
    const TraceEntry* b = there.size() > 1 ? there[1] : there[0];
    for (const TraceEntry* entry : there)
        if (entry->id == snapshot.shown_trace && !entry->own && entry != there[0]) b = entry;
    const auto chosen_sides = sides;
    sides = proposed_ = {Side{there[0]->id, 0, std::nullopt}, Side{b->id, 0, std::nullopt}};
    for (std::size_t i = 0; i < 2; ++i)
        if (chosen && has[i]) sides[i] = chosen_sides[i];
}

void ComparePanel::draw(const Snapshot& snapshot, Commands& commands) {
    if (snapshot.traces.empty()) {
        empty_note("Open a trace to compare with");
        return;
    }
    propose(snapshot);
    if (result_ &&
        !(entry_of(snapshot, made_of_[0].trace) && entry_of(snapshot, made_of_[1].trace)))
        result_.reset();
    draw_side(snapshot, 0);
    draw_side(snapshot, 1);
    ImGui::SameLine(0, em());
    const bool changed = !result_ || !(sides == made_of_);
    if (ImGui::Button(changed ? "Compare" : "Again")) wanted_ = true;
    tooltip(
        "Compare the iterations of both sides: durations per stage and the difference with its "
        "interval");
    if (sides[0] == sides[1]) {
        ImGui::SameLine();
        dim_text("both sides are the same: choose another trace, or a time range for each");
    }
    if (wanted_) work_out(snapshot);
    if (!result_) {
        empty_note(
            "Choose two traces, or two time ranges of one (select in the timeline, then Use the "
            "selection), and compare");
        return;
    }
    dim_text(fitted(fmt::format("A: {}; B: {}", result_->how_a, result_->how_b),
                    ImGui::GetContentRegionAvail().x));
    if (result_->rows.empty()) {
        empty_note("No iterations found on one of the sides");
        return;
    }
    if (const std::string quiet = quiet_text(*result_); !quiet.empty()) {
        wrapped_text(theme().warning, quiet);
    }
    draw_table(commands);
    draw_matched(snapshot, commands);
}

}  // namespace gs
