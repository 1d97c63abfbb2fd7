#include "app/window/window.h"

#include <glad/gl.h>
#include <imgui.h>
#include <imgui/backends/imgui_impl_opengl3.h>

#include <cstring>

#include "base/check.h"

namespace gs {

Result<std::unique_ptr<Window>> open_window(const WindowOptions& options) {
    return options.headless ? open_headless_window(options) : open_glfw_window(options);
}

Result<void> load_gl(void (*(*load)(const char*))()) {
    const int version = gladLoadGL(load);
    if (version < GLAD_MAKE_VERSION(4, 5)) {
        return fail(
            ErrorKind::unsupported, "",
            fmt::format("this display offers only OpenGL {}.{}; 4.5 is needed",
                        GLAD_VERSION_MAJOR(version), GLAD_VERSION_MINOR(version)),
            "update the graphics driver, or set LIBGL_ALWAYS_SOFTWARE=1 to draw in software");
    }
    return {};
}

std::string gl_description() {
    const auto text = [](GLenum name) {
        const GLubyte* value = glGetString(name);
        return value ? std::string(reinterpret_cast<const char*>(value)) : std::string("unknown");
    };
    return fmt::format("OpenGL {}, {}", text(GL_VERSION), text(GL_RENDERER));
}

Image8 picture_of(ImDrawData* draw_data, int width, int height) {
    CHECK(width > 0 && height > 0, "an off-screen picture of {} x {}", width, height);
    GLuint texture = 0, framebuffer = 0;
    GLint before = 0;
    glGetIntegerv(GL_DRAW_FRAMEBUFFER_BINDING, &before);
    glCreateTextures(GL_TEXTURE_2D, 1, &texture);
    glTextureStorage2D(texture, 1, GL_RGBA8, width, height);
    glCreateFramebuffers(1, &framebuffer);
    glNamedFramebufferTexture(framebuffer, GL_COLOR_ATTACHMENT0, texture, 0);
    glBindFramebuffer(GL_FRAMEBUFFER, framebuffer);
    glViewport(0, 0, width, height);
    glClearColor(0, 0, 0, 1);
    glClear(GL_COLOR_BUFFER_BIT);
    ImGui_ImplOpenGL3_RenderDrawData(draw_data);

    Image8 out{width, height, 3, {}};
    out.bytes.resize(out.pixels() * 3);
    const std::size_t row = static_cast<std::size_t>(width) * 3;
    std::vector<std::uint8_t> bottom_up(out.bytes.size());
    glPixelStorei(GL_PACK_ALIGNMENT, 1);
    glReadPixels(0, 0, width, height, GL_RGB, GL_UNSIGNED_BYTE, bottom_up.data());
    for (int y = 0; y < height; ++y)
        std::memcpy(out.bytes.data() + static_cast<std::size_t>(y) * row,
                    bottom_up.data() + static_cast<std::size_t>(height - 1 - y) * row, row);
    glBindFramebuffer(GL_FRAMEBUFFER, static_cast<GLuint>(before));
    glDeleteFramebuffers(1, &framebuffer);
    glDeleteTextures(1, &texture);
    return out;
}

}  // namespace gs
