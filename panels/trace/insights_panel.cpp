#include "panels/trace/insights_panel.h"

#include <fmt/format.h>
#include <imgui.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <vector>

#include "base/format.h"
#include "panels/widgets/table_view.h"
#include "panels/widgets/widgets.h"
#include "profiler/store/node_gpus.h"

namespace gs {
namespace {

constexpr double kInterval = 1.0;          // seconds between refreshes, at least
constexpr double kMostShare = 0.01;        // of the window's thread: what copying may take
constexpr std::size_t kIterations = 128;   // the newest, of a trace that grows
constexpr double kMostSpans = 200'000;     // copied at once, estimated: about 30 MB
constexpr std::size_t kEvidenceShown = 3;  // the worst; the rest unfolds
constexpr std::size_t kOpenCards = 2;      // at first

double milliseconds_since(std::chrono::steady_clock::time_point begin) {
    return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin)
        .count();
}

/// The newest iterations of a trace that grows, as far as they are not too many spans to copy; all
/// of one that does not: it is copied once, and the answer is the command line's.
TimeRange stretch_of(const TraceStore& trace, bool live) {
    const std::int64_t begin = trace.begin_ns(), end = trace.end_ns();
    if (!live) return {begin, end};
    const auto frames = trace.frames().history(StatScope::iteration);
    std::int64_t from = begin;
    if (frames.size() > kIterations)
        from = std::max(from, frames[frames.size() - kIterations].begin_ns);
    const double density =
        static_cast<double>(trace.span_count()) / std::max(1.0, static_cast<double>(end - begin));
    if (density * static_cast<double>(end - from) > kMostSpans)
        from = end - static_cast<std::int64_t>(kMostSpans / density);
    return {from, end};
}

/// Floors of the stages as the roofline has them, for our own training.
std::vector<StageFloor> floors_of(const Snapshot& snapshot, const TraceStore& trace) {
    std::vector<StageFloor> out;
    if (&trace != snapshot.trace || !snapshot.costs || snapshot.costs->sample != "iteration")
        return out;
    for (const StageCost& cost : snapshot.costs->stages) out.push_back(cost.floor);
    return out;
}

ImU32 gain_color(double share) {
    return share >= 0.10 ? theme().error : share >= 0.02 ? theme().warning : theme().accent;
}

std::string process_label(const TraceProcess& p) {
    std::string out = p.labels.rank >= 0 ? fmt::format("rank {}: ", p.labels.rank) : std::string();
    return out + fmt::format("{} ({})", p.name.empty() ? "process" : p.name, p.pid);
}

/// In lines that end between words: ImGui's own wrapping breaks numbers at their point.
void wrapped(std::string_view words, ImU32 color) {
    const float width = ImGui::GetContentRegionAvail().x - 0.4F * em();
    const auto fits = [&](std::string_view line) {
        return ImGui::CalcTextSize(line.data(), line.data() + line.size()).x <= width;
    };
    while (!words.empty()) {
        std::size_t end = std::min(words.find(' '), words.size());
        while (end < words.size()) {
            const std::size_t next = std::min(words.find(' ', end + 1), words.size());
            if (!fits(words.substr(0, next))) break;
            end = next;
        }
        colored_text(color, words.substr(0, end));
        words.remove_prefix(std::min(end + 1, words.size()));
        if (!words.empty())
            ImGui::SetCursorPosY(ImGui::GetCursorPosY() - ImGui::GetStyle().ItemSpacing.y);
    }
}

/// The recoverable share of an iteration, and in words.
void gain_bar(const Insight& i) {
    const bool known = std::isfinite(i.recoverable_ms);
    const ImVec2 at = ImGui::GetCursorScreenPos();
    const float width = ImGui::GetContentRegionAvail().x - 0.4F * em(), height = 0.4F * em();
    ImDrawList& list = *ImGui::GetWindowDrawList();
    list.AddRectFilled(at, {at.x + width, at.y + height}, theme().field, 2);
    if (known && i.share > 0)
        list.AddRectFilled(
            at, {at.x + width * static_cast<float>(std::min(1.0, i.share)), at.y + height},
            gain_color(i.share), 2);
    ImGui::Dummy({width, height});
    text(known ? fmt::format("up to {} per iteration, {}", format_ms(i.recoverable_ms),
                             format_share(i.share))
               : std::string("amount unknown"));
    const char* badge = i.confidence == Confidence::measured ? "measured" : "inferred";
    ImGui::SameLine(
        std::max(ImGui::GetCursorPosX(),
                 ImGui::GetContentRegionMax().x - ImGui::CalcTextSize(badge).x - 0.4F * em()));
    colored_text(i.confidence == Confidence::measured ? theme().good : theme().dim, badge);
    tooltip(i.confidence == Confidence::measured
                ? "The time is a sum of measurements."
                : "The measurements suggest the cause; the time is an estimate from a model.");
}

}  // namespace

void InsightsPanel::take_answer() {
    auto answer = pending_ ? pending_->take() : std::nullopt;
    if (!answer) return;
    pending_.reset();
    answered_ = asked_;
    answered_at_ = ImGui::GetTime();
    if (!*answer) return;  // there was no memory for it: the last one stays
    const double copied = result_ ? result_->copy_ms : 0;
    result_ = std::move(**answer);
    if (result_->copy_ms == 0) result_->copy_ms = copied;
}

void InsightsPanel::ask(const Snapshot& snapshot, const TraceStore& trace, const Asked& asked) {
    const auto begin = std::chrono::steady_clock::now();
    const TimeRange stretch = asked.selection ? *asked.selection : stretch_of(trace, asked.live);
    auto copy = std::make_shared<const TraceStore>(trace.excerpt(stretch.begin_ns, stretch.end_ns));
    InsightOptions options{.process = asked.process, .floors = floors_of(snapshot, trace)};
    if (asked.selection) {
        options.begin_ns = asked.selection->begin_ns;
        options.end_ns = asked.selection->end_ns;
    }
    const double copy_ms = milliseconds_since(begin);
    pending_ = std::make_unique<Task<Answer>>(
        "insights", "checking the rules",
        [copy, options, copy_ms, length = stretch.end_ns - stretch.begin_ns](const Progress&) {
            const auto started = std::chrono::steady_clock::now();
            Answer out;
            out.insights = find_insights(*copy, options);
            out.worker_ms = milliseconds_since(started);
            out.copy_ms = copy_ms;
            out.made_of_ns = length;
            return out;
        });
    asked_ = asked;
    asked_at_ = ImGui::GetTime();
    asked_spans_ = trace.sources().records_written() + trace.span_count();
}

void InsightsPanel::refresh(const Snapshot& snapshot, const TraceStore& trace) {
    take_answer();
    if (pending_) return;
    if (process != kAnyProcess && process >= trace.processes().size()) process = kAnyProcess;
    const TraceEntry* entry = snapshot.shown_entry();
    Asked now{&trace, snapshot.shown_trace, process, {}, entry == nullptr || entry->live};
    if (only_selection) now.selection = view_.selection;
    if (now.store != answered_.store || now.trace != answered_.trace) result_.reset();
    const bool other = !(now == answered_) || answered_at_ < 0;
    const bool news = trace.sources().records_written() + trace.span_count() != asked_spans_;
    const double interval =
        std::max(kInterval, result_ ? result_->copy_ms * 1e-3 / kMostShare : 0.0);
    if (other || (news && !now.selection && ImGui::GetTime() - asked_at_ > interval))
        ask(snapshot, trace, now);
}

void InsightsPanel::draw_controls(const TraceStore& trace) {
    if (result_ && result_->insights.iterations > 0)
        text(fmt::format("{} {}, {} each (median)",
                         format_count(static_cast<double>(result_->insights.iterations)),
                         result_->insights.iterations == 1 ? "iteration" : "iterations",
                         format_ms(result_->insights.iteration_ms)));
    else
        dim_text(result_ ? "no iterations found" : "looking…");
    if (view_.selection) {
        ImGui::Checkbox("Only the selected time range", &only_selection);
    } else {
        only_selection = false;
    }
    const std::vector<std::uint32_t> choices = recorded_processes(trace.processes());
    if (choices.size() < 2) return;
    ImGui::SetNextItemWidth(-1);
    const std::string shown =
        process == kAnyProcess ? "all processes" : process_label(trace.processes()[process]);
    if (!ImGui::BeginCombo("##process", shown.c_str())) return;
    if (ImGui::Selectable("All processes", process == kAnyProcess)) process = kAnyProcess;
    for (const std::uint32_t p : choices)
        if (ImGui::Selectable(fmt::format("{}##{}", process_label(trace.processes()[p]), p).c_str(),
                              process == p))
            process = p;
    ImGui::EndCombo();
}

void InsightsPanel::draw_evidence(const TraceStore& trace, const Insight& insight,
                                  Commands& commands) {
    for (std::size_t i = 0; i < insight.evidence.size(); ++i) {
        const Evidence& e = insight.evidence[i];
        if (i == kEvidenceShown &&
            !ImGui::TreeNodeEx(
                fmt::format("{} more places", insight.evidence.size() - i).c_str(),
                ImGuiTreeNodeFlags_NoTreePushOnOpen | ImGuiTreeNodeFlags_SpanAvailWidth))
            break;
        const std::string id = fmt::format(
            "{}##evidence{}", fitted(e.text, ImGui::GetContentRegionAvail().x - em()), i);
        ImGui::PushStyleColor(ImGuiCol_Text, theme().accent);
        if (ImGui::Selectable(id.c_str())) {
            view_.jump = TracePlace{{e.begin_ns, e.end_ns}, e.track, e.row};
            commands.push("panel", {"Timeline"});
        }
        ImGui::PopStyleColor();
        tooltip(fmt::format(
            "{}\n{}{}\nClick: show it on the timeline", e.text,
            e.track < trace.tracks().size() ? trace.tracks()[e.track].name + ", " : std::string(),
            format_ns(static_cast<double>(e.end_ns - e.begin_ns))));
    }
}

void InsightsPanel::draw_card(const TraceStore& trace, const Insight& insight, std::size_t index,
                              Commands& commands) {
    ImGui::PushID(static_cast<int>(index));
    ImDrawList& list = *ImGui::GetWindowDrawList();
    const ImVec2 corner = ImGui::GetCursorScreenPos();
    const float width = ImGui::GetContentRegionAvail().x;
    list.ChannelsSplit(2);
    list.ChannelsSetCurrent(1);
    ImGui::Dummy({0, 0.15F * em()});
    ImGui::Indent(0.5F * em());
    wrapped(insight.title, theme().text);
    gain_bar(insight);
    ImGui::SetNextItemOpen(index < kOpenCards, ImGuiCond_Once);
    if (ImGui::TreeNodeEx(
            fmt::format("{}: evidence and advice", insight.rule).c_str(),
            ImGuiTreeNodeFlags_NoTreePushOnOpen | ImGuiTreeNodeFlags_SpanAvailWidth)) {
        if (recorded_processes(trace.processes()).size() > 1 &&
            insight.process < trace.processes().size())
            dim_text(
                process_label(trace.processes()[insight.process]) +
                (insight.also.empty() ? "" : fmt::format(" and {} more", insight.also.size())));
        wrapped(insight.text, theme().dim);
        wrapped(insight.advice, theme().text);
        draw_evidence(trace, insight, commands);
    }
    ImGui::Unindent(0.5F * em());
    ImGui::Dummy({0, 0.15F * em()});
    list.ChannelsSetCurrent(0);
    const float bottom = ImGui::GetCursorScreenPos().y - ImGui::GetStyle().ItemSpacing.y;
    list.AddRectFilled(corner, {corner.x + width, bottom}, color_rgb(0x20262f), 4);
    list.AddRectFilled(corner, {corner.x + 0.2F * em(), bottom},
                       std::isfinite(insight.share) ? gain_color(insight.share) : theme().faint, 2);
    list.ChannelsMerge();
    ImGui::Dummy({0, 0.1F * em()});
    ImGui::PopID();
}

void InsightsPanel::draw_ranks() {
    const std::vector<RankFigures>& ranks = result_->insights.ranks;
    if (ranks.empty()) return;
    constexpr std::size_t kShown = 8;  // rows before it scrolls
    const float lines = static_cast<float>(std::min(ranks.size(), kShown) + 1);
    draw_table(ranks_table(ranks),
               {.id = "ranks",
                .flags = ImGuiTableFlags_ScrollX | ImGuiTableFlags_ScrollY | ImGuiTableFlags_RowBg |
                         ImGuiTableFlags_SizingFixedFit,
                .size = {0, (lines + 1) * ImGui::GetTextLineHeightWithSpacing()},
                .frozen = 1,
                .click = [&](std::size_t row) { process = ranks[row].process; },
                .chosen = [&](std::size_t row) { return process == ranks[row].process; }});
}

void InsightsPanel::draw_cards(const TraceStore& trace, Commands& commands) {
    const Insights& insights = result_->insights;
    for (std::size_t i = 0; i < insights.findings.size(); ++i)
        draw_card(trace, insights.findings[i], i, commands);
    if (insights.findings.empty() && insights.iterations > 0)
        wrapped(fmt::format("None of the {} rules that could be checked found anything.",
                            insights.clear.size()),
                theme().good);
}

/// Rules without findings, and rules that could not be checked, folded.
void InsightsPanel::draw_rest() const {
    const Insights& insights = result_->insights;
    if (!insights.clear.empty() && ImGui::TreeNode("clear", "OK (%zu)", insights.clear.size())) {
        for (const std::string& rule : insights.clear) dim_text(rule);
        ImGui::TreePop();
    }
    if (insights.unanswered.empty() ||
        !ImGui::TreeNode("unanswered", "Not checked (%zu)", insights.unanswered.size()))
        return;
    for (std::size_t i = 0; i < insights.unanswered.size();) {
        const std::string& why =
            insights.unanswered[i].why;  // neighbours with the same reason share it
        for (; i < insights.unanswered.size() && insights.unanswered[i].why == why; ++i)
            text(insights.unanswered[i].rule + " " + insights.unanswered[i].title);
        ImGui::Indent(0.8F * em());
        wrapped(why, theme().dim);
        ImGui::Unindent(0.8F * em());
    }
    ImGui::TreePop();
}

void InsightsPanel::draw_footer() const {
    ImGui::Spacing();
    const std::string length = format_ns(static_cast<double>(result_->made_of_ns));
    dim_text(answered_.selection ? "over the selected " + length
             : !answered_.live   ? "over the whole recording, " + length
                                 : fmt::format("over the last {}, {:.0f} s ago", length,
                                               std::max(0.0, ImGui::GetTime() - answered_at_)));
    tooltip(
        fmt::format("Copying the range took {:.2f} ms of the window's time, the rules {:.1f} ms "
                    "on another thread.",
                    result_->copy_ms, result_->worker_ms));
}

void InsightsPanel::draw(const Snapshot& snapshot, Commands& commands) {
    const TraceStore* trace = snapshot.shown();
    if (trace == nullptr || trace->span_count() == 0) {
        empty_note("Nothing measured yet. Train, or open a trace.");
        return;
    }
    refresh(snapshot, *trace);
    draw_controls(*trace);
    if (!result_) return;
    draw_ranks();
    draw_cards(*trace, commands);
    draw_rest();
    draw_footer();
}

}  // namespace gs
