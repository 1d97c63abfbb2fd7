// The window without a display: an EGL context and a framebuffer object. Time passes and frames are
// drawn as in a real window; input comes from scripts only.
#include <EGL/egl.h>
#include <EGL/eglext.h>
#include <glad/gl.h>
#include <imgui.h>
#include <imgui/backends/imgui_impl_opengl3.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <numeric>
#include <span>
#include <variant>
#include <vector>

#include "app/window/window.h"
#include "base/mailbox.h"

namespace gs {
namespace {

struct EglContext {
    EGLDisplay display = EGL_NO_DISPLAY;
    EGLContext context = EGL_NO_CONTEXT;
    std::string platform;
};

bool has_extension(const char* list, const char* name) {
    return list && std::strstr(list, name) != nullptr;
}

/// An OpenGL 4.5 core context on `display`, current without a surface; false (and nothing left
/// behind) when it has none.
bool make_context(EGLDisplay display, EglContext& out) {
    if (display == EGL_NO_DISPLAY || !eglInitialize(display, nullptr, nullptr)) return false;
    const std::array<EGLint, 7> config_wish{EGL_SURFACE_TYPE, EGL_DONT_CARE, EGL_RENDERABLE_TYPE,
                                            EGL_OPENGL_BIT,   EGL_RED_SIZE,  8,
                                            EGL_NONE};
    const std::array<EGLint, 7> context_wish{EGL_CONTEXT_MAJOR_VERSION,
                                             4,
                                             EGL_CONTEXT_MINOR_VERSION,
                                             5,
                                             EGL_CONTEXT_OPENGL_PROFILE_MASK,
                                             EGL_CONTEXT_OPENGL_CORE_PROFILE_BIT,
                                             EGL_NONE};
    EGLConfig config = nullptr;
    EGLint count = 0;
    if (eglBindAPI(EGL_OPENGL_API) &&
        eglChooseConfig(display, config_wish.data(), &config, 1, &count) && count > 0) {
        const EGLContext context =
            eglCreateContext(display, config, EGL_NO_CONTEXT, context_wish.data());
        if (context != EGL_NO_CONTEXT &&
            eglMakeCurrent(display, EGL_NO_SURFACE, EGL_NO_SURFACE, context)) {
            out.display = display;
            out.context = context;
            return true;
        }
        if (context != EGL_NO_CONTEXT) eglDestroyContext(display, context);
    }
    eglTerminate(display);
    return false;
}

/// Device numbers, those that are CUDA's device `cuda_device` first: textures can be shared with no
/// other.
std::vector<std::size_t> order_of(std::span<const EGLDeviceEXT> devices, int cuda_device) {
    std::vector<std::size_t> order(devices.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    const auto query = reinterpret_cast<PFNEGLQUERYDEVICEATTRIBEXTPROC>(
        eglGetProcAddress("eglQueryDeviceAttribEXT"));
    if (cuda_device < 0 || !query) return order;
    std::stable_partition(order.begin(), order.end(), [&](std::size_t i) {
        EGLAttrib number = -1;
        return query(devices[i], EGL_CUDA_DEVICE_NV, &number) && number == cuda_device;
    });
    return order;
}

/// Graphics devices first (a GPU without a display), then Mesa's surfaceless platform (software
/// everywhere), then the default.
Result<EglContext> make_any_context(int cuda_device) {
    const char* client = eglQueryString(EGL_NO_DISPLAY, EGL_EXTENSIONS);
    const auto get_display = reinterpret_cast<PFNEGLGETPLATFORMDISPLAYEXTPROC>(
        eglGetProcAddress("eglGetPlatformDisplayEXT"));
    const auto query_devices =
        reinterpret_cast<PFNEGLQUERYDEVICESEXTPROC>(eglGetProcAddress("eglQueryDevicesEXT"));
    EglContext out;
    if (get_display && query_devices && has_extension(client, "EGL_EXT_platform_device")) {
        std::array<EGLDeviceEXT, 16> devices{};
        EGLint count = 0;
        if (query_devices(static_cast<EGLint>(devices.size()), devices.data(), &count))
            for (const std::size_t i :
                 order_of(std::span(devices).first(static_cast<std::size_t>(count)), cuda_device))
                if (make_context(get_display(EGL_PLATFORM_DEVICE_EXT, devices[i], nullptr), out)) {
                    out.platform = fmt::format("EGL device {}", i);
                    return out;
                }
    }
    if (get_display && has_extension(client, "EGL_MESA_platform_surfaceless") &&
        make_context(get_display(EGL_PLATFORM_SURFACELESS_MESA, EGL_DEFAULT_DISPLAY, nullptr),
                     out)) {
        out.platform = "EGL surfaceless";
        return out;
    }
    if (make_context(eglGetDisplay(EGL_DEFAULT_DISPLAY), out)) {
        out.platform = "EGL";
        return out;
    }
    return fail(ErrorKind::unsupported, "",
                "cannot create an OpenGL 4.5 context without a display through EGL",
                "install the graphics driver's EGL library, or Mesa's software one (package "
                "libgl1-mesa-dri)");
}

class HeadlessWindow final : public Window {
  public:
    HeadlessWindow(EglContext egl, const WindowOptions& options)
        : egl_(std::move(egl)),
          scale_(options.scale > 0 ? options.scale : 1.0),
          last_frame_(Clock::now()) {
        width_ = static_cast<int>(options.width * scale_);
        height_ = static_cast<int>(options.height * scale_);
        glCreateTextures(GL_TEXTURE_2D, 1, &texture_);
        glTextureStorage2D(texture_, 1, GL_RGBA8, width_, height_);
        glCreateFramebuffers(1, &framebuffer_);
        glNamedFramebufferTexture(framebuffer_, GL_COLOR_ATTACHMENT0, texture_, 0);
        glBindFramebuffer(GL_FRAMEBUFFER, framebuffer_);
    }
    ~HeadlessWindow() override {
        glDeleteFramebuffers(1, &framebuffer_);
        glDeleteTextures(1, &texture_);
        eglMakeCurrent(egl_.display, EGL_NO_SURFACE, EGL_NO_SURFACE, EGL_NO_CONTEXT);
        eglDestroyContext(egl_.display, egl_.context);
        eglTerminate(egl_.display);
    }
    HeadlessWindow(const HeadlessWindow&) = delete;
    HeadlessWindow& operator=(const HeadlessWindow&) = delete;

    void attach_imgui() override { ImGui_ImplOpenGL3_Init("#version 450 core"); }
    void detach_imgui() override { ImGui_ImplOpenGL3_Shutdown(); }
    void wait_events(double wait_seconds) override {
        const auto patience = std::chrono::milliseconds(static_cast<long>(wait_seconds * 1000));
        bell_.take_within(patience);
    }
    void wake() override { bell_.put({}); }
    void new_frame(const TakeKey& take) override {
        ImGui_ImplOpenGL3_NewFrame();
        ImGuiIO& io = ImGui::GetIO();
        const Clock::time_point now = Clock::now();
        io.DisplaySize = ImVec2(static_cast<float>(width_), static_cast<float>(height_));
        io.DisplayFramebufferScale = ImVec2(1, 1);
        io.DeltaTime = std::max(1e-4f, std::chrono::duration<float>(now - last_frame_).count());
        last_frame_ = now;
        input_.feed(io, take);
    }
    void show(ImDrawData* draw_data) override {
        glBindFramebuffer(GL_FRAMEBUFFER, framebuffer_);
        glViewport(0, 0, width_, height_);
        glClearColor(0.07f, 0.07f, 0.08f, 1);
        glClear(GL_COLOR_BUFFER_BIT);
        ImGui_ImplOpenGL3_RenderDrawData(draw_data);
        glFinish();  // there is no swap that would hold the frame rate back
    }

    bool take_activity() override { return std::exchange(activity_, false) || !input_.empty(); }
    std::vector<std::string> take_dropped_files() override { return {}; }
    bool close_requested() const override { return false; }
    void stay_open() override {}
    bool minimized() const override { return false; }
    double content_scale() const override { return scale_; }
    void set_title(const std::string&) override {}
    std::string description() const override {
        return fmt::format("headless ({}), {}", egl_.platform, gl_description());
    }

  private:
    using Clock = std::chrono::steady_clock;
    EglContext egl_;
    double scale_;
    int width_ = 0, height_ = 0;
    GLuint texture_ = 0, framebuffer_ = 0;
    Clock::time_point last_frame_;
    bool activity_ = true;
    Latest<std::monostate> bell_;
};

}  // namespace

Result<std::unique_ptr<Window>> open_headless_window(const WindowOptions& options) {
    auto context = make_any_context(options.cuda_device);
    if (!context) return tl::unexpected<Error>(context.error());
    if (auto loaded = load_gl(eglGetProcAddress); !loaded) {
        eglDestroyContext(context->display, context->context);
        eglTerminate(context->display);
        return tl::unexpected<Error>(loaded.error());
    }
    return std::make_unique<HeadlessWindow>(std::move(*context), options);
}

}  // namespace gs
