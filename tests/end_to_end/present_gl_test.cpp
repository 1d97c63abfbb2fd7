// Pictures from (emulated) device memory in a real OpenGL context, which is not the emulated
// device's: the fallback shows the right pixels, through resizes and after the context was lost.
// Headless through EGL.
#include <glad/gl.h>

#include <random>

#include "app/window/window.h"
#include "base/log.h"
#include "gtest/gtest.h"
#include "renderer/present/texture.h"
#include "renderer/raster/cuda/display.h"
#include "tests/support/emulator/emulator.h"

// As in studio_gl_test.cpp: the graphics driver leaves some memory behind and is unloaded before
// the leak check looks.
extern "C" const char* __asan_default_options();
extern "C" const char* __asan_default_options() { return "detect_leaks=0"; }

namespace gs {
namespace {

WindowOptions headless() { return {.width = 64, .height = 64, .headless = true}; }

std::shared_ptr<const DevicePicture> picture_of(cuda::DisplayPacker& packer,
                                                const cuda::Stream& stream, int width, int height,
                                                unsigned seed,
                                                std::vector<std::uint8_t>& expected) {
    std::mt19937 rng(seed);
    const std::size_t pixels = static_cast<std::size_t>(width * height);
    std::vector<float> color(3 * pixels);
    expected.assign(4 * pixels, 255);
    for (std::size_t i = 0; i < pixels; ++i)
        for (std::size_t c = 0; c < 3; ++c) {
            expected[4 * i + c] = static_cast<std::uint8_t>(rng());
            color[c * pixels + i] = static_cast<float>(expected[4 * i + c]) / 255;
        }
    cuda::DeviceBuffer<float> planes("colours of a test");
    planes.upload(color, stream);
    auto picture = packer.pack(planes.data(), width, height, stream);
    stream.synchronize();
    return picture;
}

std::vector<std::uint8_t> shown(const PresentTexture& texture) {
    std::vector<std::uint8_t> out(static_cast<std::size_t>(texture.width() * texture.height()) * 4);
    glPixelStorei(GL_PACK_ALIGNMENT, 1);
    glGetTextureImage(static_cast<GLuint>(texture.gl_name()), 0, GL_RGBA, GL_UNSIGNED_BYTE,
                      static_cast<GLsizei>(out.size()), out.data());
    EXPECT_EQ(glGetError(), static_cast<GLenum>(GL_NO_ERROR));
    return out;
}

TEST(PresentGl, the_fallback_shows_the_right_pixels_at_any_size) {
    auto window = open_window(headless());
    ASSERT_TRUE(window) << window.error().text();
    const cuda::Stream stream("drawing");
    cuda::DisplayPacker packer;
    PresentPath path(make_cuda_texture_interop);
    PresentTexture texture(&path);
    const auto lines = log_lines_after(0);
    const std::uint64_t before = lines.empty() ? 0 : lines.back().serial;
    std::vector<std::uint8_t> expected;
    for (unsigned i = 0; i < 24; ++i) {
        const int width = 1 + static_cast<int>(i * 13 % 61),
                  height = 1 + static_cast<int>(i * 7 % 37);
        ASSERT_TRUE(texture.show(*picture_of(packer, stream, width, height, i, expected)));
        ASSERT_EQ(shown(texture), expected) << width << " x " << height;
        std::array<std::uint8_t, 4> pixel{};
        ASSERT_TRUE(texture.read_pixel(width - 1, height - 1, pixel));
        EXPECT_TRUE(std::equal(pixel.begin(), pixel.end(), expected.end() - 4));
        EXPECT_FALSE(texture.read_pixel(width, 0, pixel));
        EXPECT_FALSE(texture.read_pixel(0, -1, pixel));
    }
    int announced = 0;
    for (const LogLine& line : log_lines_after(before))
        announced +=
            line.text.find("CUDA and OpenGL are on different devices") != std::string::npos;
    EXPECT_EQ(announced, 1);
    texture.release();
}

TEST(PresentGl, interop_writes_into_the_texture_that_opengl_shows) {
    auto window = open_window(headless());
    ASSERT_TRUE(window) << window.error().text();
    emulator::set_array_writer([](const emulator::ArrayWrite& write) {
        glPixelStorei(GL_UNPACK_ALIGNMENT, 1);
        glPixelStorei(GL_UNPACK_ROW_LENGTH, static_cast<GLint>(write.pitch / 4));
        glTextureSubImage2D(
            write.image, 0, static_cast<GLint>(write.x_bytes / 4), static_cast<GLint>(write.y),
            static_cast<GLsizei>(write.width_bytes / 4), static_cast<GLsizei>(write.height),
            GL_RGBA, GL_UNSIGNED_BYTE, write.pixels);
        glPixelStorei(GL_UNPACK_ROW_LENGTH, 0);
    });
    const cuda::Stream stream("drawing");
    cuda::DisplayPacker packer;
    PresentPath path(make_cuda_texture_interop);
    PresentTexture texture(&path);
    std::vector<std::uint8_t> expected;
    for (unsigned i = 0; i < 12; ++i) {
        const int width = 5 + static_cast<int>(i / 3) * 20, height = 9 + static_cast<int>(i / 3);
        ASSERT_TRUE(texture.show(*picture_of(packer, stream, width, height, i, expected)));
        ASSERT_EQ(shown(texture), expected);
        EXPECT_EQ(emulator::live_objects().graphics_resources, 1u);
    }
    EXPECT_EQ(path.description(), "interop");
    // The window closes, and its context with it: the texture discards its objects without calling
    // OpenGL. A new window starts from scratch.
    window->reset();
    texture.context_lost();
    EXPECT_EQ(emulator::live_objects().graphics_resources, 0u);
    window = open_window(headless());
    ASSERT_TRUE(window) << window.error().text();
    ASSERT_TRUE(texture.show(*picture_of(packer, stream, 30, 20, 99, expected)));
    EXPECT_EQ(shown(texture), expected);
    texture.release();
    emulator::set_array_writer(nullptr);
    EXPECT_EQ(emulator::live_objects().graphics_resources, 0u);
}

}  // namespace
}  // namespace gs
