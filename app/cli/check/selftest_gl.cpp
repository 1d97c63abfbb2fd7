// Checks OpenGL without a display, as the headless studio uses it, and CUDA pictures in a texture.
#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <span>
#include <vector>

#include "app/cli/check/proof_scene.h"
#include "app/cli/check/selftest_checks.h"
#include "app/window/window.h"
#include "renderer/present/texture.h"

namespace gs::cli {
namespace {

constexpr int kSide = 64;

Result<std::unique_ptr<Window>> small_window() {
    const WindowOptions options{.width = kSide, .height = kSide, .headless = true};
    return open_window(options);
}

CheckRow check_context() {
    const auto window = small_window();
    if (!window)
        return {"OpenGL", "off-screen context (EGL)", "not here: " + window.error().text(), false,
                false};
    return {"OpenGL", "off-screen context (EGL)", (*window)->description(), true};
}

/// Pixels of `texture` that differ from the picture by more than rounding.
std::size_t wrong_pixels(const PresentTexture& texture, const DevicePicture& picture) {
    std::vector<std::uint8_t> bytes;
    picture.download([&](std::span<const std::uint8_t> p) { bytes.assign(p.begin(), p.end()); });
    std::size_t wrong = 0;
    for (int y = 0; y < picture.height; y += 3)
        for (int x = 0; x < picture.width; x += 3) {
            std::array<std::uint8_t, 4> rgba{};
            const std::uint8_t* expected =
                bytes.data() +
                4 * (static_cast<std::size_t>(y) * static_cast<std::size_t>(picture.width) +
                     static_cast<std::size_t>(x));
            wrong +=
                !texture.read_pixel(x, y, rgba) || !std::equal(rgba.begin(), rgba.end(), expected)
                    ? 1
                    : 0;
        }
    return wrong;
}

// Register, map, copy, unmap, read back: as many pictures, sizes and views as a short session has.
CheckRow check_interop(const Backend& backend) {
    const char* name = "pictures into a texture";
    const auto window = small_window();
    if (!window) return {"OpenGL", name, "no context: " + window.error().text(), false, false};
    const auto rasterizer = backend.make_rasterizer();
    if (!rasterizer) return {"OpenGL", name, rasterizer.error().text(), false};
    const GaussianModel model = make_proof_model({300, 1, 36});
    const auto source = (*rasterizer)->source_of(model);
    const auto state = (*rasterizer)->make_state();
    PresentPath path(make_cuda_texture_interop);
    PresentTexture texture(&path);
    const RenderOptions options{.depth = false, .gradients = false};
    std::size_t wrong = 0;
    for (std::uint64_t i = 0; i < 6; ++i) {
        RenderResult result;
        const int width = kSide + (i >= 3 ? 17 : 0);
        const auto picture =
            (*rasterizer)
                ->forward_for_display(*source, make_proof_camera(36, i, width, kSide), options,
                                      *state, result);
        if (!picture) return {"OpenGL", name, "the backend gave no picture", false};
        if (auto shown = texture.show(*picture); !shown)
            return {"OpenGL", name, shown.error().text(), false};
        wrong += wrong_pixels(texture, *picture);
    }
    texture.release();
    return {"OpenGL", name,
            fmt::format("{}; 6 pictures, {} pixels wrong", path.description(), wrong), wrong == 0};
}

}  // namespace

void add_gl_checks(CheckList& list, const Backend& backend) {
    list.push_back(check_context);
    if (backend.cuda) list.push_back([b = &backend] { return check_interop(*b); });
}

}  // namespace gs::cli
