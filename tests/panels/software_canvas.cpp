#include "tests/panels/software_canvas.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace gs::test {
namespace {

using Color = std::array<float, 4>;

Color color_of(ImU32 packed) {
    const ImVec4 c = ImGui::ColorConvertU32ToFloat4(packed);
    return {c.x, c.y, c.z, c.w};
}

Image8 font_picture() {
    unsigned char* pixels = nullptr;
    Image8 out;
    ImGui::GetIO().Fonts->GetTexDataAsRGBA32(&pixels, &out.width, &out.height);
    out.channels = 4;
    out.bytes.assign(pixels, pixels + 4 * out.pixels());
    return out;
}

/// Bilinear between texel centres, clamped at the edges.
Color sample(const Image8& image, float u, float v) {
    const float x = u * static_cast<float>(image.width) - 0.5F;
    const float y = v * static_cast<float>(image.height) - 0.5F;
    const float left = std::floor(x), top = std::floor(y), fx = x - left, fy = y - top;
    const auto column = [&](float at) {
        return std::clamp(static_cast<int>(at), 0, image.width - 1);
    };
    const auto row = [&](float at) {
        return std::clamp(static_cast<int>(at), 0, image.height - 1);
    };
    const std::array<const std::uint8_t*, 4> near{
        image.at(column(left), row(top)), image.at(column(left + 1), row(top)),
        image.at(column(left), row(top + 1)), image.at(column(left + 1), row(top + 1))};
    const std::array<float, 4> weight{(1 - fx) * (1 - fy), fx * (1 - fy), (1 - fx) * fy, fx * fy};
    Color out{};
    for (std::size_t k = 0; k < 4; ++k)
        for (std::size_t c = 0; c < 4; ++c) out[c] += weight[k] * near[k][c] / 255.0F;
    return out;
}

class Canvas {
  public:
    Canvas(int width, int height) {
        image.width = width;
        image.height = height;
        image.channels = 3;
        image.bytes.assign(3 * image.pixels(), 0);
    }
    /// Pixels whose centres lie inside; those on an edge belong to the triangle at their right or
    /// below, so that neighbours neither overlap nor leave a gap.
    void triangle(std::array<const ImDrawVert*, 3> v, const ImVec4& clip, const Image8& texture) {
        double area = edge(v[0]->pos, v[1]->pos, v[2]->pos.x, v[2]->pos.y);
        if (area == 0) return;
        if (area < 0) std::swap(v[1], v[2]), area = -area;
        const auto [left, right] = std::minmax({v[0]->pos.x, v[1]->pos.x, v[2]->pos.x});
        const auto [top, bottom] = std::minmax({v[0]->pos.y, v[1]->pos.y, v[2]->pos.y});
        const int x0 = first_pixel(std::max(left, clip.x), image.width),
                  x1 = first_pixel(std::min(right, clip.z), image.width - 1);
        const int y0 = first_pixel(std::max(top, clip.y), image.height),
                  y1 = first_pixel(std::min(bottom, clip.w), image.height - 1);
        const std::array<Color, 3> colors{color_of(v[0]->col), color_of(v[1]->col),
                                          color_of(v[2]->col)};
        for (int y = y0; y <= y1; ++y)
            for (int x = x0; x <= x1; ++x) {
                std::array<double, 3> share{};
                if (!inside(v, clip, x + 0.5, y + 0.5, share)) continue;
                Color color{};
                float u = 0, w = 0;
                for (std::size_t k = 0; k < 3; ++k) {
                    const auto part = static_cast<float>(share[k] / area);
                    for (std::size_t c = 0; c < 4; ++c) color[c] += part * colors[k][c];
                    u += part * v[k]->uv.x;
                    w += part * v[k]->uv.y;
                }
                const Color texel = sample(texture, u, w);
                for (std::size_t c = 0; c < 4; ++c) color[c] *= texel[c];
                blend(x, y, color);
            }
    }
    Image8 image;

  private:
    static int first_pixel(float at, int most) {
        return std::clamp(static_cast<int>(std::floor(at)), 0, most);
    }
    static double edge(const ImVec2& a, const ImVec2& b, double x, double y) {
        return static_cast<double>(b.x - a.x) * (y - static_cast<double>(a.y)) -
               static_cast<double>(b.y - a.y) * (x - static_cast<double>(a.x));
    }
    /// `share` of each corner, times the area.
    static bool inside(const std::array<const ImDrawVert*, 3>& v, const ImVec4& clip, double x,
                       double y, std::array<double, 3>& share) {
        if (x < static_cast<double>(clip.x) || x >= static_cast<double>(clip.z) ||
            y < static_cast<double>(clip.y) || y >= static_cast<double>(clip.w))
            return false;
        for (std::size_t k = 0; k < 3; ++k) {
            const ImVec2 &a = v[(k + 1) % 3]->pos, &b = v[(k + 2) % 3]->pos;
            share[k] = edge(a, b, x, y);
            const bool top_left = (a.y == b.y && b.x > a.x) || b.y < a.y;
            if (share[k] < 0 || (share[k] == 0 && !top_left)) return false;
        }
        return true;
    }
    void blend(int x, int y, const Color& over) {
        std::uint8_t* pixel = image.bytes.data() + (image.at(x, y) - image.bytes.data());
        for (std::size_t c = 0; c < 3; ++c) {
            const float value = over[3] * over[c] * 255 + (1 - over[3]) * pixel[c];
            pixel[c] = static_cast<std::uint8_t>(std::clamp(std::lround(value), 0L, 255L));
        }
    }
};

void draw_list(const ImDrawList& list, const ImVec2& corner, Canvas& canvas, const Image8& font,
               const CanvasTextures& textures) {
    for (const ImDrawCmd& command : list.CmdBuffer) {
        if (command.UserCallback) continue;
        const auto own = textures.find((std::uintptr_t)command.GetTexID());
        const Image8& texture = own == textures.end() ? font : own->second;
        ImVec4 clip = command.ClipRect;
        clip.x -= corner.x, clip.z -= corner.x, clip.y -= corner.y, clip.w -= corner.y;
        const auto vertex = [&](unsigned k) {
            return &list.VtxBuffer[static_cast<int>(
                command.VtxOffset + list.IdxBuffer[static_cast<int>(command.IdxOffset + k)])];
        };
        for (unsigned k = 0; k + 2 < command.ElemCount; k += 3)
            canvas.triangle({vertex(k), vertex(k + 1), vertex(k + 2)}, clip, texture);
    }
}

}  // namespace

Image8 drawn_in_software(const ImDrawData& data, const CanvasTextures& textures) {
    Canvas canvas(static_cast<int>(data.DisplaySize.x), static_cast<int>(data.DisplaySize.y));
    const Image8 font = font_picture();
    for (int i = 0; i < data.CmdListsCount; ++i)
        draw_list(*data.CmdLists[i], data.DisplayPos, canvas, font, textures);
    return std::move(canvas.image);
}

}  // namespace gs::test
