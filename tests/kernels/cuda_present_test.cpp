// From the float planes of a frame to the texture on the screen, on the emulated device: packing,
// loans, interop and its fallback. OpenGL is a handful of functions put in place of the loaded
// ones: it keeps the pixels of its textures and counts what is done to them.
#include <glad/gl.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <map>
#include <random>
#include <thread>

#include "base/log.h"
#include "renderer/present/texture.h"
#include "renderer/raster/cuda/display.h"
#include "tests/support/emulator/emulator.h"

namespace gs {
namespace {

/// OpenGL as far as PresentTexture goes.
struct FakeGl {
    struct Texture {
        int width = 0, height = 0, channels = 0;
        std::vector<std::uint8_t> bytes;
    };
    std::map<GLuint, Texture> textures;
    GLuint last_name = 0;
    int calls = 0, uploads = 0, interop_writes = 0, strays = 0;
};
FakeGl* fake = nullptr;

void GLAD_API_PTR create_textures(GLenum, GLsizei n, GLuint* names) {
    ++fake->calls;
    for (int i = 0; i < n; ++i) fake->textures[names[i] = ++fake->last_name];
}
void GLAD_API_PTR texture_storage(GLuint name, GLsizei, GLenum format, GLsizei width,
                                  GLsizei height) {
    ++fake->calls;
    FakeGl::Texture& texture = fake->textures.at(name);
    texture = {width, height, format == GL_RGBA8 ? 4 : 3, {}};
    texture.bytes.resize(static_cast<std::size_t>(width * height * texture.channels));
}
void GLAD_API_PTR texture_parameter(GLuint, GLenum, GLint) { ++fake->calls; }
void GLAD_API_PTR pixel_store(GLenum, GLint) { ++fake->calls; }
void GLAD_API_PTR texture_sub_image(GLuint name, GLint, GLint, GLint, GLsizei, GLsizei, GLenum,
                                    GLenum, const void* pixels) {
    ++fake->calls;
    ++fake->uploads;
    FakeGl::Texture& texture = fake->textures.at(name);
    std::memcpy(texture.bytes.data(), pixels, texture.bytes.size());
}
void GLAD_API_PTR delete_textures(GLsizei n, const GLuint* names) {
    ++fake->calls;
    for (int i = 0; i < n; ++i) fake->strays += fake->textures.erase(names[i]) == 1 ? 0 : 1;
}

/// Where the emulated device puts pixels it writes to a mapped image.
void write_array(const emulator::ArrayWrite& write) {
    ++fake->interop_writes;
    const auto texture = fake->textures.find(write.image);
    if (write.target != GL_TEXTURE_2D || texture == fake->textures.end() ||
        texture->second.channels != 4 ||
        write.x_bytes + write.width_bytes > static_cast<std::size_t>(texture->second.width) * 4 ||
        write.y + write.height > static_cast<std::size_t>(texture->second.height)) {
        ++fake->strays;
        return;
    }
    for (std::size_t row = 0; row < write.height; ++row)
        std::memcpy(texture->second.bytes.data() +
                        (write.y + row) * static_cast<std::size_t>(texture->second.width) * 4 +
                        write.x_bytes,
                    static_cast<const std::uint8_t*>(write.pixels) + row * write.pitch,
                    write.width_bytes);
}

class Present : public testing::Test {
  protected:
    void SetUp() override {
        fake = &gl_;
        glad_glCreateTextures = create_textures;
        glad_glTextureStorage2D = texture_storage;
        glad_glTextureParameteri = texture_parameter;
        glad_glPixelStorei = pixel_store;
        glad_glTextureSubImage2D = texture_sub_image;
        glad_glDeleteTextures = delete_textures;
        emulator::set_array_writer(write_array);
        emulator::set_execution(emulator::Execution::deferred);
        before_ = emulator::live_objects();
    }
    void TearDown() override {
        emulator::set_execution(emulator::Execution::eager);
        emulator::set_array_writer(nullptr);
        EXPECT_EQ(gl_.strays, 0) << "a texture that is not there was written or deleted";
        EXPECT_EQ(emulator::live_objects().graphics_resources, 0u);
        EXPECT_EQ(emulator::live_objects().events, before_.events);
        EXPECT_EQ(emulator::live_objects().streams, before_.streams);
        EXPECT_EQ(emulator::live_allocations().size(), 0u);
    }
    /// A picture whose pixels follow from `seed`; some are beyond 0..1.
    std::vector<float> planes(int width, int height, unsigned seed) const {
        std::mt19937 rng(seed);
        std::uniform_real_distribution<float> value(-0.2f, 1.2f);
        std::vector<float> out(static_cast<std::size_t>(width * height) * 3);
        for (float& v : out) v = value(rng);
        return out;
    }
    static std::vector<std::uint8_t> packed(const std::vector<float>& color) {
        const std::size_t pixels = color.size() / 3;
        std::vector<std::uint8_t> out(pixels * 4, 255);
        for (std::size_t i = 0; i < pixels; ++i)
            for (std::size_t c = 0; c < 3; ++c)
                out[4 * i + c] = static_cast<std::uint8_t>(
                    std::clamp(color[c * pixels + i], 0.0f, 1.0f) * 255.0f + 0.5f);
        return out;
    }
    const std::vector<std::uint8_t>& shown(const PresentTexture& texture) {
        return gl_.textures.at(static_cast<GLuint>(texture.gl_name())).bytes;
    }
    static std::uint64_t last_log() {
        const auto lines = log_lines_after(0);
        return lines.empty() ? 0 : lines.back().serial;
    }
    static int log_lines_with(std::uint64_t after, std::string_view words) {
        int count = 0;
        for (const LogLine& line : log_lines_after(after))
            count += line.text.find(words) != std::string::npos;
        return count;
    }

    FakeGl gl_;
    emulator::LiveObjects before_{};
};

/// The device side: planes are uploaded and packed.
struct Drawer {
    cuda::Stream stream{"drawing"};
    cuda::DeviceBuffer<float> color{"colours of a test"};
    cuda::DisplayPacker packer;

    std::shared_ptr<const DevicePicture> draw(const std::vector<float>& planes, int width,
                                              int height) {
        color.upload(planes, stream);
        return packer.pack(color.data(), width, height, stream);
    }
};

TEST_F(Present, packing_gives_the_bytes_of_the_host) {
    Drawer drawer;
    for (const auto& [width, height] :
         {std::pair{1, 1}, {7, 5}, {64, 1}, {1, 65}, {67, 33}, {256, 9}}) {
        const auto color = planes(width, height, static_cast<unsigned>(width));
        const auto picture = drawer.draw(color, width, height);
        ASSERT_TRUE(picture);
        EXPECT_EQ(picture->width, width);
        EXPECT_EQ(picture->height, height);
        EXPECT_GE(picture->pitch, static_cast<std::size_t>(width) * 4);
        std::vector<std::uint8_t> bytes;
        picture->download(
            [&](std::span<const std::uint8_t> rgba) { bytes.assign(rgba.begin(), rgba.end()); });
        EXPECT_EQ(bytes, packed(color)) << width << " x " << height;
    }
}

TEST_F(Present, packing_rounds_every_level_as_the_host_does_and_survives_poison) {
    Drawer drawer;
    std::vector<float> color;
    for (int c = 0; c < 3; ++c)
        for (int i = 0; i < 1021; ++i)
            color.push_back((static_cast<float>(i) + 0.001f * static_cast<float>(c)) / 1020);
    const auto expected = packed(color);
    const float poison[] = {NAN, INFINITY, -INFINITY};
    color.insert(color.begin() + 1021, 0.0f), color.insert(color.begin() + 2043, 0.0f),
        color.push_back(0.0f);
    for (int c = 0; c < 3; ++c) color[static_cast<std::size_t>(1022 * c + 1021)] = poison[c];
    const auto picture = drawer.draw(color, 1022, 1);
    picture->download([&](std::span<const std::uint8_t> rgba) {
        EXPECT_EQ(std::memcmp(rgba.data(), expected.data(), expected.size()), 0);
        EXPECT_EQ(rgba[1021 * 4], 0) << "NaN";
        EXPECT_EQ(rgba[1021 * 4 + 1], 255);
        EXPECT_EQ(rgba[1021 * 4 + 2], 0);
    });
}

TEST_F(Present, pictures_are_lent_and_come_back_from_any_thread) {
    std::shared_ptr<const DevicePicture> survivor;
    {
        Drawer drawer;
        const auto color = planes(20, 10, 1);
        std::vector<std::shared_ptr<const DevicePicture>> loans;
        for (std::size_t i = 0; i < cuda::kDisplayPictures; ++i) {
            loans.push_back(drawer.draw(color, 20, 10));
            ASSERT_TRUE(loans.back());
        }
        EXPECT_FALSE(drawer.draw(color, 20, 10)) << "all are on loan";
        const auto calls = emulator::calls();
        for (int i = 0; i < 200; ++i) {
            std::thread([&] { loans.erase(loans.begin()); }).join();
            loans.push_back(drawer.packer.pack(drawer.color.data(), 20, 10, drawer.stream));
            ASSERT_TRUE(loans.back());
        }
        const auto used = emulator::difference(calls, emulator::calls());
        EXPECT_EQ(emulator::allocations(used), 0u);
        EXPECT_EQ(emulator::synchronizations(used), 0u) << "neither side waits for the other";
        survivor = loans.back();
    }
    survivor->download([&](std::span<const std::uint8_t> rgba) {
        EXPECT_TRUE(std::equal(rgba.begin(), rgba.end(), packed(planes(20, 10, 1)).begin()))
            << "outlives its pool";
    });
}

TEST_F(Present, ten_thousand_frames_map_and_unmap_and_nothing_piles_up) {
    PresentPath path(make_cuda_texture_interop);
    Drawer drawer;
    PresentTexture texture(&path);
    const auto log = last_log();
    const auto one = planes(24, 16, 1), two = planes(24, 16, 2);
    ASSERT_TRUE(texture.show(*drawer.draw(one, 24, 16)));
    const auto objects = emulator::live_objects();
    const auto memory = emulator::live_allocations().size();
    const auto calls = emulator::calls();
    cuda::DeviceBuffer<float> other("colours of a test");
    other.upload(two, drawer.stream);
    for (int i = 0; i < 10'000; ++i) {
        const auto picture =
            drawer.packer.pack((i % 2 == 0 ? other : drawer.color).data(), 24, 16, drawer.stream);
        ASSERT_TRUE(picture);
        ASSERT_TRUE(texture.show(*picture));
        if (i % 997 == 0) {
            ASSERT_EQ(shown(texture), packed(i % 2 == 0 ? two : one));
        }
    }
    const auto used = emulator::difference(calls, emulator::calls());
    EXPECT_EQ(used.at("cudaGraphicsMapResources"), 10'000u);
    EXPECT_EQ(used.at("cudaGraphicsUnmapResources"), 10'000u);
    EXPECT_EQ(used.count("cudaGraphicsGLRegisterImage"), 0u) << "registered once for its size";
    EXPECT_EQ(used.count("cudaStreamSynchronize"), 0u);
    EXPECT_EQ(emulator::live_objects().graphics_resources, 1u);
    EXPECT_EQ(emulator::live_objects().events, objects.events);
    EXPECT_EQ(emulator::live_objects().streams, objects.streams);
    EXPECT_EQ(emulator::live_allocations().size(), memory + 1);  // `other`
    EXPECT_EQ(gl_.uploads, 0) << "nothing went through the host";
    EXPECT_EQ(path.description(), "interop");
    EXPECT_EQ(log_lines_with(log, "interop"), 1);
}

TEST_F(Present, a_resize_storm_leaves_one_registration) {
    PresentPath path(make_cuda_texture_interop);
    Drawer drawer;
    PresentTexture texture(&path);
    std::mt19937 rng(7);
    for (int i = 0; i < 1500; ++i) {
        const int width = 1 + static_cast<int>(rng() % 90),
                  height = 1 + static_cast<int>(rng() % 60);
        const auto color = planes(width, height, static_cast<unsigned>(i));
        ASSERT_TRUE(texture.show(*drawer.draw(color, width, height)));
        EXPECT_EQ(texture.width(), width);
        ASSERT_EQ(emulator::live_objects().graphics_resources, 1u);
        ASSERT_EQ(gl_.textures.size(), 1u);
        if (i % 100 == 0) {
            ASSERT_EQ(shown(texture), packed(color));
        }
        // Now and then a heatmap from the host comes between, and the empty viewport.
        if (i % 7 == 3)
            texture.upload(
                {width, height, i % 2 == 0 ? 3 : 4,
                 std::vector<std::uint8_t>(
                     static_cast<std::size_t>(width * height * (i % 2 == 0 ? 3 : 4)), 9)});
        if (i % 11 == 5) texture.release();
    }
    texture.release();
    EXPECT_EQ(gl_.textures.size(), 0u);
}

TEST_F(Present, textures_may_be_moved_about) {
    PresentPath path(make_cuda_texture_interop);
    Drawer drawer;
    const auto color = planes(12, 9, 3);
    PresentTexture texture(&path);
    ASSERT_TRUE(texture.show(*drawer.draw(color, 12, 9)));
    PresentTexture second(std::move(texture));
    ASSERT_TRUE(second.show(*drawer.draw(color, 12, 9)));
    PresentTexture third;
    third = std::move(second);
    ASSERT_TRUE(third.show(*drawer.draw(color, 12, 9)));
    EXPECT_EQ(shown(third), packed(color));
    EXPECT_EQ(emulator::live_objects().graphics_resources, 1u);
}

TEST_F(Present, a_lost_context_is_forgotten_without_a_call_to_opengl) {
    PresentPath path(make_cuda_texture_interop);
    Drawer drawer;
    PresentTexture texture(&path);
    const auto color = planes(12, 9, 3);
    ASSERT_TRUE(texture.show(*drawer.draw(color, 12, 9)));
    gl_.textures.clear();  // with their context
    const int calls = gl_.calls;
    texture.context_lost();
    EXPECT_EQ(gl_.calls, calls);
    EXPECT_EQ(texture.gl_name(), 0u);
    EXPECT_EQ(emulator::live_objects().graphics_resources, 0u);
    // A new context starts from scratch.
    ASSERT_TRUE(texture.show(*drawer.draw(color, 12, 9)));
    EXPECT_EQ(shown(texture), packed(color));
}

TEST_F(Present, another_gpu_for_opengl_is_announced_once_and_pictures_are_uploaded) {
    emulator::set_array_writer(nullptr);  // CUDA's device draws no OpenGL
    PresentPath path(make_cuda_texture_interop);
    Drawer drawer;
    PresentTexture texture(&path), second(&path);
    const auto log = last_log();
    for (int i = 0; i < 20; ++i) {
        const auto color = planes(31, 17, static_cast<unsigned>(i));
        const auto picture = drawer.draw(color, 31, 17);
        ASSERT_TRUE((i % 2 == 0 ? texture : second).show(*picture));
        ASSERT_EQ(shown(i % 2 == 0 ? texture : second), packed(color));
    }
    EXPECT_EQ(log_lines_with(log, "CUDA and OpenGL are on different devices"), 1);
    EXPECT_EQ(path.description(), "upload: CUDA and OpenGL are on different devices");
    EXPECT_EQ(gl_.uploads, 20);
    EXPECT_EQ(gl_.interop_writes, 0);
}

TEST_F(Present, without_interop_in_the_build_pictures_are_uploaded) {
    PresentPath path(nullptr);
    Drawer drawer;
    PresentTexture texture(&path), plain;
    const auto log = last_log();
    const auto color = planes(31, 17, 5);
    for (int i = 0; i < 3; ++i) {
        ASSERT_TRUE(texture.show(*drawer.draw(color, 31, 17)));
        ASSERT_TRUE(plain.show(*drawer.draw(color, 31, 17)));
    }
    EXPECT_EQ(shown(texture), packed(color));
    EXPECT_EQ(shown(plain), packed(color));
    EXPECT_EQ(log_lines_with(log, "host memory"), 1);
}

/// Works a few times, then fails: a driver that changes its mind.
class FailingInterop final : public TextureInterop {
  public:
    Result<void> attach(unsigned texture, const DevicePicture& picture) override {
        return inner_->attach(texture, picture);
    }
    Result<void> write(const DevicePicture& picture) override {
        if (++writes_ > 3)
            return fail(ErrorKind::unsupported, "", "mapping the texture: unknown error");
        return inner_->write(picture);
    }
    void detach() noexcept override { inner_->detach(); }

  private:
    std::unique_ptr<TextureInterop> inner_ = make_cuda_texture_interop();
    int writes_ = 0;
};

TEST_F(Present, interop_that_fails_later_falls_back_with_the_same_picture) {
    PresentPath path(
        []() -> std::unique_ptr<TextureInterop> { return std::make_unique<FailingInterop>(); });
    Drawer drawer;
    PresentTexture texture(&path);
    for (int i = 0; i < 8; ++i) {
        const auto color = planes(15, 15, static_cast<unsigned>(i));
        ASSERT_TRUE(texture.show(*drawer.draw(color, 15, 15)));
        ASSERT_EQ(shown(texture), packed(color)) << i;
        EXPECT_EQ(emulator::live_objects().graphics_resources, i < 3 ? 1u : 0u);
    }
    EXPECT_EQ(gl_.interop_writes, 3);
    EXPECT_EQ(path.description(), "upload: mapping the texture: unknown error");
}

TEST_F(Present, a_picture_that_cannot_be_read_is_an_error_and_the_texture_keeps_what_it_showed) {
    PresentPath path(nullptr);
    Drawer drawer;
    PresentTexture texture(&path);
    const auto color = planes(10, 10, 1);
    const auto picture = drawer.draw(color, 10, 10);
    emulator::fail_pinned_allocation(1);
    const auto shown_now = texture.show(*picture);
    ASSERT_FALSE(shown_now);
    EXPECT_NE(shown_now.error().message.find("could not be shown"), std::string::npos);
    ASSERT_TRUE(texture.show(*picture));
    EXPECT_EQ(shown(texture), packed(color));
}

}  // namespace
}  // namespace gs
