// The window on a display.
#define GLFW_INCLUDE_NONE
#include <GLFW/glfw3.h>
#include <glad/gl.h>
#include <imgui.h>
#include <imgui/backends/imgui_impl_glfw.h>
#include <imgui/backends/imgui_impl_opengl3.h>

#include <array>
#include <cstdlib>
#include <span>
#include <utility>

#include "app/window/mouse_queue.h"
#include "app/window/window.h"
#include "base/assets.h"
#include "base/log.h"
#include "renderer/io/images/codecs.h"

namespace gs {
namespace {

/// The last GLFW error; it reports errors through a callback without context.
std::string& last_glfw_error() {
    thread_local std::string text;
    return text;
}

std::string name_of_key(int key) {
    if (key >= GLFW_KEY_A && key <= GLFW_KEY_Z)
        return std::string(1, static_cast<char>('A' + key - GLFW_KEY_A));
    if (key >= GLFW_KEY_0 && key <= GLFW_KEY_9)
        return std::string(1, static_cast<char>('0' + key - GLFW_KEY_0));
    if (key >= GLFW_KEY_F1 && key <= GLFW_KEY_F12) return fmt::format("F{}", key - GLFW_KEY_F1 + 1);
    if (key >= GLFW_KEY_KP_0 && key <= GLFW_KEY_KP_9)
        return fmt::format("Keypad{}", key - GLFW_KEY_KP_0);
    static constexpr std::array<std::pair<int, const char*>, 20> kNames{{
        {GLFW_KEY_SPACE, "Space"},     {GLFW_KEY_ENTER, "Enter"},
        {GLFW_KEY_ESCAPE, "Escape"},   {GLFW_KEY_TAB, "Tab"},
        {GLFW_KEY_LEFT, "Left"},       {GLFW_KEY_RIGHT, "Right"},
        {GLFW_KEY_UP, "Up"},           {GLFW_KEY_DOWN, "Down"},
        {GLFW_KEY_HOME, "Home"},       {GLFW_KEY_END, "End"},
        {GLFW_KEY_PAGE_UP, "PageUp"},  {GLFW_KEY_PAGE_DOWN, "PageDown"},
        {GLFW_KEY_COMMA, ","},         {GLFW_KEY_PERIOD, "."},
        {GLFW_KEY_SLASH, "/"},         {GLFW_KEY_MINUS, "-"},
        {GLFW_KEY_EQUAL, "="},         {GLFW_KEY_LEFT_BRACKET, "["},
        {GLFW_KEY_RIGHT_BRACKET, "]"}, {GLFW_KEY_DELETE, "Delete"},
    }};
    for (const auto& [code, name] : kNames)
        if (code == key) return name;
    return {};
}

std::string chord_of(int key, int mods) {
    const std::string name = name_of_key(key);
    if (name.empty()) return {};
    std::string out;
    if (mods & GLFW_MOD_CONTROL) out += "Ctrl+";
    if (mods & GLFW_MOD_SHIFT) out += "Shift+";
    if (mods & GLFW_MOD_ALT) out += "Alt+";
    return out + name;
}

void set_icon(GLFWwindow* window) {
    const char* path = "icon/gausscope-128.png";
    auto icon = decode_image(std::as_bytes(std::span(embedded_asset(path))), path);
    if (!icon || icon->channels != 4) return;  // a window does without
    const GLFWimage image{icon->width, icon->height, icon->bytes.data()};
    glfwSetWindowIcon(window, 1, &image);
}

class GlfwWindow final : public Window {
  public:
    GlfwWindow(GLFWwindow* window, double scale) : window_(window), forced_scale_(scale) {
        glfwSetWindowUserPointer(window_, this);
        install_callbacks();
        set_icon(window_);
    }
    ~GlfwWindow() override {
        glfwDestroyWindow(window_);
        glfwTerminate();
    }
    GlfwWindow(const GlfwWindow&) = delete;
    GlfwWindow& operator=(const GlfwWindow&) = delete;

    void attach_imgui() override {
        ImGui_ImplGlfw_InitForOpenGL(window_, true);  // chains the callbacks installed above
        // Keys reach ImGui through take_key(); its own callback is called from there.
        glfwSetKeyCallback(window_, [](GLFWwindow* w, int key, int scancode, int action, int mods) {
            of(w).take_key({key, scancode, action, mods});
        });
        ImGui_ImplOpenGL3_Init("#version 450 core");
    }
    void detach_imgui() override {
        ImGui_ImplOpenGL3_Shutdown();
        ImGui_ImplGlfw_Shutdown();
    }
    void wait_events(double wait_seconds) override {
        if (wait_seconds > 0) {
            glfwWaitEventsTimeout(wait_seconds);
        } else {
            glfwPollEvents();
        }
    }
    void wake() override { glfwPostEmptyEvent(); }
    void new_frame() override {
        ImGui_ImplOpenGL3_NewFrame();
        ImGui_ImplGlfw_NewFrame();
#if IMGUI_VERSION_NUM < 18700
        mouse_.feed(ImGui::GetIO());
        activity_ = activity_ || !mouse_.empty();
#else
        mouse_ = {};  // ImGui has a queue of its own
#endif
    }
    void show(ImDrawData* draw_data) override {
        int width = 0, height = 0;
        glfwGetFramebufferSize(window_, &width, &height);
        glViewport(0, 0, width, height);
        glClearColor(0.07f, 0.07f, 0.08f, 1);
        glClear(GL_COLOR_BUFFER_BIT);
        ImGui_ImplOpenGL3_RenderDrawData(draw_data);
        glfwSwapBuffers(window_);
        pressed_ = false;
        for (const KeyEvent& key : std::exchange(released_, {})) forward(key);
    }

    bool take_activity() override { return std::exchange(activity_, false); }
    std::vector<std::string> take_dropped_files() override { return std::exchange(dropped_, {}); }
    std::vector<KeyPress> take_keys() override { return std::exchange(keys_, {}); }
    bool close_requested() const override { return glfwWindowShouldClose(window_) != 0; }
    void stay_open() override { glfwSetWindowShouldClose(window_, GLFW_FALSE); }
    bool minimized() const override {
        int width = 0, height = 0;
        glfwGetFramebufferSize(window_, &width, &height);
        return width == 0 || height == 0;
    }
    double content_scale() const override {
        if (forced_scale_ > 0) return forced_scale_;
        float x = 1, y = 1;
        glfwGetWindowContentScale(window_, &x, &y);
        return x > 0 ? static_cast<double>(x) : 1.0;
    }
    bool full_screen() const override { return glfwGetWindowMonitor(window_) != nullptr; }
    void set_full_screen(bool on) override {
        if (on == full_screen()) return;
        activity_ = true;
        if (!on) {
            glfwSetWindowMonitor(window_, nullptr, place_.x, place_.y, place_.width, place_.height,
                                 GLFW_DONT_CARE);
            return;
        }
        GLFWmonitor* monitor = monitor_below();
        const GLFWvidmode* mode = monitor ? glfwGetVideoMode(monitor) : nullptr;
        if (!mode) return;
        glfwGetWindowPos(window_, &place_.x, &place_.y);
        glfwGetWindowSize(window_, &place_.width, &place_.height);
        glfwSetWindowMonitor(window_, monitor, 0, 0, mode->width, mode->height, mode->refreshRate);
    }
    void set_title(const std::string& title) override {
        if (title == title_) return;
        title_ = title;
        glfwSetWindowTitle(window_, title.c_str());
    }
    std::string description() const override { return "window, " + gl_description(); }

  private:
    static GlfwWindow& of(GLFWwindow* window) {
        return *static_cast<GlfwWindow*>(glfwGetWindowUserPointer(window));
    }

    /// The monitor that the window's middle is on; the first one where that is nowhere.
    GLFWmonitor* monitor_below() const {
        int x = 0, y = 0, width = 0, height = 0, count = 0;
        glfwGetWindowPos(window_, &x, &y);
        glfwGetWindowSize(window_, &width, &height);
        GLFWmonitor** monitors = glfwGetMonitors(&count);
        for (int i = 0; i < count; ++i) {
            int left = 0, top = 0;
            glfwGetMonitorPos(monitors[i], &left, &top);
            const GLFWvidmode* mode = glfwGetVideoMode(monitors[i]);
            const int mx = x + width / 2 - left, my = y + height / 2 - top;
            if (mode && mx >= 0 && my >= 0 && mx < mode->width && my < mode->height)
                return monitors[i];
        }
        return glfwGetPrimaryMonitor();
    }

    struct KeyEvent {
        int key, scancode, action, mods;
    };
    void forward(const KeyEvent& e) {
        ImGui_ImplGlfw_KeyCallback(window_, e.key, e.scancode, e.action, e.mods);
    }
    /// A key that goes down and up between two frames would never be seen down by an ImGui that
    /// looks once per frame (before 1.87): its release waits until the frame is drawn. So do those
    /// after it: the F of Ctrl+F must not be seen without its Ctrl.
    void take_key(const KeyEvent& event) {
        activity_ = true;
        if (event.action == GLFW_RELEASE)
            return pressed_ ? released_.push_back(event) : forward(event);
        if (std::string chord = chord_of(event.key, event.mods); !chord.empty())
            keys_.push_back({std::move(chord), event.action == GLFW_REPEAT});
        pressed_ = true;
        forward(event);
    }
    void install_callbacks() {
        glfwSetDropCallback(window_, [](GLFWwindow* w, int count, const char** paths) {
            of(w).activity_ = true;
            for (int i = 0; i < count; ++i) of(w).dropped_.emplace_back(paths[i]);
        });
        glfwSetCharCallback(window_, [](GLFWwindow* w, unsigned) { of(w).activity_ = true; });
        glfwSetCursorPosCallback(window_, [](GLFWwindow* w, double x, double y) {
            of(w).activity_ = true;
            of(w).mouse_.move(x, y);
        });
        glfwSetCursorEnterCallback(window_, [](GLFWwindow* w, int entered) {
            of(w).activity_ = true;
            if (entered == 0) of(w).mouse_.leave();
        });
        glfwSetMouseButtonCallback(window_, [](GLFWwindow* w, int button, int action, int) {
            of(w).activity_ = true;
            of(w).mouse_.button(button, action == GLFW_PRESS);
        });
        glfwSetScrollCallback(window_,
                              [](GLFWwindow* w, double, double) { of(w).activity_ = true; });
        glfwSetWindowFocusCallback(window_, [](GLFWwindow* w, int) { of(w).activity_ = true; });
        glfwSetFramebufferSizeCallback(window_,
                                       [](GLFWwindow* w, int, int) { of(w).activity_ = true; });
        glfwSetWindowRefreshCallback(window_, [](GLFWwindow* w) { of(w).activity_ = true; });
        glfwSetWindowCloseCallback(window_, [](GLFWwindow* w) { of(w).activity_ = true; });
        glfwSetWindowContentScaleCallback(
            window_, [](GLFWwindow* w, float, float) { of(w).activity_ = true; });
    }

    struct Place {
        int x = 0, y = 0, width = 0, height = 0;
    };

    GLFWwindow* window_;
    Place place_;  // where it was before it filled the screen
    double forced_scale_;
    bool activity_ = true;
    std::string title_;
    std::vector<std::string> dropped_;
    std::vector<KeyPress> keys_;
    MouseQueue mouse_;
    bool pressed_ = false;            // since the last frame
    std::vector<KeyEvent> released_;  // waiting for the end of the frame
};

tl::unexpected<Error> no_window(std::string_view what) {
    const bool has_display =
        std::getenv("DISPLAY") != nullptr || std::getenv("WAYLAND_DISPLAY") != nullptr;
    return fail(ErrorKind::unsupported, "",
                fmt::format("{}: {}", what,
                            last_glfw_error().empty() ? "no reason given" : last_glfw_error()),
                has_display
                    ? "--headless works without a window; LIBGL_ALWAYS_SOFTWARE=1 draws in software"
                    : "no display (DISPLAY is not set); use --headless, or run under xvfb-run");
}

}  // namespace

Result<std::unique_ptr<Window>> open_glfw_window(const WindowOptions& options) {
    last_glfw_error().clear();
    glfwSetErrorCallback([](int code, const char* text) {
        last_glfw_error() = text;
        log_debug("GLFW error {:#x}: {}", code, text);
    });
    if (!glfwInit()) return no_window("cannot reach the window system");
    glfwWindowHint(GLFW_CONTEXT_VERSION_MAJOR, 4);
    glfwWindowHint(GLFW_CONTEXT_VERSION_MINOR, 5);
    glfwWindowHint(GLFW_OPENGL_PROFILE, GLFW_OPENGL_CORE_PROFILE);
    glfwWindowHint(GLFW_SCALE_TO_MONITOR, GLFW_TRUE);
    glfwWindowHint(GLFW_VISIBLE, options.visible ? GLFW_TRUE : GLFW_FALSE);
    glfwWindowHint(GLFW_DEPTH_BITS, 0);
    glfwWindowHint(GLFW_STENCIL_BITS, 0);
    glfwWindowHintString(GLFW_X11_CLASS_NAME, "gausscope");
    GLFWwindow* window =
        glfwCreateWindow(options.width, options.height, options.title.c_str(), nullptr, nullptr);
    if (!window) {
        auto error = no_window("cannot open a window with OpenGL 4.5");
        glfwTerminate();
        return error;
    }
    glfwMakeContextCurrent(window);
    if (auto loaded = load_gl(glfwGetProcAddress); !loaded) {
        glfwDestroyWindow(window);
        glfwTerminate();
        return tl::unexpected<Error>(loaded.error());
    }
    glfwSwapInterval(1);
    return std::make_unique<GlfwWindow>(window, options.scale);
}

}  // namespace gs
