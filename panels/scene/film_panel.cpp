#include "panels/scene/film_panel.h"

#include <fmt/format.h>
#include <imgui.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "base/format.h"
#include "panels/state/history_state.h"
#include "panels/widgets/activity.h"
#include "panels/widgets/widgets.h"

namespace gs {
namespace {

constexpr std::array<const char*, 2> kCodecs{"h264", "av1"};
constexpr double kRoom = 1.04;      // of the path's duration, on the timeline
constexpr double kDragRoom = 1.25;  // the same for keys that have times of their own

struct FilmSize {
    const char* name;
    int width, height;
};
constexpr std::array kFilmSizes{
    FilmSize{"1280 x 720", 1280, 720},   FilmSize{"1920 x 1080", 1920, 1080},
    FilmSize{"2560 x 1440", 2560, 1440}, FilmSize{"3840 x 2160", 3840, 2160},
    FilmSize{"1080 x 1920", 1080, 1920}, FilmSize{"1080 x 1080", 1080, 1080}};

/// The next item in this row, where it fits; else below.
void beside(float width) {
    ImGui::SameLine();
    if (ImGui::GetContentRegionAvail().x < width) ImGui::NewLine();
}

void draw_keys(const FilmState& film, const HistoryState* past, Commands& commands) {
    const bool way = film.film.path.keys.size() > 1;
    if (icon_button("##play", film.playing ? Icon::pause : Icon::play,
                    with_key(commands, "film.play", film.playing ? "Stop" : "Play").c_str(), way))
        commands.push("film.play");
    beside(5 * em());
    if (ImGui::Button("Add key")) commands.push("film.key");
    tooltip(with_key(commands, "film.key", "Add the current camera 2 s after the last key"));
    beside(5 * em());
    if (ImGui::Button("Insert") && way) commands.push("film.key", {"here"});
    tooltip("Add the current camera at the shown time");
    if (film.selected) {
        beside(5 * em());
        if (ImGui::Button("Update")) commands.push("film.update");
        tooltip(with_key(commands, "film.update", "Set the selected key to the current camera"));
        beside(5 * em());
        if (ImGui::Button("Delete")) commands.push("film.delete");
        tooltip("Delete the selected key");
    }
    if (const auto* edit = past ? past->to_undo(EditOf::camera_path) : nullptr) {
        beside(4 * em());
        if (ImGui::Button("Undo##film")) commands.push("film.undo");
        tooltip(edit_title("Undo", edit));
    }
    if (const auto* edit = past ? past->to_redo(EditOf::camera_path) : nullptr) {
        beside(4 * em());
        if (ImGui::Button("Redo##film")) commands.push("film.redo");
        tooltip(edit_title("Redo", edit));
    }
    beside(7 * em());
    ImGui::SetNextItemWidth(6.5F * em());
    if (ImGui::BeginCombo("##preset", "Presets")) {
        for (const char* name : kPathPresetNames)
            if (ImGui::Selectable(name)) commands.push("film.preset", {name});
        ImGui::EndCombo();
    }
    tooltip("Make a whole path around the target from the current camera");
}

void draw_manner(const FilmState& film, Commands& commands) {
    const CameraPath& path = film.film.path;
    choice_command(commands, "##speed", "film.speed", kPathSpeedNames,
                   static_cast<std::size_t>(path.speed), 5,
                   "even: constant speed; keys: reach each key at its time");
    beside(5 * em());
    toggle_command(commands, "Ease", "film.ease", path.ease, "Start and stop gently");
    beside(5 * em());
    toggle_command(commands, "Closed", "film.closed", path.closed,
                   "Continue from the last key back to the first");
    if (film.seconds > 0) {
        beside(7 * em());
        ImGui::SetNextItemWidth(5 * em());
        auto seconds = static_cast<float>(film.seconds);
        ImGui::InputFloat("##seconds", &seconds, 0, 0, "%.1f s");
        if (ImGui::IsItemDeactivatedAfterEdit())
            commands.push("film.seconds", {argument(static_cast<double>(seconds))});
        tooltip("Duration of the path; the keys' times scale with it");
    }
}

void draw_size(const Film& film, Commands& commands) {
    ImGui::SetNextItemWidth(7.5F * em());
    const std::string now = fmt::format("{} x {}", film.width, film.height);
    if (ImGui::BeginCombo("##size", now.c_str())) {
        for (const FilmSize& size : kFilmSizes)
            if (ImGui::Selectable(size.name, size.name == now))
                commands.push("film.size",
                              {std::to_string(size.width), std::to_string(size.height)});
        ImGui::EndCombo();
    }
    tooltip("Size of the film in pixels (any with film.size WIDTH HEIGHT)");
}

void draw_film(const Snapshot& snapshot, const FilmState& state, Commands& commands) {
    const Film& film = state.film;
    draw_size(film, commands);
    beside(5 * em());
    ImGui::SetNextItemWidth(4.5F * em());
    auto fps = static_cast<float>(film.fps);
    ImGui::InputFloat("##fps", &fps, 0, 0, "%g fps");
    if (ImGui::IsItemDeactivatedAfterEdit())
        commands.push("film.fps", {argument(static_cast<double>(fps))});
    tooltip("Frames per second");
    beside(5 * em());
    choice_command(commands, "##codec", "film.codec", kCodecs, state.codec == "av1" ? 1 : 0, 4.5F,
                   "h264 plays everywhere; av1 files are about half the size");
    beside(7 * em());
    ImGui::SetNextItemWidth(6.5F * em());
    int quality = state.quality;
    if (drag_bar("##quality", quality, 1, 100, "quality %.0f"))
        commands.push("film.quality", {std::to_string(quality)});
    tooltip("75 is visually close to lossless");
    beside(5 * em());
    if (ImGui::Button("Open…")) commands.push("browse", {"film.open"});
    tooltip("Open a path from gausscope or nerfstudio");
    if (film.path.keys.empty()) return;
    beside(5 * em());
    if (ImGui::Button("Save…")) commands.push("browse", {"film.save"});
    tooltip("Save the path to a file");
    if (find_activity(snapshot, "film")) return;
    beside(6 * em());
    if (icon_text_button(Icon::save, "Film…",
                         "Render the path, as the viewport shows the scene, into a video"))
        commands.push("browse", {"film.render"});
}

void draw_progress(const Snapshot& snapshot, Commands& commands) {
    const Activity* const film = find_activity(snapshot, "film");
    if (!film) return;
    const float button = 5 * em();
    ImGui::ProgressBar(
        static_cast<float>(film->share),
        {std::max(em(), ImGui::GetContentRegionAvail().x - button), 0},
        fitted(film->what, ImGui::GetContentRegionAvail().x - button - em()).c_str());
    ImGui::SameLine();
    if (ImGui::Button("Cancel##film")) commands.push("cancel", {"film"});
}

std::string words_of(const FilmState& film) {
    const auto& keys = film.film.path.keys;
    const std::size_t pictures = pictures_of(film.film.path, film.film.fps);
    std::string out =
        fmt::format("{} key{}, {:.1f} s, {} pictures", keys.size(), keys.size() == 1 ? "" : "s",
                    film.seconds, format_count(static_cast<double>(pictures)));
    if (film.selected)
        out += fmt::format("; key {}: {:.2f} s, {:.0f} deg", *film.selected + 1,
                           film.passes[*film.selected],
                           keys[*film.selected].pose.fov_y * 57.29577951308232);
    return out;
}

/// 1, 2 or 5 times a power of ten, so that ticks lie apart.
double tick_step(double seconds_per_pixel, float least_px) {
    const double least = std::max(seconds_per_pixel * static_cast<double>(least_px), 1e-3);
    const double ten = std::pow(10.0, std::floor(std::log10(least)));
    for (const double step : {ten, 2 * ten, 5 * ten})
        if (step >= least) return step;
    return 10 * ten;
}

}  // namespace

void FilmPanel::drag(const FilmState& film, double seconds, bool on_key, std::size_t key,
                     Commands& commands) {
    const bool timed = film.film.path.speed == PathSpeed::keys;
    if (ImGui::IsItemActivated()) {
        scrubs_ = !on_key;
        if (on_key) commands.push("film.go", {std::to_string(key + 1)});
        if (on_key && timed) dragged_ = Dragged{key, film.passes[key]};
    }
    if (ImGui::IsItemActive() && scrubs_)
        commands.push("film.at", {argument(std::clamp(seconds, 0.0, film.seconds))});
    if (ImGui::IsItemActive() && dragged_ && ImGui::IsMouseDragging(0))
        dragged_->seconds = std::max(0.0, seconds);
    if (!ImGui::IsItemDeactivated()) return;
    if (dragged_ && dragged_->key < film.passes.size() &&
        std::abs(dragged_->seconds - film.passes[dragged_->key]) > 1e-3)
        commands.push("film.move",
                      {std::to_string(dragged_->key + 1), argument(dragged_->seconds)});
    dragged_.reset();
    scrubs_ = false;
}

void FilmPanel::draw_timeline(const FilmState& film, Commands& commands) {
    const bool timed = film.film.path.speed == PathSpeed::keys;
    const float width = std::max(ImGui::GetContentRegionAvail().x, 4 * em()), height = 2.6F * em(),
                margin = 0.7F * em();
    const double span = std::max(film.seconds, 1.0) * (timed ? kDragRoom : kRoom);
    const ImVec2 corner = ImGui::GetCursorScreenPos();
    const double per_pixel = span / static_cast<double>(std::max(width - 2 * margin, 1.0F));
    const auto x_of = [&](double seconds) {
        return corner.x + margin + static_cast<float>(seconds / per_pixel);
    };
    ImGui::InvisibleButton("##path", {width, height});
    ImDrawList& list = *ImGui::GetWindowDrawList();
    list.AddRectFilled(corner, {corner.x + width, corner.y + height}, theme().field);
    list.PushClipRect(corner, {corner.x + width, corner.y + height}, true);
    const float axis = corner.y + 1.1F * em(), row = corner.y + 1.9F * em();
    const double step = tick_step(per_pixel, 4 * em());
    for (double t = 0; t <= span; t += step) {
        list.AddLine({x_of(t), axis - 0.25F * em()}, {x_of(t), axis}, theme().grid, hairline());
        list.AddText({x_of(t) + 2, corner.y}, theme().dim, fmt::format("{:g} s", t).c_str());
    }
    list.AddLine({x_of(0), row}, {x_of(film.seconds), row}, theme().dim, 2 * hairline());

    const float mouse = ImGui::GetIO().MousePos.x;
    std::size_t nearest = 0;
    float nearest_px = 0.7F * em();
    bool on_key = false;
    const float side = 0.42F * em();
    for (std::size_t i = 0; i < film.passes.size(); ++i) {
        const bool moves = dragged_ && dragged_->key == i;
        const float x = x_of(moves ? dragged_->seconds : film.passes[i]);
        if (ImGui::IsItemHovered() && std::abs(mouse - x) < nearest_px) {
            nearest = i, nearest_px = std::abs(mouse - x);
            on_key = true;
        }
        list.AddQuadFilled({x, row - side}, {x + side, row}, {x, row + side}, {x - side, row},
                           film.selected == i ? theme().accent : theme().text);
    }
    const float now = x_of(film.at);
    list.AddLine({now, corner.y}, {now, corner.y + height}, theme().warning, 2 * hairline());
    list.PopClipRect();
    if (ImGui::IsItemHovered() && !ImGui::IsItemActive())
        tooltip(on_key ? fmt::format("Key {} at {:.2f} s: click to go there{}", nearest + 1,
                                     film.passes[nearest],
                                     timed ? ", drag to move it in time"
                                           : "; with speed \"keys\", drag to move it")
                       : "Click or drag to go to this point of the path");
    drag(film, (static_cast<double>(mouse - corner.x - margin)) * per_pixel, on_key, nearest,
         commands);
}

void FilmPanel::draw(const Snapshot& snapshot, Commands& commands) {
    if (!snapshot.film) {
        dragged_.reset();
        return empty_note("Open a scene to make a camera path and a film.");
    }
    const FilmState& film = *snapshot.film;
    draw_keys(film, snapshot.history.get(), commands);
    if (film.film.path.keys.empty()) {
        dragged_.reset();
        return empty_note(
            "Press K to add a key at the current camera, or choose a preset for a whole path "
            "around the target.");
    }
    draw_timeline(film, commands);
    dim_text(fitted(words_of(film), ImGui::GetContentRegionAvail().x));
    draw_manner(film, commands);
    draw_film(snapshot, film, commands);
    draw_progress(snapshot, commands);
}

}  // namespace gs
