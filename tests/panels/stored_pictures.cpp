#include "tests/panels/stored_pictures.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <imgui.h>
#include <png.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <map>

#include "renderer/io/images/image_io.h"
#include "renderer/reference/loss.h"

namespace gs::test {
namespace {

constexpr double kLeastSsim = 0.98;
constexpr int kBlock = 64;

/// Versions of ImGui whose pictures are stored. The common set is of the first; each other has a
/// folder in it for the pictures that it draws differently.
constexpr std::array<std::string_view, 2> kVersions{"1.86", "1.90.1"};
fs::path common_folder() { return GAUSSCOPE_PICTURES; }
fs::path own_folder() { return common_folder() / IMGUI_VERSION; }
bool is_common() { return kVersions[0] == IMGUI_VERSION; }
fs::path stored_path(const std::string& name) {
    const fs::path own = own_folder() / (name + ".png");
    return fs::exists(own) ? own : common_folder() / (name + ".png");
}
bool storing() { return std::getenv("GAUSSCOPE_STORE_PICTURES") != nullptr; }

reference::Image values_of(const Image8& image) {
    reference::Image out{image.width, image.height, image.channels, {}};
    for (const std::uint8_t byte : image.bytes) out.values.push_back(byte / 255.0);
    return out;
}

/// The SSIM of the block that looks least like the stored one, and where it is.
struct WorstBlock {
    double ssim = 1;
    int x = 0, y = 0;
};
WorstBlock worst_block(const Image8& a, const Image8& b) {
    const std::vector<double> map = reference::ssim_map(values_of(a), values_of(b));
    WorstBlock worst;
    for (int y = 0; y < a.height; y += kBlock)
        for (int x = 0; x < a.width; x += kBlock) {
            const int right = std::min(x + kBlock, a.width),
                      bottom = std::min(y + kBlock, a.height);
            double sum = 0;
            for (int row = y; row < bottom; ++row)
                for (int k = (row * a.width + x) * 3; k < (row * a.width + right) * 3; ++k)
                    sum += map[static_cast<std::size_t>(k)];
            const double mean = sum / (3.0 * (right - x) * (bottom - y));
            if (mean < worst.ssim) worst = {mean, x, y};
        }
    return worst;
}

/// The stored picture, faint, with what changed in red.
Image8 difference_of(const Image8& stored, const Image8& now) {
    Image8 out = stored;
    for (std::size_t i = 0; i < out.bytes.size(); i += 3) {
        int change = 0;
        for (std::size_t c = 0; c < 3; ++c)
            change = std::max(change, std::abs(stored.bytes[i + c] - now.bytes[i + c]));
        const int gray = (stored.bytes[i] + stored.bytes[i + 1] + stored.bytes[i + 2]) / 6;
        out.bytes[i] = static_cast<std::uint8_t>(change > 4 ? std::min(255, 96 + change) : gray);
        out.bytes[i + 1] = out.bytes[i + 2] = static_cast<std::uint8_t>(change > 4 ? 0 : gray);
    }
    return out;
}

using Rgb = std::array<std::uint8_t, 3>;

Rgb rgb_of(const Image8& image, std::size_t pixel) {
    return {image.bytes[3 * pixel], image.bytes[3 * pixel + 1], image.bytes[3 * pixel + 2]};
}
int distance(const Rgb& a, const Rgb& b) {
    int sum = 0;
    for (std::size_t c = 0; c < 3; ++c) sum += (a[c] - b[c]) * (a[c] - b[c]);
    return sum;
}

/// The picture in 64 colours at most: the most frequent ones, then those that lie far from all of
/// them, so that a rare colour stays itself. A PNG of them is a sixth as large.
struct FewColors {
    std::vector<Rgb> palette;
    std::vector<std::uint8_t> indices;
    int width, height;

    explicit FewColors(const Image8& image) : width(image.width), height(image.height) {
        std::map<Rgb, std::size_t> count;
        std::vector<Rgb> pixels(image.pixels());
        for (std::size_t i = 0; i < pixels.size(); ++i) {
            pixels[i] = rgb_of(image, i);
            for (std::uint8_t& value : pixels[i])
                value = static_cast<std::uint8_t>(std::min(255, (value + 4) / 8 * 8));
            ++count[pixels[i]];
        }
        std::vector<Rgb> all;
        for (const auto& [color, times] : count) all.push_back(color);
        std::ranges::stable_sort(all,
                                 [&](const Rgb& a, const Rgb& b) { return count[a] > count[b]; });
        for (int reach = 64;; reach *= 2) {
            palette.assign(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(
                                                          std::min<std::size_t>(all.size(), 32)));
            for (const Rgb& color : all)
                if (std::ranges::all_of(palette,
                                        [&](const Rgb& p) { return distance(p, color) > reach; }))
                    palette.push_back(color);
            if (palette.size() <= 64) break;
        }
        std::map<Rgb, std::uint8_t> nearest;
        for (const auto& [color, times] : count) {
            const auto at = std::ranges::min_element(palette, [&](const Rgb& a, const Rgb& b) {
                return distance(a, color) < distance(b, color);
            });
            nearest[color] = static_cast<std::uint8_t>(at - palette.begin());
        }
        for (const Rgb& color : pixels) indices.push_back(nearest[color]);
    }
    Image8 image() const {
        Image8 out{width, height, 3, {}};
        for (const std::uint8_t index : indices)
            out.bytes.insert(out.bytes.end(), palette[index].begin(), palette[index].end());
        return out;
    }
    void store(const fs::path& path) const {
        png_image png{};
        png.version = PNG_IMAGE_VERSION;
        png.width = static_cast<png_uint_32>(width);
        png.height = static_cast<png_uint_32>(height);
        png.format = PNG_FORMAT_RGB_COLORMAP;
        png.colormap_entries = static_cast<png_uint_32>(palette.size());
        EXPECT_TRUE(
            png_image_write_to_file(&png, path.c_str(), 0, indices.data(), 0, palette.data()))
            << path << ": " << png.message;
    }
};

void write(const fs::path& path, const Image8& picture) {
    const auto written = write_png(path, picture);
    EXPECT_TRUE(written) << (written ? "" : written.error().text());
}

bool looks_like(const Image8& a, const Image8& b) {
    return a.width == b.width && a.height == b.height && a.channels == b.channels &&
           (a.bytes == b.bytes || worst_block(a, b).ssim >= kLeastSsim);
}

void store(const std::string& name, const FewColors& few, const Image8& picture) {
    const fs::path common = common_folder() / (name + ".png"), own = own_folder() / (name + ".png");
    if (is_common()) return few.store(common);
    fs::create_directories(own_folder());
    const auto known = read_image(common);
    if (known && looks_like(*known, picture))
        fs::remove(own);
    else
        few.store(own);
}

}  // namespace

std::string why_no_pictures() {
    const bool known = std::ranges::find(kVersions, IMGUI_VERSION) != kVersions.end();
    if (storing() || known) return {};
    return "no pictures are stored for ImGui " IMGUI_VERSION;
}

void expect_as_stored(const std::string& name, const Image8& drawn) {
    const FewColors few(drawn);
    const Image8 picture = few.image();
    if (storing()) return store(name, few, picture);
    const fs::path folder = fs::path(GAUSSCOPE_BUILD) / "panel_pictures";
    const std::string advice =
        "; look at it, and store it with GAUSSCOPE_STORE_PICTURES=1 "
        "build/tests/test_panel_pictures";
    fs::create_directories(folder);
    const fs::path path = stored_path(name);
    const auto stored = read_image(path);
    if (!stored || stored->width != picture.width || stored->height != picture.height ||
        stored->channels != 3) {
        write(folder / (name + ".png"), picture);
        ADD_FAILURE() << (stored ? "another size than " : "no picture ") << path.string() << ": "
                      << (folder / (name + ".png")).string() << advice;
        return;
    }
    if (looks_like(*stored, picture)) return;
    const WorstBlock worst = worst_block(*stored, picture);
    write(folder / (name + ".png"), picture);
    write(folder / (name + "_difference.png"), difference_of(*stored, picture));
    ADD_FAILURE() << fmt::format("{} looks otherwise, most at ({}, {}), SSIM {:.4f}: ", name,
                                 worst.x, worst.y, worst.ssim)
                  << (folder / (name + ".png")).string() << ", "
                  << (folder / (name + "_difference.png")).string() << advice;
}

}  // namespace gs::test
