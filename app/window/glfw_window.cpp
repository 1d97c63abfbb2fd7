// The window on a display.
#define GLFW_INCLUDE_NONE
#include <GLFW/glfw3.h>
#include <glad/gl.h>
#include <imgui.h>
#include <imgui/backends/imgui_impl_glfw.h>
#include <imgui/backends/imgui_impl_opengl3.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <set>
#include <span>
#include <utility>

#include "app/window/window.h"
#include "app/window/x11_press_times.h"
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

/// The keys with a mark on a US keyboard, which are their numbers in GLFW.
constexpr std::string_view kMarks = "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789',-./;=[\\]`";
bool is_marked(int key) {
    return key > 0 && key < 128 && kMarks.find(static_cast<char>(key)) != std::string_view::npos;
}

/// What a key is on a US keyboard; empty: nothing that key maps name.
std::string place_of_key(int key) {
    if (is_marked(key)) return std::string(1, static_cast<char>(key));
    if (key >= GLFW_KEY_F1 && key <= GLFW_KEY_F12) return fmt::format("F{}", key - GLFW_KEY_F1 + 1);
    if (key >= GLFW_KEY_KP_0 && key <= GLFW_KEY_KP_9)
        return fmt::format("Keypad{}", key - GLFW_KEY_KP_0);
    static constexpr std::array<std::pair<int, const char*>, 27> kNames{{
        {GLFW_KEY_SPACE, "Space"},
        {GLFW_KEY_ENTER, "Enter"},
        {GLFW_KEY_KP_ENTER, "KeypadEnter"},
        {GLFW_KEY_KP_ADD, "KeypadPlus"},
        {GLFW_KEY_KP_DECIMAL, "KeypadPeriod"},
        {GLFW_KEY_KP_SUBTRACT, "KeypadMinus"},
        {GLFW_KEY_ESCAPE, "Escape"},
        {GLFW_KEY_TAB, "Tab"},
        {GLFW_KEY_LEFT, "Left"},
        {GLFW_KEY_RIGHT, "Right"},
        {GLFW_KEY_UP, "Up"},
        {GLFW_KEY_DOWN, "Down"},
        {GLFW_KEY_HOME, "Home"},
        {GLFW_KEY_END, "End"},
        {GLFW_KEY_PAGE_UP, "PageUp"},
        {GLFW_KEY_PAGE_DOWN, "PageDown"},
        {GLFW_KEY_INSERT, "Insert"},
        {GLFW_KEY_DELETE, "Delete"},
        {GLFW_KEY_BACKSPACE, "Backspace"},
        {GLFW_KEY_LEFT_CONTROL, "Ctrl"},
        {GLFW_KEY_RIGHT_CONTROL, "Ctrl"},
        {GLFW_KEY_LEFT_SHIFT, "Shift"},
        {GLFW_KEY_RIGHT_SHIFT, "Shift"},
        {GLFW_KEY_LEFT_ALT, "Alt"},
        {GLFW_KEY_RIGHT_ALT, "Alt"},
        {GLFW_KEY_LEFT_SUPER, "Super"},
        {GLFW_KEY_RIGHT_SUPER, "Super"},
    }};
    for (const auto& [code, name] : kNames)
        if (code == key) return name;
    return {};
}

/// What the user's layout has on the key, as text; empty: nothing.
std::string mark_of_key(int key, int scancode) {
    const bool may = is_marked(key) || key == GLFW_KEY_WORLD_1 || key == GLFW_KEY_WORLD_2;
    const char* mark = may ? glfwGetKeyName(key, scancode) : nullptr;
    return mark ? mark : "";
}
/// Its name in key maps: Latin letters and the marks of a US keyboard.
std::string name_of_mark(const std::string& mark) {
    if (mark.size() != 1) return {};
    if (mark[0] >= 'a' && mark[0] <= 'z')
        return std::string(1, static_cast<char>(mark[0] - 'a' + 'A'));
    if (mark == "+") return "Plus";
    return kMarks.find(mark[0]) != std::string_view::npos ? mark : std::string();
}
/// As people write it: a capital where it is a letter of western Europe.
std::string written(std::string mark) {
    const auto low = static_cast<unsigned char>(mark.size() == 2 ? mark[1] : 0);
    if (mark.size() == 2 && mark[0] == '\xC3' && low >= 0xA0 && low <= 0xBE && low != 0xB7)
        mark[1] = static_cast<char>(low - 0x20);
    return mark;
}
/// The fonts draw it.
bool is_drawn(const std::string& mark) {
    return mark.size() == 1 || (mark.size() == 2 && (mark[0] == '\xC2' || mark[0] == '\xC3'));
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
        ImGui_ImplGlfw_InitForOpenGL(window_, false);  // it gets its input from input_
        ImGui_ImplOpenGL3_Init("#version 450 core");
    }
    void detach_imgui() override {
        ImGui_ImplOpenGL3_Shutdown();
        ImGui_ImplGlfw_Shutdown();
    }
    void wait_events(double wait_seconds) override {
        presses_.look();
        if (wait_seconds > 0) {
            glfwWaitEventsTimeout(wait_seconds);
        } else {
            glfwPollEvents();
        }
    }
    void wake() override { glfwPostEmptyEvent(); }
    void new_frame(const TakeKey& take) override {
        ImGui_ImplOpenGL3_NewFrame();
        ImGui_ImplGlfw_NewFrame();
        input_.feed(ImGui::GetIO(), take);
    }
    void show(ImDrawData* draw_data) override {
        int width = 0, height = 0;
        glfwGetFramebufferSize(window_, &width, &height);
        glViewport(0, 0, width, height);
        glClearColor(0.07f, 0.07f, 0.08f, 1);
        glClear(GL_COLOR_BUFFER_BIT);
        ImGui_ImplOpenGL3_RenderDrawData(draw_data);
        glfwSwapBuffers(window_);
    }

    bool take_activity() override { return std::exchange(activity_, false) || !input_.empty(); }
    std::vector<std::string> take_dropped_files() override { return std::exchange(dropped_, {}); }
    KeyLayout key_layout() const override {
        KeyLayout out;
        out.flying.clear();
        std::set<std::string> named;
        for (const char key : kMarks) named.insert(name_of_mark(mark_of_key(key, 0)));
        for (const char key : kMarks.substr(kMarks.find('\''))) {  // letters and digits stay
            const std::string place(1, key), mark = written(mark_of_key(key, 0));
            if (!named.contains(place) && is_drawn(mark)) out.stands_for[place] = mark;
        }
        for (const char place : kFlyingPlaces) {
            const std::string name = name_of_mark(mark_of_key(place, 0));
            out.flying +=
                (out.flying.empty() ? "" : " ") + (name.empty() ? std::string(1, place) : name);
        }
        return out;
    }
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

    /// `mods` of a modifier's own event are those before it; so says X11.
    void take_mods(int key, int action, int mods) {
        mods_ = {(mods & GLFW_MOD_CONTROL) != 0, (mods & GLFW_MOD_SHIFT) != 0,
                 (mods & GLFW_MOD_ALT) != 0, (mods & GLFW_MOD_SUPER) != 0};
        const bool down = action != GLFW_RELEASE;
        if (key == GLFW_KEY_LEFT_CONTROL || key == GLFW_KEY_RIGHT_CONTROL) mods_.ctrl = down;
        if (key == GLFW_KEY_LEFT_SHIFT || key == GLFW_KEY_RIGHT_SHIFT) mods_.shift = down;
        if (key == GLFW_KEY_LEFT_ALT) mods_.alt = down;
        if (key == GLFW_KEY_LEFT_SUPER || key == GLFW_KEY_RIGHT_SUPER) mods_.super = down;
    }
    void take_key(int key, int scancode, int action, int mods) {
        activity_ = true;
        take_mods(key, action, mods);
        const std::string place = place_of_key(key),
                          name = name_of_mark(mark_of_key(key, scancode));
        if (place.empty() && name.empty()) return;
        input_.add({.kind = InputEvent::Kind::key,
                    .down = action != GLFW_RELEASE,
                    .repeat = action == GLFW_REPEAT,
                    .key = name.empty() ? place : name,
                    .place = place,
                    .mods = mods_});
    }
    void install_callbacks() {
        glfwSetDropCallback(window_, [](GLFWwindow* w, int count, const char** paths) {
            of(w).activity_ = true;
            for (int i = 0; i < count; ++i) of(w).dropped_.emplace_back(paths[i]);
        });
        glfwSetKeyCallback(window_, [](GLFWwindow* w, int key, int scancode, int action, int mods) {
            of(w).take_key(key, scancode, action, mods);
        });
        glfwSetCharCallback(window_, [](GLFWwindow* w, unsigned character) {
            of(w).activity_ = true;
            of(w).input_.add({.kind = InputEvent::Kind::text, .character = character});
        });
        glfwSetCursorPosCallback(window_, [](GLFWwindow* w, double x, double y) {
            of(w).activity_ = true;
            of(w).input_.move(x, y);
        });
        glfwSetCursorEnterCallback(window_, [](GLFWwindow* w, int entered) {
            of(w).activity_ = true;
            if (entered == 0) of(w).input_.leave();
        });
        glfwSetMouseButtonCallback(window_, [](GLFWwindow* w, int button, int action, int) {
            of(w).activity_ = true;
            const bool down = action == GLFW_PRESS;
            of(w).input_.button(button, down, down ? of(w).presses_.take() : 0);
        });
        glfwSetScrollCallback(window_, [](GLFWwindow* w, double x, double y) {
            of(w).activity_ = true;
            of(w).input_.add({.kind = InputEvent::Kind::wheel,
                              .at = {static_cast<float>(x), static_cast<float>(y)},
                              .mods = of(w).mods_});
        });
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
    KeyMods mods_;  ///< held with the last key
    bool activity_ = true;
    std::string title_;
    std::vector<std::string> dropped_;
    PressTimes presses_;
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

/// Not every window manager keeps windows within the screen; what is outside cannot be reached.
void fit_to_screen(GLFWwindow* window) {
    int x = 0, y = 0, width = 0, height = 0, has_width = 0, has_height = 0;
    GLFWmonitor* const monitor = glfwGetPrimaryMonitor();
    if (monitor == nullptr) return;
    glfwGetMonitorWorkarea(monitor, &x, &y, &width, &height);
    glfwGetWindowSize(window, &has_width, &has_height);
    if (width > 0 && height > 0 && (has_width > width || has_height > height))
        glfwSetWindowSize(window, std::min(has_width, width), std::min(has_height, height));
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
    fit_to_screen(window);
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
