// Window: a place to draw ImGui frames with OpenGL 4.5 core, either on a display (GLFW) or without
// one (EGL into a framebuffer object), with the same calls. The studio draws through it and does
// not need to know which one it has.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "app/window/input_queue.h"
#include "base/expected.h"
#include "renderer/scene/image.h"

struct ImDrawData;

namespace gs {

struct WindowOptions {
    std::string title = "gausscope";
    int width = 1600, height = 1000;  ///< logical units: pixels at scale 1
    bool headless = false;
    bool visible = true;   ///< on a display; a window that is not seen asks what OpenGL is
    double scale = 0;      ///< pixels per logical unit; 0: what the display says (1 without one)
    int cuda_device = -1;  ///< headless: the GPU to draw on, where CUDA computes; -1: any
};

/// How the keys of the user's layout are marked.
struct KeyLayout {
    /// Of names that no key of the layout has ("["): what is on the key that does their work ("Ü").
    std::map<std::string, std::string> stands_for;
    std::string flying = "W A S D Q E";  ///< what is on the keys at these places
    bool operator==(const KeyLayout&) const = default;
};

class Window {
  public:
    virtual ~Window() = default;

    /// Connects the current ImGui context with this window and OpenGL. Call once, after
    /// ImGui::CreateContext().
    virtual void attach_imgui() = 0;
    virtual void detach_imgui() = 0;
    /// Collects input for up to `wait_seconds`, or until wake(); 0 only polls.
    virtual void wait_events(double wait_seconds) = 0;
    /// Ends a wait_events() that is going on. The only function that other threads may call.
    virtual void wake() = 0;
    /// Before ImGui::NewFrame(): passes on the next step of the input.
    virtual void new_frame(const TakeKey& take) = 0;
    /// Draws and shows a finished ImGui frame.
    virtual void show(ImDrawData* draw_data) = 0;

    /// True once when something happened since the last call that the next frame may answer to:
    /// input, resize, focus.
    virtual bool take_activity() = 0;
    virtual std::vector<std::string> take_dropped_files() = 0;
    virtual KeyLayout key_layout() const { return {}; }
    /// What the user did that no frame has seen yet; scripts add to it.
    InputQueue& input() { return input_; }
    virtual bool close_requested() const = 0;
    /// The request is answered: it is none any more.
    virtual void stay_open() = 0;
    virtual bool minimized() const = 0;
    virtual double content_scale() const = 0;
    /// Fills the screen, or takes its old place again. Without a screen: nothing.
    virtual void set_full_screen(bool) {}
    virtual bool full_screen() const { return false; }
    virtual void set_title(const std::string& title) = 0;
    virtual std::string description() const = 0;  ///< "window, OpenGL 4.5, llvmpipe ..."

  protected:
    InputQueue input_;
};

/// Errors (kind unsupported): no display, no OpenGL 4.5, no EGL; the advice says what to install or
/// which option to use.
Result<std::unique_ptr<Window>> open_window(const WindowOptions& options);

Result<std::unique_ptr<Window>> open_glfw_window(const WindowOptions& options);
Result<std::unique_ptr<Window>> open_headless_window(const WindowOptions& options);

/// Loads OpenGL through `load`; fails when the context offers less than 4.5. Needs a current
/// context.
Result<void> load_gl(void (*(*load)(const char*))());
/// "OpenGL 4.5, llvmpipe (LLVM 15.0.6, 256 bits)" of the current context.
std::string gl_description();

/// Draws a finished ImGui frame into an off-screen picture of `width` x `height` pixels and reads
/// it back, RGB. The ImGui context that the window is attached to must be current.
Image8 picture_of(ImDrawData* draw_data, int width, int height);

}  // namespace gs
