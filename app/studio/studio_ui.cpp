#include "app/studio/studio_ui.h"

#include <imgui.h>
#include <imgui/backends/imgui_impl_opengl3.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>

#include "app/studio/file_types.h"
#include "app/studio/panel_pictures.h"
#include "base/assets.h"
#include "base/check.h"
#include "base/log.h"
#include "base/machine.h"
#include "base/record/scope.h"
#include "base/seconds.h"
#include "panels/scene/contact_sheet_panel.h"
#include "panels/scene/notes_panel.h"
#include "panels/scene/pixel_panel.h"
#include "panels/state/inspection.h"
#include "panels/timeline/timeline_panel.h"
#include "panels/trace/memory_panel.h"
#include "panels/viewport/frusta.h"
#include "panels/viewport/viewport.h"
#include "panels/widgets/keys.h"
#include "panels/widgets/theme.h"
#include "panels/widgets/widgets.h"
#include "panels/workspace.h"
#include "profiler/collect/client.h"
#include "profiler/collect/trainer_link.h"
#include "renderer/present/texture.h"

namespace gs {
namespace {

using Clock = std::chrono::steady_clock;
constexpr double kMachineInterval =
    1.0;                             // seconds between looks at memory and at stages against limits
constexpr double kRateMemory = 0.9;  // of the frame rate's running mean

/// Processes that can be attached to, layouts and panels that there are.
std::vector<Suggestion> suggestions(const Workspace& workspace, const std::string& command) {
    std::vector<Suggestion> out;
    if (command == "trace.attach")
        for (const service::Producer& producer : service::find_producers()) {
            if (producer.pid == static_cast<std::uint32_t>(::getpid())) continue;
            if (const auto connection = service::Connection::open(producer))
                out.push_back(
                    {std::to_string(producer.pid),
                     fmt::format("{}  {}", connection->card().text, connection->labels().command)});
        }
    if (command == "trace.attach")
        for (const std::uint32_t pid : service::TrainerLink::list())
            out.push_back(
                {std::to_string(pid), "training  " + service::Connection::labels_of(pid).command});
    if (command == "panel" || command == "panel.maximise")
        for (const std::string& name : workspace.panel_names()) out.push_back({name, ""});
    if (command == "layout")
        for (const std::string& path : assets_in("layouts"))
            out.push_back({fs::path(path).stem().string(), ""});
    if (command == "keys")
        for (const std::string& path : assets_in("keys"))
            out.push_back({fs::path(path).stem().string(), ""});
    return out;
}

/// Asks before opening a capture by hand; scripts open it directly.
std::string asked_first(const std::string& name, const Arguments& arguments) {
    return name == "open" && arguments.size() == 1 ? "import" : name;
}

/// The photo or second scene that the viewport may show instead of or beside the picture.
const Image8& second_picture(const ViewFrame& frame) {
    return frame.other ? frame.other->rgba : frame.photo;
}

}  // namespace

struct StudioUi::Parts {
    Window& window;
    const CommandTable& table;
    const Preferences& preferences;
    Commands commands;
    const StudioMachine& machine;
    Workspace workspace;
    Snapshot snapshot;
    PresentPath present_path{machine.make_interop};
    PresentTexture picture{&present_path}, second;
    PanelTextures panel_pictures;
    std::uint64_t picture_serial = 0;
    std::string picture_problem;  // said once, not with every frame
    ImGuiContext* context = nullptr;
    double scale = 0, last_seconds = 0, mean_seconds = 0, mean_interval = 0;
    Clock::time_point begin = Clock::now(), last_begin{}, last_machine{};
    bool steering = false;
    bool remeasure = false;  // a tooltip has changed

    Parts(Window& w, const CommandTable& t, const Preferences& p, const StudioMachine& m)
        : window(w), table(t), preferences(p), commands(t.infos()), machine(m) {}
};

StudioUi::StudioUi(Window& window, const CommandTable& table, const Preferences& preferences,
                   const StudioMachine& machine)
    : parts_(std::make_unique<Parts>(window, table, preferences, machine)) {
    IMGUI_CHECKVERSION();
    parts_->context = ImGui::CreateContext();
    ImGuiIO& io = ImGui::GetIO();
    io.IniFilename = nullptr;  // the workspace's layout is kept by preferences.cpp
    io.ConfigWindowsMoveFromTitleBarOnly = true;
    window.attach_imgui();
    follow_scale();
    if (preferences.layout.empty())
        parts_->workspace.reset_layout();
    else
        parts_->workspace.load_layout(preferences.layout);
    parts_->workspace.file_dialog.folders = preferences.folders;
    parts_->workspace.palette.suggest = [this](const std::string& command) {
        return suggestions(parts_->workspace, command);
    };
    parts_->snapshot.device = machine.device.empty() ? processor_name() : machine.device;
    parts_->snapshot.file_types = file_types();
    parts_->snapshot.pictures = &parts_->panel_pictures;
    parts_->snapshot.machine_bytes = available_machine_bytes();
}

StudioUi::~StudioUi() {
    parts_->picture.release();
    parts_->second.release();
    parts_->panel_pictures.release();
    parts_->window.detach_imgui();
    ImGui::DestroyContext(parts_->context);
}

/// Fonts and metrics for the scale of display and user; rebuilt when it changes.
void StudioUi::follow_scale() {
    const double scale = parts_->window.content_scale() * parts_->preferences.interface_scale;
    if (std::abs(scale - parts_->scale) < 0.01) return;
    const bool first = parts_->scale == 0;
    parts_->scale = scale;
    if (!first) {
        ImGui_ImplOpenGL3_DestroyFontsTexture();
        ImGui::GetIO().Fonts->Clear();
    }
    load_fonts(scale);
    apply_theme(scale);
    if (!first) ImGui_ImplOpenGL3_CreateFontsTexture();
}

void StudioUi::upload(const StudioState& state) {
    if (!state.frame) {
        parts_->picture.release();
        parts_->second.release();
        parts_->picture_serial = 0;
        return;
    }
    if (state.frame->serial == parts_->picture_serial) return;
    const Span span(Stage::ui_present, state.frame->serial);
    if (state.frame->picture) {
        const auto shown = parts_->picture.show(*state.frame->picture);
        const std::string problem = shown ? std::string() : shown.error().text();
        if (!problem.empty() && problem != parts_->picture_problem) log_error("{}", problem);
        parts_->picture_problem = problem;
    } else {
        parts_->picture.upload(state.frame->rgba);
    }
    parts_->second.upload(second_picture(*state.frame));
    parts_->picture_serial = state.frame->serial;
}

/// Memory and stage costs, about once a second.
void StudioUi::follow_machine(const StudioState& state, const TraceStore& trace) {
    if (seconds_since(parts_->last_machine) <= kMachineInterval) return;
    parts_->last_machine = Clock::now();
    Snapshot& s = parts_->snapshot;
    const StudioMachine& machine = parts_->machine;
    s.process_bytes = resident_bytes();
    s.process_peak_bytes = peak_resident_bytes();
    if (machine.memory) s.device_memory = machine.memory();
    s.memory_history.add({seconds_since(parts_->begin), host_memory_known(s), s.process_bytes,
                          s.device_memory ? s.device_memory->held_bytes : 0});
    s.costs.reset();
    if (!state.limits || !machine.costs) return;
    const bool training = state.status.step_cost.width > 0;
    const FrameCost& work = training ? state.status.step_cost : state.status.frame_cost;
    if (work.width == 0) return;
    const StatScope scope = training ? StatScope::iteration : StatScope::view_frame;
    const auto times = state.limits->cuda ? trace.frames().gpu_statistics(scope)
                                          : trace.frames().statistics(scope);
    s.costs =
        std::make_shared<const StageCosts>(machine.costs(times, work, *state.limits, training));
}

/// The colour under the mouse, which panels cannot find out when the picture is in device memory.
void StudioUi::read_pixel(const StudioState& state) {
    PixelColor& pixel = parts_->snapshot.frame_pixel;
    pixel = {};
    const auto at = parts_->workspace.panel<Viewport>().pixel();
    if (!at || !state.frame || !state.frame->picture || !state.view.overlays) return;
    if (parts_->picture.read_pixel(at->first, at->second, pixel.rgba))
        pixel.x = at->first, pixel.y = at->second;
}

void StudioUi::fill_snapshot(StudioState& state, const TraceStore& trace,
                             const TraceLibrary& traces, std::span<const std::string> recent) {
    Snapshot& s = parts_->snapshot;
    static_cast<SessionView&>(s) = state;
    if (s.inspection) {
        PixelInspection shown = *s.inspection;
        shown.marked = state.inspected_row();
        shown.pointed = parts_->workspace.panel<PixelPanel>().pointed;
        s.inspection = std::make_shared<const PixelInspection>(std::move(shown));
    }
    s.view = state.view;
    s.film = state.scene ? state.film.state() : nullptr;
    s.sheet_settings = state.sheet_settings;
    s.tools = state.tools;
    s.problems_settings = state.problems_settings;
    s.notices.clear();
    for (const TimedNotice& n : state.notices) s.notices.push_back(n.notice);
    s.asks_to_leave = state.asks_to_leave;
    s.import = state.import ? state.import->state(state.step_speed) : nullptr;
    s.full_screen = parts_->window.full_screen();
    s.picture_only = parts_->workspace.picture_only;
    s.camera = camera_of(state.navigation, state.width, state.height);
    s.up = state.navigation.up;
    s.fov_y = state.navigation.fov_y;
    s.trace = &trace;
    s.traces = traces.entries();
    s.shown_trace = traces.shown();
    s.recent.assign(recent.begin(), recent.end());
    s.measured = state.measured;
    s.saved_views.clear();
    for (const SavedView& view : state.saved_views) s.saved_views.push_back(view.name);
    s.notes = state.notes.state();
    s.ui_fps = parts_->mean_interval > 0 ? 1.0 / parts_->mean_interval : 0.0;
    s.ui_ms = parts_->mean_seconds * 1000;
    s.dropped_records = trace.sources().loss().total();
    s.frame_texture = parts_->picture.gl_name();
    s.second_texture = parts_->second.gl_name();
    s.present_path = parts_->present_path.description();
    s.ui_scale = parts_->scale;
    read_pixel(state);
    follow_machine(state, trace);
}

/// Turns what the viewport gathered into the camera of the next request.
void StudioUi::steer(StudioState& state) {
    Viewport& viewport = parts_->workspace.panel<Viewport>();
    if (viewport.width() > 0 && viewport.height() > 0) {
        state.width = viewport.width();
        state.height = viewport.height();
    }
    state.hovered_camera = viewport.hovered() ? viewport.hovered_camera() : std::nullopt;
    state.hovered_pixel = viewport.hovered() ? viewport.pixel() : std::nullopt;
    const NavigationInput& input = viewport.input();
    parts_->steering = input.any();
    if (!parts_->steering) return;
    state.film.play(false);
    state.navigation = navigate(state.navigation, input);
    if (!state.navigation.snapped) state.view.capture_view = -1;
}

void StudioUi::frame(StudioState& state, const TraceStore& trace, const TraceLibrary& traces,
                     std::span<const std::string> recent, const KeyLayout& keys,
                     const TakeKey& take) {
    const Clock::time_point begin = Clock::now();
    const double interval =
        std::min(1.0, std::chrono::duration<double>(begin - parts_->last_begin).count());
    parts_->mean_interval = kRateMemory * parts_->mean_interval + (1 - kRateMemory) * interval;
    parts_->last_begin = begin;

    upload(state);
    parts_->panel_pictures.begin_frame();
    parts_->workspace.panel<ContactSheetPanel>().seen.clear();
    parts_->window.new_frame(take);
    follow_scale();
    ImGui::NewFrame();
    fill_snapshot(state, trace, traces, recent);
    parts_->snapshot.flying_keys = keys.flying;
    parts_->workspace.panel<PixelPanel>().pointed.reset();
    {
        const Span span(Stage::ui_panels);
        parts_->workspace.draw(parts_->snapshot, parts_->commands);
    }
    ImGui::Render();
    parts_->remeasure = tooltip_changed();
    parts_->window.show(ImGui::GetDrawData());
    parts_->last_seconds = seconds_since(begin);
    parts_->mean_seconds =
        kRateMemory * parts_->mean_seconds + (1 - kRateMemory) * parts_->last_seconds;

    steer(state);
    for (const auto& [name, arguments] : parts_->commands.take())
        parts_->table.give(state, asked_first(name, arguments), arguments);
}

bool StudioUi::wants_next_frame() const {
    // The list of regions appears while Ctrl stays held after Ctrl+Tab.
    const bool chooses = ImGui::GetIO().NavVisible && ImGui::GetIO().KeyCtrl;
    return parts_->steering || parts_->workspace.panel<Viewport>().steering() ||
           parts_->workspace.busy() || parts_->panel_pictures.reading() || chooses ||
           parts_->remeasure;
}
bool StudioUi::working() const {
    return parts_->workspace.working() || parts_->panel_pictures.reading();
}
bool StudioUi::viewport_visible() const { return parts_->workspace.panel<Viewport>().drawn(); }
SheetRequest StudioUi::wanted_sheet() const {
    const Snapshot& s = parts_->snapshot;
    SheetRequest out{.views = parts_->workspace.panel<ContactSheetPanel>().seen};
    out.renders = !out.views.empty();
    if (s.view.frusta && s.view.frusta_photos && viewport_visible() && s.cameras) {
        const auto nearest = nearest_cameras(s.camera, *s.cameras, kMostFrustaPhotos);
        out.views.insert(out.views.end(), nearest.begin(), nearest.end());
    }
    std::sort(out.views.begin(), out.views.end());
    out.views.erase(std::unique(out.views.begin(), out.views.end()), out.views.end());
    const double width = std::clamp(s.sheet_settings.width * s.ui_scale, 16.0, 1024.0);
    if (!out.views.empty()) out.width = static_cast<int>(std::lround(width));
    return out;
}
bool StudioUi::typing() const { return ImGui::GetIO().WantTextInput; }
double StudioUi::last_frame_seconds() const { return parts_->last_seconds; }

Result<void> StudioUi::show_panel(const std::string& name, bool hide) {
    if (parts_->workspace.show_panel(name, hide)) return {};
    std::string names;
    for (const std::string& known : parts_->workspace.panel_names())
        names += (names.empty() ? "" : ", ") + known;
    return fail(ErrorKind::usage, "", fmt::format("there is no panel \"{}\"", name),
                "panels: " + names);
}
Result<void> StudioUi::maximise(const std::string& name) {
    Workspace& workspace = parts_->workspace;
    const auto region = workspace.region_of(name);
    if (!name.empty() && !region)
        return fail(ErrorKind::usage, "", fmt::format("panel \"{}\" is not shown", name));
    if (!name.empty()) workspace.show_panel(name);
    const bool restores = workspace.maximised && (name.empty() || workspace.maximised == region);
    workspace.maximised = restores ? std::nullopt : region;
    return {};
}
void StudioUi::show_picture_only(std::optional<bool> on) {
    parts_->workspace.picture_only = on.value_or(!parts_->workspace.picture_only);
}
Workspace& StudioUi::workspace() { return parts_->workspace; }
InputQueue& StudioUi::input() { return parts_->window.input(); }
void StudioUi::full_screen(std::optional<bool> on) {
    parts_->window.set_full_screen(on.value_or(!parts_->window.full_screen()));
}
Result<void> StudioUi::begin_note() {
    const Snapshot& s = parts_->snapshot;
    if (!s.frame) return fail(ErrorKind::usage, "", "there is no picture yet");
    const Camera& camera = s.frame->camera;
    const auto pixel = parts_->workspace.panel<Viewport>().pixel();
    parts_->workspace.panel<NotesPanel>().begin(
        pixel.value_or(std::pair(camera.width / 2, camera.height / 2)));
    return show_panel("Notes", false);
}
std::optional<Note> StudioUi::selected_stretch(const TraceStore& trace) const {
    Note note;
    note.on = NoteOn::span;
    if (const auto& selected = parts_->workspace.panel<TimelinePanel>().selected()) {
        note.begin_ns = selected->span.begin_ns, note.end_ns = selected->span.end_ns;
        const auto& tracks = trace.tracks();
        note.span = std::string(trace.name(selected->span.name));
        if (selected->track < tracks.size()) note.span += " on " + tracks[selected->track].name;
        return note;
    }
    const auto& stretch = parts_->workspace.trace_view.selection;
    if (!stretch) return std::nullopt;
    note.begin_ns = stretch->begin_ns, note.end_ns = stretch->end_ns;
    note.span = format_ns(static_cast<double>(stretch->end_ns - stretch->begin_ns)) + " of a trace";
    return note;
}
bool StudioUi::takes_key(const KeyPress& key, const std::string& chord,
                         std::string_view command) const {
    Workspace& workspace = parts_->workspace;
    if (command == "help") return false;
    const bool dialog = asks(workspace, parts_->snapshot);
    if (command == "palette" && typing() && !dialog) return false;
    if (keyboard_takes(chord, dialog)) return true;
    TimelinePanel& timeline = workspace.panel<TimelinePanel>();
    // Where the layout has another letter at these places, the hand that flies means none.
    const bool flies = chord.size() == 1 && key.place.size() == 1 &&
                       kFlyingPlaces.find(key.place) != std::string_view::npos;
    return timeline.takes_key(chord) ||
           (flies && (workspace.panel<Viewport>().hovered() || timeline.takes_key(key.place)));
}

Image8 StudioUi::window_picture() const {
    ImDrawData* data = ImGui::GetDrawData();
    CHECK(data, "a picture of the window before its first frame");
    const int width = static_cast<int>(data->DisplaySize.x * data->FramebufferScale.x);
    const int height = static_cast<int>(data->DisplaySize.y * data->FramebufferScale.y);
    return picture_of(data, std::max(1, width), std::max(1, height));
}

Image8 StudioUi::overlay_picture(const ViewFrame& frame, const ViewSettings& view) {
    // A context of its own, with the same fonts: the panels' state is not touched by a frame of
    // another size.
    PresentTexture picture, second;
    picture.upload(frame.rgba);
    second.upload(second_picture(frame));
    Snapshot snapshot = parts_->snapshot;
    snapshot.frame = std::make_shared<const ViewFrame>(frame);
    snapshot.camera = frame.camera;
    snapshot.view = view;
    snapshot.frame_texture = picture.gl_name();
    snapshot.second_texture = second.gl_name();
    const int width = pictures_width(view, frame.rgba.width), height = frame.rgba.height;
    const ImGuiBackendFlags backend = ImGui::GetIO().BackendFlags;  // sweeps have many vertices
    ImGuiContext* context = ImGui::CreateContext(ImGui::GetIO().Fonts);
    ImGui::SetCurrentContext(context);
    ImGuiIO& io = ImGui::GetIO();
    io.BackendFlags = backend;
    io.IniFilename = nullptr;
    io.DisplaySize = ImVec2(static_cast<float>(width), static_cast<float>(height));
    io.DeltaTime = 1.0f / 60;
    apply_theme(parts_->scale);
    // Texts and lines as large, against the picture, as the viewport shows them; never smaller.
    const int shown = parts_->workspace.panel<Viewport>().height();
    if (shown > 0)
        io.FontGlobalScale = std::max(1.0F, static_cast<float>(height) / static_cast<float>(shown));
    Viewport viewport;
    for (int i = 0; i < 2; ++i) {  // sizes settle in the second frame
        ImGui::NewFrame();
        viewport.draw_picture(snapshot, width, height);
        ImGui::Render();
    }
    ImDrawData* data = ImGui::GetDrawData();
    ImGui::SetCurrentContext(parts_->context);
    const Image8 out = picture_of(data, width, height);
    ImGui::DestroyContext(context);
    return out;
}

}  // namespace gs
