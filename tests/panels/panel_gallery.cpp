// Shows the whole workspace with a made-up Snapshot in a window: for looking at panels without an engine.
// panel_gallery [MODE] [--empty] [--size W H] [--scale S] [--palette] [--panel NAME] [--seconds S]
#include <GLFW/glfw3.h>
#include <backends/imgui_impl_glfw.h>
#include <backends/imgui_impl_opengl3.h>
#include <imgui.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <string>

#include "panels/theme.h"
#include "panels/workspace.h"
#include "renderer/base/log.h"
#include "tests/panels/fake_snapshot.h"

namespace {

struct Options {
    int width = 1600, height = 1000;
    double scale = 1, seconds = 1e9;
    bool empty = false, palette = false;
    gs::ViewMode mode = gs::ViewMode::color;
    gs::PhotoCompare compare = gs::PhotoCompare::off;
    std::vector<std::string> panels;
};

Options parse(int count, char** words) {
    Options o;
    for (int i = 1; i < count; ++i) {
        const std::string word = words[i];
        const auto next = [&] { return i + 1 < count ? words[++i] : words[i]; };
        if (word == "--empty")
            o.empty = true;
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
        else if (word == "--beside")
            o.compare = gs::PhotoCompare::beside;
        else if (word == "--split")
            o.compare = gs::PhotoCompare::split;
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

void run(GLFWwindow* window, const Options& options) {
    gs::TraceStore store;
    std::timespec now{};
    clock_gettime(CLOCK_MONOTONIC, &now);
    gs::test::fill_store(store, 400, now.tv_sec * 1'000'000'000LL);
    gs::Snapshot snapshot = gs::test::fake_snapshot(store, options.mode);
    snapshot.view.compare = options.compare;
    snapshot.frame_texture = upload(snapshot.frame->rgba);
    if (options.compare != gs::PhotoCompare::off)
        snapshot.photo_texture = upload(gs::test::fake_snapshot(store, gs::ViewMode::color).frame->rgba);
    if (options.empty) {
        gs::Snapshot nothing;
        nothing.recent = snapshot.recent;
        nothing.backend = snapshot.backend;
        nothing.device = snapshot.device;
        snapshot = nothing;
    }
    gs::log_info("loaded 48 photos, 960 x 640, in 0.82 s");
    gs::log_warning("images/frame_00101.jpg: truncated JPEG at byte 40960 (skipped)");
    for (int i = 0; i < 12; ++i) gs::log_info("step {}: loss 0.04{}, test PSNR {:.2f} dB", 1000 * i, i, 14 + 1.2 * i);
    const auto table = gs::test::fake_table();
    gs::Commands commands(table);
    gs::Workspace workspace;
    workspace.reset_layout();
    for (const std::string& name : options.panels) workspace.show_panel(name);
    if (options.palette) workspace.palette.show();
    while (!glfwWindowShouldClose(window) && glfwGetTime() < options.seconds) {
        glfwPollEvents();
        ImGui_ImplOpenGL3_NewFrame();
        ImGui_ImplGlfw_NewFrame();
        ImGui::NewFrame();
        workspace.draw(snapshot, commands);
        ImGui::Render();
        glClear(GL_COLOR_BUFFER_BIT);
        ImGui_ImplOpenGL3_RenderDrawData(ImGui::GetDrawData());
        glfwSwapBuffers(window);
        for (const auto& [name, arguments] : commands.take()) {
            std::string line = name;
            for (const std::string& word : arguments) line += " " + word;
            gs::log_info("{}", line);
            if (name == "panel" && !arguments.empty()) workspace.show_panel(arguments[0], arguments.size() > 1);
            if (name == "layout.reset") workspace.reset_layout();
        }
    }
}

}  // namespace

int main(int count, char** words) {
    const Options options = parse(count, words);
    if (!glfwInit()) {
        std::fputs("panel_gallery: no display\n", stderr);
        return 1;
    }
    GLFWwindow* window = glfwCreateWindow(options.width, options.height, "gausscope panels", nullptr, nullptr);
    if (!window) {
        std::fputs("panel_gallery: no OpenGL window\n", stderr);
        return 1;
    }
    glfwMakeContextCurrent(window);
    glfwSwapInterval(1);
    ImGui::CreateContext();
    ImGui::GetIO().IniFilename = nullptr;
    gs::load_fonts(options.scale);
    gs::apply_theme(options.scale);
    ImGui_ImplGlfw_InitForOpenGL(window, true);
    ImGui_ImplOpenGL3_Init("#version 130");
    run(window, options);
    ImGui_ImplOpenGL3_Shutdown();
    ImGui_ImplGlfw_Shutdown();
    ImGui::DestroyContext();
    glfwTerminate();
    return 0;
}
