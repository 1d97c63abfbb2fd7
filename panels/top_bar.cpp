#include "panels/top_bar.h"

#include <imgui.h>

#include <algorithm>

#include "base/format.h"
#include "panels/widgets/theme.h"
#include "panels/widgets/widgets.h"

namespace gs {
namespace {

ImU32 state_color(RunState state) {
    switch (state) {
        case RunState::training:
            return theme().good;
        case RunState::paused:
        case RunState::loading:
            return theme().warning;
        case RunState::failed:
            return theme().error;
        default:
            return theme().dim;
    }
}

/// Draws "label value" with the label dim; returns its width.
float figure_width(const std::string& label, const std::string& value) {
    return ImGui::CalcTextSize(label.c_str()).x + ImGui::CalcTextSize(value.c_str()).x +
           0.35F * em();
}

struct Figure {
    std::string label, value, hint;
    int rank;  ///< the largest is left out first
};

/// " at 1,000" if that was steps ago.
std::string measured_at(const TrainingStatus& t) {
    if (t.test_step == t.step) return {};
    return " at " + format_count(static_cast<double>(t.test_step));
}

std::vector<Figure> figures_of(const Snapshot& snapshot) {
    const TrainingStatus& t = snapshot.training;
    std::vector<Figure> out;
    if (t.total_steps > 0 || t.followed) {
        const bool finished = t.step >= t.total_steps;
        if (!finished && t.eta_seconds > 0)
            out.push_back({"ETA", format_duration(t.eta_seconds),
                           "time left to the last step at the current speed", 3});
        if (t.step_ms > 0)
            out.push_back({"", format_ms(t.step_ms) + "/it", "mean of the last 50 iterations", 1});
        if (t.test_psnr > 0)
            out.push_back({"test", format_db(t.test_psnr) + measured_at(t),
                           "PSNR, mean over the test photos at the last evaluation", 0});
        else if (t.step > 0)  // "-" until a step has reported one
            out.push_back({"train", format_db(t.train_psnr),
                           "PSNR of the newest training photo; test photos not evaluated yet", 0});
    }
    if (snapshot.levels && snapshot.levels->drawn > 0) {
        const LevelsState& levels = *snapshot.levels;
        out.push_back({"Gaussians",
                       format_count(static_cast<double>(levels.drawn)) + " of " +
                           format_short(static_cast<double>(levels.stored())),
                       "Gaussians drawn from the levels of detail, and the number in the finest "
                       "level; the Scene panel shows more",
                       2});
        return out;
    }
    if (const std::uint64_t count = snapshot.gaussians(); count > 0)
        out.push_back(
            {"Gaussians", format_count(static_cast<double>(count)), "Gaussians in the model", 2});
    return out;
}

}  // namespace

float TopBar::height() const { return 1.9F * em() + 2; }

void TopBar::transport(const Snapshot& snapshot, Commands& commands, Palette& palette) {
    const RunState state = snapshot.training.state;
    const bool running = state == RunState::training;
    const bool can_run = snapshot.training.can_start();
    if (running) {
        if (icon_button("pause", Icon::pause, "Pause after this step"))
            commands.push("train.pause");
    } else if (icon_button("start", Icon::play, "Train", can_run, theme().good)) {
        commands.push("train.start");
    }
    ImGui::SameLine(0, 2);
    if (icon_button("step", Icon::step, "One step, then pause", can_run || running))
        commands.push("train.step");
    ImGui::SameLine(0, 2);
    if (icon_button("run-to", Icon::run_to, "Run to a step", can_run || running))
        palette.show("train.run-to");
}

void TopBar::figures(const Snapshot& snapshot, float end) {
    const TrainingStatus& t = snapshot.training;
    float x = ImGui::GetCursorScreenPos().x + 0.4F * em();
    const float y = ImGui::GetCursorScreenPos().y + ImGui::GetStyle().FramePadding.y;
    ImDrawList& list = *ImGui::GetWindowDrawList();
    const bool trains = !snapshot.nothing_to_train();
    if (trains) {
        const char* state = kRunStateNames[static_cast<std::size_t>(t.state)];
        list.AddText({x, y}, state_color(t.state), state);
        x += ImGui::CalcTextSize("training").x + 0.7F * em();
    }
    if (trains && (t.total_steps > 0 || t.followed) && x + 12 * em() < end) {
        std::string steps = "step " + format_count(static_cast<double>(t.step));
        if (t.total_steps > 0) steps += " / " + format_count(static_cast<double>(t.total_steps));
        const float width = std::max(11 * em(), ImGui::CalcTextSize(steps.c_str()).x + em());
        const double share = std::clamp(
            static_cast<double>(t.step) / std::max(1.0, static_cast<double>(t.total_steps)), 0.0,
            t.total_steps > 0 ? 1.0 : 0.0);
        const ImVec2 a{x, y - 0.12F * em()}, b{x + width, y + 1.2F * em()};
        list.AddRectFilled(a, b, theme().field, 3);
        list.AddRectFilled(a, {a.x + width * static_cast<float>(share), b.y}, color_rgb(0x2f5f8f),
                           3);
        list.AddText({x + (width - ImGui::CalcTextSize(steps.c_str()).x) / 2, y}, theme().text,
                     steps.c_str());
        x += width + em();
    }
    std::vector<Figure> all = figures_of(snapshot);
    const auto total = [&] {
        float sum = 0;
        for (const Figure& f : all) sum += figure_width(f.label, f.value) + 1.1F * em();
        return sum;
    };
    while (!all.empty() && x + total() > end)
        all.erase(std::ranges::max_element(all, {}, &Figure::rank));
    for (const Figure& f : all) {
        const float width = figure_width(f.label, f.value);
        list.AddText({x, y}, theme().dim, f.label.c_str());
        list.AddText(
            {x + (f.label.empty() ? 0 : ImGui::CalcTextSize(f.label.c_str()).x + 0.35F * em()), y},
            theme().text, f.value.c_str());
        if (ImGui::IsWindowHovered() &&
            ImGui::IsMouseHoveringRect({x, y}, {x + width, y + 1.2F * em()}))
            ImGui::SetTooltip("%s", f.hint.c_str());
        x += width + 1.1F * em();
    }
}

void TopBar::draw(const Snapshot& snapshot, Commands& commands, Palette& palette,
                  std::span<const PanelItem> panels) {
    const float width = ImGui::GetIO().DisplaySize.x;
    ImGui::SetNextWindowPos({0, 0});
    ImGui::SetNextWindowSize({width, height()});
    ImGui::PushStyleVar(ImGuiStyleVar_WindowPadding, {0.35F * em(), 0});
    ImGui::PushStyleVar(ImGuiStyleVar_FramePadding, {0.4F * em(), 0.3F * em()});
    ImGui::PushStyleColor(ImGuiCol_WindowBg, theme().window);
    ImGui::Begin("menu##top", nullptr,
                 ImGuiWindowFlags_NoDecoration | ImGuiWindowFlags_NoMove |
                     ImGuiWindowFlags_NoSavedSettings | ImGuiWindowFlags_NoBringToFrontOnFocus |
                     ImGuiWindowFlags_MenuBar);
    if (ImGui::BeginMenuBar()) {
        draw_menus(snapshot, commands, palette, panels);
        const float palette_width = 8.2F * em();
        if (snapshot.scene) {
            ImGui::SetCursorPosX(ImGui::GetCursorPosX() + 0.4F * em());
            ImGui::PushStyleColor(ImGuiCol_Text, theme().accent);
            text(fitted(snapshot.scene->name, 9 * em()));
            ImGui::PopStyleColor();
            tooltip(snapshot.scene->path);
        }
        if (!snapshot.nothing_open()) {
            if (ImGui::GetCursorPosX() + 8 * em() < width - palette_width) {
                ImGui::SetCursorPosX(ImGui::GetCursorPosX() + 0.3F * em());
                if (snapshot.nothing_to_train())
                    dim_text("no photos to train on");
                else
                    transport(snapshot, commands, palette);
                figures(snapshot, width - palette_width - 0.5F * em());
            }
        }
        if (width > 24 * em()) {
            ImGui::SetCursorPosX(width - palette_width);
            if (icon_text_button(Icon::search, "Commands", "Find and run any command (Ctrl+P)"))
                palette.show();
        }
        ImGui::EndMenuBar();
    }
    ImGui::End();
    ImGui::PopStyleColor();
    ImGui::PopStyleVar(2);
}

}  // namespace gs
