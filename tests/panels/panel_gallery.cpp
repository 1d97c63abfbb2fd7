// Shows the whole workspace with a made-up Snapshot, in a window or as a picture: for looking at
// panels without an engine. panel_gallery [MODE] [--empty] [--gpu] [--traces: two foreign trainers'
// traces in the middle] [--many N: a trace of N spans instead] [--select: a stretch of it] [--find
// NAME] [--size W H] [--scale S] [--palette] [--panel NAME] [--seconds S]
// [--mouse X Y] [--click X Y] [--png FILE: without a display, through EGL]
#include <backends/imgui_impl_opengl3.h>
#include <glad/gl.h>
#include <imgui.h>

#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <string>

#include "app/window/window.h"
#include "base/log.h"
#include "panels/trace/compare_panel.h"
#include "panels/widgets/theme.h"
#include "panels/workspace.h"
#include "renderer/io/images/image_io.h"
#include "tests/panels/fake_snapshot.h"
#include "tests/panels/fake_trainer.h"

namespace {

struct Options {
    int width = 1600, height = 1000;
    double scale = 1, seconds = 1e9;
    bool empty = false, palette = false, gpu = false, traces = false, select = false;
    std::size_t many = 0;
    std::string find;
    gs::ViewMode mode = gs::ViewMode::color;
    gs::Compare compare = gs::Compare::off;
    std::vector<std::string> panels;
    std::vector<ImVec2> clicks;
    ImVec2 mouse{-1, -1};
    std::string png;
};

Options parse(int count, char** words) {
    Options o;
    for (int i = 1; i < count; ++i) {
        const std::string word = words[i];
        const auto next = [&] { return i + 1 < count ? words[++i] : words[i]; };
        const auto place = [&] {
            const auto x = static_cast<float>(std::atof(next()));
            return ImVec2(x, static_cast<float>(std::atof(next())));
        };
        if (word == "--empty")
            o.empty = true;
        else if (word == "--gpu")
            o.gpu = true;
        else if (word == "--traces")
            o.traces = true;
        else if (word == "--many")
            o.traces = true, o.many = static_cast<std::size_t>(std::atof(next()));
        else if (word == "--select")
            o.select = true;
        else if (word == "--find")
            o.find = next();
        else if (word == "--palette")
            o.palette = true;
        else if (word == "--size")
            o.width = std::atoi(next()), o.height = std::atoi(next());
        else if (word == "--scale")
            o.scale = std::atof(next());
        else if (word == "--seconds")
            o.seconds = std::atof(next());
        else if (word == "--panel")
            o.panels.emplace_back(next());
        else if (word == "--mouse")
            o.mouse = place();
        else if (word == "--click")
            o.clicks.push_back(place());
        else if (word == "--png")
            o.png = next();
        else if (word == "--beside")
            o.compare = gs::Compare::beside;
        else if (word == "--split")
            o.compare = gs::Compare::split;
        else
            for (std::size_t k = 0; k < gs::kViewModeNames.size(); ++k)
                if (word == gs::kViewModeNames[k]) o.mode = static_cast<gs::ViewMode>(k);
    }
    return o;
}

GLuint upload(const gs::Image8& image) {
    GLuint name = 0;
    glGenTextures(1, &name);
    glBindTexture(GL_TEXTURE_2D, name);
    glTexParameteri(GL_TEXTURE_2D, GL_TEXTURE_MIN_FILTER, GL_LINEAR);
    glTexParameteri(GL_TEXTURE_2D, GL_TEXTURE_MAG_FILTER, GL_LINEAR);
    glTexImage2D(GL_TEXTURE_2D, 0, GL_RGBA, image.width, image.height, 0, GL_RGBA, GL_UNSIGNED_BYTE,
                 image.bytes.data());
    return name;
}

gs::Snapshot made_up(const gs::TraceStore& store, const Options& options) {
    gs::Snapshot snapshot = gs::test::fake_snapshot(store, options.mode);
    if (options.gpu) gs::test::put_on_gpu(snapshot);
    snapshot.view.compare = options.compare;
    snapshot.frame_texture = upload(snapshot.frame->rgba);
    if (options.compare != gs::Compare::off)
        snapshot.second_texture =
            upload(gs::test::fake_snapshot(store, gs::ViewMode::color).frame->rgba);
    if (!options.empty) return snapshot;
    gs::Snapshot nothing;
    nothing.recent = snapshot.recent;
    nothing.backend = snapshot.backend;
    nothing.device = snapshot.device;
    return nothing;
}

class Gallery {
  public:
    Gallery(gs::Window& window, const Options& options) : window_(window), options_(options) {
        std::timespec now{};
        clock_gettime(CLOCK_MONOTONIC, &now);
        gs::test::fill_store(store_, 400, now.tv_sec * 1'000'000'000LL, options.gpu);
        snapshot_ = made_up(store_, options);
        workspace_.reset_layout();
        if (options.traces) show_traces();
        for (const std::string& name : options.panels) workspace_.show_panel(name);
        if (options.palette) workspace_.palette.show();
    }
    void show_traces() {
        if (options_.many > 0)
            gs::test::fill_many(before_, options_.many, 5'000'000'000'000);
        else
            gs::test::fill_trainer(before_, {.iterations = 200});
        gs::test::fill_trainer(after_, {.iterations = 200, .slower = 1.3});
        const auto add = [&](const char* name, const gs::TraceStore* store) {
            gs::TraceEntry entry{.id = snapshot_.traces.size() + 1, .name = name, .store = store};
            entry.live = entry.own = entry.id == 1;
            snapshot_.traces.push_back(entry);
        };
        add("this session", &store_);
        add("before.pftrace", &before_);
        add("after.pftrace", &after_);
        snapshot_.shown_trace = 2;
        (void)workspace_.show_layout("traces");
        workspace_.panel<gs::ComparePanel>().sides = {{{2, 0, {}}, {3, 0, {}}}};
        workspace_.panel<gs::ComparePanel>().compare_now();
        if (!options_.find.empty()) workspace_.trace_view.find = options_.find;
        const std::int64_t begin = before_.begin_ns(), length = before_.end_ns() - begin;
        if (options_.select)
            workspace_.trace_view.selection =
                gs::TimeRange{begin + length / 2, begin + length / 2 + 6'000'000};
        if (options_.select)
            workspace_.trace_view.jump =
                gs::TracePlace{{begin + length / 2 - 4'000'000, begin + length / 2 + 9'000'000}};
    }
    void frame() {
        window_.new_frame([](const gs::KeyPress&) { return false; });
        if (options_.mouse.x >= 0) ImGui::GetIO().MousePos = options_.mouse;
        ImGui::NewFrame();
        workspace_.draw(snapshot_, commands_);
        ImGui::Render();
        window_.show(ImGui::GetDrawData());
        for (const auto& [name, arguments] : commands_.take()) {
            std::string line = name;
            for (const std::string& word : arguments) line += " " + word;
            gs::log_info("{}", line);
            if (name == "panel" && !arguments.empty())
                workspace_.show_panel(arguments[0], arguments.size() > 1);
            if (name == "layout.reset") workspace_.reset_layout();
        }
    }
    void click(ImVec2 at) {
        const ImVec2 rest = options_.mouse;
        options_.mouse = at;
        for (const bool down : {false, true, false, false}) {
            ImGui::GetIO().MouseDown[0] = down;
            frame();
        }
        options_.mouse = rest;
    }
    void watch() {
        while (!window_.close_requested() && ImGui::GetTime() < options_.seconds) {
            window_.wait_events(0.01);
            frame();
        }
    }
    bool write_picture() {
        for (int i = 0; i < 4 || (workspace_.busy() && i < 2000); ++i) frame();
        for (const ImVec2 at : options_.clicks) click(at);
        for (int i = 0; i < 4; ++i) frame();
        const auto written = gs::write_png(
            options_.png,
            gs::picture_of(ImGui::GetDrawData(), static_cast<int>(ImGui::GetIO().DisplaySize.x),
                           static_cast<int>(ImGui::GetIO().DisplaySize.y)));
        if (!written) std::fprintf(stderr, "panel_gallery: %s\n", written.error().text().c_str());
        return written.has_value();
    }

  private:
    gs::Window& window_;
    Options options_;
    gs::TraceStore store_, before_, after_;
    gs::Snapshot snapshot_;
    std::vector<gs::CommandInfo> table_ = gs::test::fake_table();
    gs::Commands commands_{table_};
    gs::Workspace workspace_;
};

}  // namespace

int main(int count, char** words) {
    const Options options = parse(count, words);
    gs::log_info("loaded 48 photos, 960 x 640, in 0.82 s");
    gs::log_warning("images/frame_00101.jpg: truncated JPEG at byte 40960 (skipped)");
    for (int i = 0; i < 12; ++i)
        gs::log_info("step {}: loss 0.04{}, test PSNR {:.2f} dB", 1000 * i, i, 14 + 1.2 * i);
    const gs::WindowOptions window_options{.title = "gausscope panels",
                                           .width = options.width,
                                           .height = options.height,
                                           .headless = !options.png.empty()};
    auto window = gs::open_window(window_options);
    if (!window) {
        std::fprintf(stderr, "panel_gallery: %s\n", window.error().text().c_str());
        return 1;
    }
    ImGui::CreateContext();
    ImGui::GetIO().IniFilename = nullptr;
    gs::load_fonts(options.scale);
    gs::apply_theme(options.scale);
    (*window)->attach_imgui();
    bool done = true;
    {
        Gallery gallery(**window, options);
        if (options.png.empty())
            gallery.watch();
        else
            done = gallery.write_picture();
    }
    (*window)->detach_imgui();
    ImGui::DestroyContext();
    return done ? 0 : 1;
}
