#include "panels/trace/other_gpus.h"

#include <fmt/format.h>
#include <imgui.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>

#include "base/format.h"
#include "panels/widgets/table_view.h"
#include "panels/widgets/widgets.h"

namespace gs {
namespace {

constexpr std::array<std::array<int, 2>, 5> kSizes{
    {{640, 480}, {1280, 720}, {1920, 1080}, {2560, 1440}, {3840, 2160}}};
constexpr std::array<int, 5> kBatches{1, 2, 4, 8, 16};

std::string predicted_ms(double ms) {
    return std::isfinite(ms) ? format_number(ms, ms < 0.0995 ? 2 : 3) : "-";
}
std::string interval_text(const PredictedMs& ms) {
    return fmt::format("{} to {} ms", predicted_ms(ms.p10), predicted_ms(ms.p90));
}

/// Explains a limit by this resource, and what helps.
const char* words_of(GpuResource resource) {
    switch (resource) {
        case GpuResource::issue:
            return "schedulers have no free issue slots: fewer pairs and Gaussians help, or fewer "
                   "instructions each";
        case GpuResource::fp32:
        case GpuResource::integer:
            return "arithmetic units are saturated: fewer pairs and Gaussians help";
        case GpuResource::special:
            return "limited by exponentials and roots: fewer blended pairs help";
        case GpuResource::shared_memory:
            return "limited by shared memory bandwidth: smaller windows, or more kept in registers";
        case GpuResource::l2:
            return "limited by L2 bandwidth: fewer and smaller records help";
        case GpuResource::memory:
            return "limited by memory bandwidth: fewer visible Gaussians, fewer coefficients each";
        case GpuResource::latency:
            return "warps wait for memory: more loads at once, or more warps per multiprocessor";
        case GpuResource::tail:
            return "waits for a few long tiles: shorter lists, or lists split into more pieces";
        case GpuResource::launch:
            return "many short kernels in sequence: more views at a time, or a graph";
    }
    return "";
}

void prediction_tooltip(const PredictionState::OfGpu& gpu, const PredictedStage& stage) {
    ImGui::BeginTooltip();
    text(fmt::format("{} on {}, predicted", name_of(stage.stage), gpu.name));
    text(fmt::format("{} ms, {}", predicted_ms(stage.ms.p50), interval_text(stage.ms)));
    if (!stage.counted) colored_text(theme().warning, "not all of its work was counted");
    text(fmt::format("bound by {}", name_of(stage.bound_by)));
    for (std::size_t i = 0; i < kGpuResources; ++i)
        if (stage.share[i] >= 0.05)
            dim_text(fmt::format("{}  {:.0f} %", name_of(static_cast<GpuResource>(i)),
                                 100 * stage.share[i]));
    ImGui::EndTooltip();
}

/// A bar up to P50, a line from P10 to P90, and the figure before them. `most`: the scale's end.
void interval_cell(const PredictedMs& ms, double most, ImU32 color) {
    const ImVec2 at = ImGui::GetCursorScreenPos();
    const float room = ImGui::GetContentRegionAvail().x, label = 3.0F * em();
    const float width = std::max(room - label, 1.0F), line = ImGui::GetTextLineHeight();
    const auto x = [&](double value) {
        const double share = most > 0 && std::isfinite(value) ? value / most : 0;
        return at.x + label + width * static_cast<float>(std::clamp(share, 0.0, 1.0));
    };
    ImDrawList& list = *ImGui::GetWindowDrawList();
    list.AddRectFilled({x(0), at.y + 0.15F * line}, {x(ms.p50), at.y + 0.85F * line}, color);
    const float middle = at.y + 0.5F * line;
    list.AddLine({x(ms.p10), middle}, {x(ms.p90), middle}, theme().text, hairline());
    for (const double end : {ms.p10, ms.p90})
        list.AddLine({x(end), at.y + 0.3F * line}, {x(end), at.y + 0.7F * line}, theme().text,
                     hairline());
    text(predicted_ms(ms.p50));
    ImGui::SameLine(0, 0);
    ImGui::Dummy(
        {std::max(room - ImGui::CalcTextSize(predicted_ms(ms.p50).c_str()).x, 1.0F), line});
}

const StageCost* cost_of(const StageCosts* costs, Stage stage) {
    if (costs != nullptr)
        for (const StageCost& cost : costs->stages)
            if (cost.floor.stage == stage) return &cost;
    return nullptr;
}

const Prediction& of(const PredictionState& state, const PredictionState::OfGpu& gpu) {
    return state.step ? gpu.step : gpu.frame;
}
bool is_changed(const WhatIf& c) {
    return c.gaussians > 0 || c.width > 0 || c.sh_degree >= 0 || c.batch > 0;
}

std::string change_text(const PredictedMs& now, const PredictedMs& then) {
    const double change = then.p50 / now.p50 - 1;
    if (!std::isfinite(change)) return predicted_ms(then.p50) + " ms";
    const double percent = std::round(100 * change);
    return fmt::format("{} ms ({}), {}", predicted_ms(then.p50), interval_text(then),
                       percent == 0 ? std::string("the same") : fmt::format("{:+.0f} %", percent));
}

/// A choice of numbers; the chosen one is given to `command`.
template <class List, class Words>
void number_choice(Commands& commands, const char* id, const std::string& now, const List& values,
                   const char* name, Words&& words, const char* hint) {
    ImGui::SetNextItemWidth(7.2F * em());
    if (ImGui::BeginCombo(id, now.c_str())) {
        for (const auto& value : values)
            if (ImGui::Selectable(words(value).c_str())) {
                std::vector<std::string> arguments{name};
                if constexpr (requires { value.size(); })
                    for (const int part : value) arguments.push_back(std::to_string(part));
                else
                    arguments.push_back(std::to_string(value));
                commands.push("predict.what-if", std::move(arguments));
            }
        ImGui::EndCombo();
    }
    tooltip(hint);
}

/// What steps with lidar beams are in the prediction; empty: it has none.
std::string beams_text(const PredictionState& state) {
    if (!state.step || state.beams_every <= 0) return {};
    if (state.beams_every == 1) return ", beams in each step";
    return fmt::format("; mean of {:.0f} steps, one with beams", state.beams_every);
}

/// Below the stages: of a frame, of a step, and the memory, and whether it fits.
TableCell whole_cell(const PredictionState& state, const PredictionState::OfGpu& gpu,
                     std::size_t below) {
    if (below < 2) {
        const PredictedMs& ms = (below == 1 ? gpu.step : gpu.frame).total;
        return {fmt::format("{}  ({} to {})", predicted_ms(ms.p50), predicted_ms(ms.p10),
                            predicted_ms(ms.p90)),
                Tone::normal,
                "Predicted: the first figure is the median; 8 of 10 times are between the other "
                "two"};
    }
    const std::string takes = format_bytes(of(state, gpu).memory_bytes);
    if (of(state, gpu).fits) return takes;
    return {takes + ": does not fit", Tone::warning,
            gpu.name + " has less memory than that. Use fewer Gaussians or smaller pictures"};
}

/// What a row is of: stages first.
TableCell predicted_name(const std::vector<PredictedStage>& stages, std::size_t i) {
    if (i == stages.size()) return "whole frame";
    if (i == stages.size() + 1) return "whole step";
    if (i > stages.size())
        return {"memory", Tone::normal,
                "Approximate size of the arrays of a frame, or of training with its state"};
    if (stages[i].counted) return name_of(stages[i].stage);
    return {"~ " + std::string(name_of(stages[i].stage)), Tone::normal,
            "not all of its work was counted: a guess"};
}

/// Stages, totals and memory on each GPU; where `measured`, beside this machine's measurement and
/// lower bound. The cells of GPUs are drawn.
Table predicted_table(const PredictionState& state, const StageCosts* measured) {
    const auto& stages = of(state, state.gpus[0]).stages;
    Table out{stages.size() + 3, {}};
    const auto name = [&](const std::size_t& i) { return predicted_name(stages, i); };
    out.columns.push_back({"", "predicted, ms", nullptr, name, 8.2F});
    const auto here = [&](const char* title, const char* hint, Tone tone, auto value) {
        const auto cell = [=, &stages](const std::size_t& i) -> TableCell {
            if (i >= stages.size()) return {};
            const StageCost* cost = cost_of(measured, stages[i].stage);
            if (!cost) return {NAN, tone};
            return {std::invoke(value, *cost), tone, hint + measured->machine};
        };
        out.columns.push_back({"", title, predicted_ms, cell, 3.6F});
    };
    if (measured) {
        here("here", "measured on ", Tone::normal, &StageCost::measured_ms);
        here("floor", "lower bound on ", Tone::dim,
             [](const StageCost& c) { return c.floor.floor_ms; });
    }
    const float room = ImGui::GetContentRegionAvail().x / em() - (measured ? 16.5F : 9);
    const float width = std::clamp(room / static_cast<float>(state.gpus.size()) - 1, 9.5F, 18.0F);
    for (const PredictionState::OfGpu& gpu : state.gpus)
        out.columns.push_back(
            {"", gpu.id, nullptr, [](const std::size_t&) { return TableCell(); }, width});
    return out;
}

/// A stage on a GPU; bars end at `most` ms.
void draw_stage(const PredictionState::OfGpu& gpu, const PredictedStage& stage, double most) {
    ImGui::BeginGroup();
    interval_cell(stage.ms, most, mix(stage_color(stage.stage), theme().panel, 0.25F));
    ImGui::EndGroup();
    if (ImGui::IsItemHovered()) prediction_tooltip(gpu, stage);
}

}  // namespace

void OtherGpus::draw_head(const PredictionState& state, Commands& commands) {
    if (ImGui::Button(state.counted ? "Count again" : "Count")) commands.push("predict.measure");
    tooltip("Render the current view again and count its work (predict.measure)");
    ImGui::SameLine();
    ImGui::SetNextItemWidth(9 * em());
    std::string chosen;
    for (const PredictionState::OfGpu& gpu : state.gpus)
        chosen += (chosen.empty() ? "" : ", ") + gpu.id;
    if (ImGui::BeginCombo("##gpus", chosen.c_str())) {
        for (const PredictionState::Choice& choice : state.choices) {
            if (!ImGui::Selectable(choice.name.c_str(), choice.chosen,
                                   ImGuiSelectableFlags_DontClosePopups))
                continue;
            std::string list;
            for (const PredictionState::OfGpu& gpu : state.gpus)
                if (gpu.id != choice.id) list += (list.empty() ? "" : ",") + gpu.id;
            if (!choice.chosen) list += (list.empty() ? "" : ",") + choice.id;
            if (!list.empty()) commands.push("predict.gpus", {list});
        }
        ImGui::EndCombo();
    }
    tooltip("GPUs to predict for (predict.gpus); the map shows the first");
    beside_if_fits("xx frame  xx step");
    if (ImGui::RadioButton("Frame", !state.step)) commands.push("predict.of", {"frame"});
    ImGui::SameLine();
    if (ImGui::RadioButton("Step", state.step)) commands.push("predict.of", {"step"});
    tooltip("A training step of the same view");
    beside_if_fits("map");
    toggle_command(commands, "Map", "predict.map", state.map,
                   "Colour the picture's tiles by their predicted blending time on the first GPU");
}

void OtherGpus::draw_what_if(const PredictionState& state, Commands& commands) {
    const double counted = state.as_drawn.gaussians;
    const double drawn = std::isfinite(counted) ? std::clamp(counted, 1.0, 1e9) : 1;
    const double now = state.change.gaussians > 0 ? state.change.gaussians : drawn;
    if (gaussians_ <= 0) gaussians_ = now;
    const double least = std::max(drawn / 100, 1.0), most = drawn * 100;
    ImGui::SetNextItemWidth(9 * em());
    drag_bar("##gaussians", gaussians_, least, most,
             (format_short(gaussians_) + " Gaussians").c_str(),
             ImGuiSliderFlags_Logarithmic | ImGuiSliderFlags_NoInput);
    tooltip("Number of Gaussians (predict.what-if gaussians N)");
    if (ImGui::IsItemDeactivatedAfterEdit())
        commands.push("predict.what-if", {"gaussians", fmt::format("{:.0f}", gaussians_)});
    else if (!ImGui::IsItemActive())
        gaussians_ = now;
    const auto size_text = [](const std::array<int, 2>& size) {
        return fmt::format("{} x {}", size[0], size[1]);
    };
    const bool sized = state.change.width > 0;
    beside_if_fits("3840 x 2160 x");
    number_choice(commands, "##size",
                  size_text(sized ? std::array{state.change.width, state.change.height}
                                  : std::array{state.camera.width, state.camera.height}),
                  kSizes, "size", size_text, "The picture's size (predict.what-if size W H)");
    beside_if_fits("SH degree 3  x");
    const auto degree_text = [](int degree) { return fmt::format("SH degree {}", degree); };
    number_choice(commands, "##degree", degree_text(state.work.sh_degree), std::array{0, 1, 2, 3},
                  "sh-degree", degree_text, "Degree of the colours (predict.what-if sh-degree D)");
    beside_if_fits("16 views xxx");
    const auto batch_text = [](int batch) {
        return fmt::format("{} view{}", batch, batch == 1 ? "" : "s");
    };
    number_choice(commands, "##batch", batch_text(state.batch), kBatches, "batch", batch_text,
                  "Views drawn at a time (predict.what-if batch N)");
    if (is_changed(state.change)) {
        beside_if_fits("As drawn");
        if (ImGui::Button("As drawn")) commands.push("predict.as-drawn");
        tooltip("Clear every what-if");
    }
}

void OtherGpus::draw_table(const PredictionState& state, const StageCosts* measured) const {
    if (measured != nullptr &&
        ((measured->sample == "iteration") != state.step || is_changed(state.change)))
        measured = nullptr;
    double most = 0;
    for (const PredictionState::OfGpu& gpu : state.gpus)
        for (const PredictedStage& stage : of(state, gpu).stages)
            if (std::isfinite(stage.ms.p90)) most = std::max(most, stage.ms.p90);
    const std::size_t stages = of(state, state.gpus[0]).stages.size();
    const float height = static_cast<float>(stages + 4) * 1.3F * em() + 0.5F * em();
    TableView view{.id = "##predicted",
                   .flags = ImGuiTableFlags_RowBg | ImGuiTableFlags_ScrollX,
                   .size = {0, std::max(height, 6 * em())},
                   .frozen = 1,
                   .tight = true};
    for (const PredictionState::OfGpu& gpu : state.gpus)
        view.draw.push_back({gpu.id, [&](std::size_t i) {
                                 if (i < stages)
                                     return draw_stage(gpu, of(state, gpu).stages[i], most);
                                 const TableCell cell = whole_cell(state, gpu, i - stages);
                                 colored_text(color_of(cell.tone), cell_text(cell, nullptr));
                                 tooltip(cell.hint);
                             }});
    gs::draw_table(predicted_table(state, measured), view);
}

void OtherGpus::draw_otherwise(const PredictionState& state) const {
    const PredictionState::OfGpu& gpu = state.gpus[0];
    const auto& stages = of(state, gpu).stages;
    const auto largest = std::max_element(
        stages.begin(), stages.end(),
        [](const PredictedStage& a, const PredictedStage& b) { return a.ms.p50 < b.ms.p50; });
    ImGui::PushTextWrapPos(0);
    text("What would change it on " + gpu.name + ", predicted");
    if (largest != stages.end())
        dim_text(fmt::format("{} takes most, {:.0f} %: {}", name_of(largest->stage),
                             100 * largest->ms.p50 / of(state, gpu).total.p50,
                             words_of(largest->bound_by)));
    for (const PredictionState::Otherwise& other : state.otherwise)
        dim_text(
            fmt::format("{}: {}", other.change,
                        change_text(of(state, gpu).total, state.step ? other.step : other.frame)));
    ImGui::PopTextWrapPos();
}

void OtherGpus::draw(const Snapshot& snapshot, Commands& commands) {
    if (!snapshot.prediction || !snapshot.prediction->counted) {
        if (ImGui::Button("Count")) commands.push("predict.measure");
        tooltip("Render the current view again and count its work");
        return empty_note(
            "Predict how long the current view and a training step would take on another GPU: "
            "press Count");
    }
    const PredictionState& state = *snapshot.prediction;
    draw_head(state, commands);
    draw_what_if(state, commands);
    const FrameWork& work = state.work;
    dim_text(fitted(
        fmt::format(
            "predicted for {}{}: {} Gaussians, {} visible, {} in the lists", state.from,
            state.training_step > 0 ? fmt::format(", step {}", state.training_step) : std::string(),
            format_short(work.gaussians), format_short(work.visible), format_short(work.isects)) +
            beams_text(state),
        ImGui::GetContentRegionAvail().x));
    if (state.gpus.empty()) return empty_note("Choose a GPU to predict for");
    draw_table(state, snapshot.costs.get());
    draw_otherwise(state);
}

}  // namespace gs
