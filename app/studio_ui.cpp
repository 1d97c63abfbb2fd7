#include "app/studio_ui.h"

#include <imgui.h>

#include <chrono>

#include "profiler/core/scope.h"
#include "renderer/present/texture.h"

namespace gs {

struct StudioUi::Parts {
    Window& window;
    Commands commands;
    const CommandTable& table;
    PresentTexture picture, photo;
    std::uint64_t picture_serial = 0;
    double last_seconds = 0;
};

StudioUi::StudioUi(Window& window, const CommandTable& table, const Preferences&) {
    IMGUI_CHECKVERSION();
    ImGui::CreateContext();
    ImGui::GetIO().IniFilename = nullptr;
    window.attach_imgui();
    parts_.reset(new Parts{window, Commands(table.infos()), table, {}, {}, 0, 0});
}

StudioUi::~StudioUi() {
    parts_->picture.release();
    parts_->photo.release();
    parts_->window.detach_imgui();
    ImGui::DestroyContext();
}

void StudioUi::frame(StudioState& state, const TraceStore&, std::span<const std::string>) {
    Parts& p = *parts_;
    const auto begin = std::chrono::steady_clock::now();
    if (state.frame && state.frame->serial != p.picture_serial) {
        const Span span(Stage::ui_present);
        p.picture.upload(state.frame->rgba);
        p.picture_serial = state.frame->serial;
    }
    p.window.new_frame();
    ImGui::NewFrame();
    ImGui::SetNextWindowPos({0, 0});
    ImGui::SetNextWindowSize(ImGui::GetIO().DisplaySize);
    ImGui::Begin("viewport", nullptr, ImGuiWindowFlags_NoDecoration);
    ImGui::Text("%s step %llu", kRunStateNames[(size_t)state.status.training.state],
                (unsigned long long)state.status.training.step);
    const ImVec2 room = ImGui::GetContentRegionAvail();
    state.width = std::max(1, (int)room.x);
    state.height = std::max(1, (int)room.y);
    if (p.picture.gl_name()) ImGui::Image((ImTextureID)(intptr_t)p.picture.gl_name(), room);
    ImGui::End();
    ImGui::Render();
    p.window.show(ImGui::GetDrawData());
    p.last_seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    for (const auto& [name, arguments] : p.commands.take()) (void)p.table.run(state, name, arguments);
}

bool StudioUi::wants_next_frame() const { return false; }
bool StudioUi::typing() const { return ImGui::GetIO().WantTextInput; }
Result<void> StudioUi::show_panel(const std::string&, bool) { return {}; }
void StudioUi::show_palette() {}
void StudioUi::reset_layout() {}
std::string StudioUi::layout() const { return {}; }
Image8 StudioUi::window_picture() const {
    ImDrawData* data = ImGui::GetDrawData();
    return picture_of(data, (int)data->DisplaySize.x, (int)data->DisplaySize.y);
}
Image8 StudioUi::overlay_picture(const StudioState&, const ViewFrame& frame) { return frame.rgba; }
double StudioUi::last_frame_seconds() const { return parts_->last_seconds; }

}  // namespace gs
