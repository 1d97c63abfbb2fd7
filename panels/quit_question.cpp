#include "panels/quit_question.h"

#include <imgui.h>

#include "panels/widgets/activity.h"
#include "panels/widgets/keys.h"
#include "panels/widgets/theme.h"
#include "panels/widgets/widgets.h"

namespace gs {

namespace {

constexpr double kWritingBegins = 2;  // seconds in which an export or a checkpoint begins

struct Words {
    const char *what, *save, *file, *browse;  ///< the last two: writing it into another file
    const char* leave = "Discard";
};
Words words_of(LeaveQuestion::Of of) {
    switch (of) {
        case LeaveQuestion::Of::writing:
            return {"This is still being written:", nullptr, nullptr, nullptr, "Stop and leave"};
        case LeaveQuestion::Of::splats:
            return {"You have unsaved edits:", nullptr, "Export…", "export"};
        case LeaveQuestion::Of::edited_run:
            return {"This run has unsaved edits:", "Save", nullptr, nullptr};
        case LeaveQuestion::Of::unsaved_run:
            break;
    }
    return {"The run could not be saved:", "Try again", "Save elsewhere…", "train.checkpoint"};
}

bool answer_button(const char* label, bool usual = false) {
    const bool pressed = usual ? default_button(label) : other_button(label);
    ImGui::SameLine();
    return pressed;
}

}  // namespace

void QuitQuestion::draw(const Snapshot& snapshot, Commands& commands, bool dialog) {
    constexpr const char* kTitle = "Not saved##quit";
    const auto& question = snapshot.asks_to_leave;
    if (!question) writing_ = 0;
    const bool written = question && question->of == LeaveQuestion::Of::splats
                             ? snapshot.selection && !snapshot.selection->unsaved
                             : snapshot.training.last_checkpoint != before_;
    if (writing_ > 0 && written) {
        writing_ = 0;
        return commands.push("quit", {"now"});
    }
    if (writing_ > 0 && (dialog || find_activity(snapshot, "export")))
        writing_ = ImGui::GetTime() + kWritingBegins;
    const bool asks = question && ImGui::GetTime() >= writing_;
    if (asks && !ImGui::IsPopupOpen(kTitle)) ImGui::OpenPopup(kTitle);
    const ImVec2 display = ImGui::GetIO().DisplaySize;
    ImGui::SetNextWindowPos({display.x / 2, display.y / 2}, ImGuiCond_Always, {0.5F, 0.5F});
    if (!ImGui::BeginPopupModal(kTitle, nullptr,
                                ImGuiWindowFlags_AlwaysAutoResize | ImGuiWindowFlags_NoMove))
        return;
    if (!asks) ImGui::CloseCurrentPopup();
    const Words words = words_of(question ? question->of : LeaveQuestion::Of::splats);
    text(words.what);
    if (question)
        for (const std::string& line : question->lines) dim_text("  " + line);
    ImGui::Dummy({0, 0.4F * em()});
    if (words.save && answer_button(words.save, true)) commands.push("quit", {"save"});
    if (words.file && answer_button(words.file, !words.save)) {
        writing_ = ImGui::GetTime() + kWritingBegins;
        before_ = snapshot.training.last_checkpoint;
        ImGui::CloseCurrentPopup();
        commands.push("browse", {words.browse});
    }
    if (answer_button(words.leave)) commands.push("quit", {"now"});
    if (other_button("Cancel") || escape_leaves()) commands.push("quit", {"stay"});
    ImGui::EndPopup();
}

}  // namespace gs
