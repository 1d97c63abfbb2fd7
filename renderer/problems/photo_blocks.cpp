#include "renderer/problems/photo_blocks.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/nth.h"
#include "base/parallel.h"
#include "renderer/math/psnr.h"

namespace gs {
namespace {

constexpr double kBlocksAcross = 48, kRegionShare = 0.95, kLeastPixels = 0.25;
constexpr int kSmallestBlock = 8;

double mean_of(float sum, const PhotoBlock& block) {
    return static_cast<double>(sum) / static_cast<double>(block.pixels);
}
bool counts(const PhotoBlock& block, const PhotoBlocks& of) {
    return static_cast<double>(block.pixels) > kLeastPixels * of.side * of.side;
}

PhotoBlock sum_block(const PhotoBlocks& of, int column, int row, const RenderResult& drawn,
                     const ImageF& error, const View& view, const Vec3f* background) {
    PhotoBlock out;
    double square = 0, sum = 0, alpha = 0;
    const Vec3f ground = background != nullptr ? *background : Vec3f{};
    const float plain[3] = {ground.x, ground.y, ground.z};
    const int y1 = std::min(of.height, (row + 1) * of.side),
              x1 = std::min(of.width, (column + 1) * of.side);
    for (int y = row * of.side; y < y1; ++y)
        for (int x = column * of.side; x < x1; ++x) {
            if (!view.mask.empty() && *view.mask.at(x, y) == 0) continue;
            out.pixels += 1;
            sum += static_cast<double>(error.at(0, x, y));
            alpha += static_cast<double>(drawn.alpha.at(0, x, y));
            float content = 0;
            for (int c = 0; c < 3; ++c) {
                const float photo = static_cast<float>(view.photo.at(x, y)[c]) / 255.0f;
                const float shown = std::clamp(drawn.color.at(c, x, y), 0.0f, 1.0f);
                const auto off = static_cast<double>(shown - photo);
                square += off * off;
                content += std::abs(photo - (background != nullptr ? plain[c] : shown)) / 3;
            }
            if (drawn.alpha.at(0, x, y) < kHoleAlpha && content > kLeastContent) out.bare += 1;
        }
    out.error = static_cast<float>(sum);
    out.square = static_cast<float>(square);
    out.alpha = static_cast<float>(alpha);
    return out;
}

/// The blocks from `first` on that share sides and are marked; their marks are taken away.
std::vector<int> component(const PhotoBlocks& of, std::vector<std::uint8_t>& marked, int first) {
    std::vector<int> out{first};
    marked[static_cast<std::size_t>(first)] = 0;
    for (std::size_t at = 0; at < out.size(); ++at) {
        const int block = out[at], column = block % of.columns;
        const std::pair<int, bool> beside[] = {
            {block - 1, column > 0},
            {block + 1, column + 1 < of.columns},
            {block - of.columns, block >= of.columns},
            {block + of.columns, block + of.columns < of.columns * of.rows}};
        for (const auto& [next, there] : beside)
            if (there && std::exchange(marked[static_cast<std::size_t>(next)], 0) != 0)
                out.push_back(next);
    }
    return out;
}

PhotoRegion region_of(const PhotoBlocks& of, std::span<const int> blocks) {
    PhotoRegion out{.view = of.view, .rect = {of.width, of.height, 0, 0}};
    double square = 0, alpha = 0;
    for (const int index : blocks) {
        const PhotoBlock& block = of.blocks[static_cast<std::size_t>(index)];
        const int x = index % of.columns * of.side, y = index / of.columns * of.side;
        out.rect = {std::min(out.rect.x0, x), std::min(out.rect.y0, y),
                    std::max(out.rect.x1, std::min(of.width, x + of.side)),
                    std::max(out.rect.y1, std::min(of.height, y + of.side))};
        out.pixels += static_cast<double>(block.pixels);
        out.error_sum += static_cast<double>(block.error);
        square += static_cast<double>(block.square);
        alpha += static_cast<double>(block.alpha);
        out.bare += static_cast<double>(block.bare);
    }
    out.mean_error = out.error_sum / out.pixels;
    out.psnr = math::psnr_of(square / (3 * out.pixels));
    out.mean_alpha = alpha / out.pixels;
    return out;
}

template <class Bad>
std::vector<PhotoRegion> regions_where(std::span<const PhotoBlocks> photos, Bad&& bad,
                                       double PhotoRegion::*rank, std::size_t most) {
    std::vector<PhotoRegion> out;
    for (const PhotoBlocks& photo : photos) {
        std::vector<std::uint8_t> marked;
        for (const PhotoBlock& block : photo.blocks)
            marked.push_back(counts(block, photo) && bad(block) ? 1 : 0);
        for (std::size_t i = 0; i < marked.size(); ++i)
            if (marked[i])
                out.push_back(region_of(photo, component(photo, marked, static_cast<int>(i))));
    }
    std::stable_sort(out.begin(), out.end(),
                     [&](const PhotoRegion& a, const PhotoRegion& b) { return a.*rank > b.*rank; });
    if (out.size() > most) out.resize(most);
    return out;
}

}  // namespace

int block_side(int width, int height) {
    return std::max(kSmallestBlock,
                    static_cast<int>(std::lround(std::max(width, height) / kBlocksAcross)));
}

PhotoBlocks sum_blocks(const RenderResult& drawn, const ImageF& error, const View& view,
                       std::size_t index, const Vec3f* background) {
    PhotoBlocks out{.view = index, .width = view.camera.width, .height = view.camera.height};
    out.side = block_side(out.width, out.height);
    out.columns = (out.width + out.side - 1) / out.side;
    out.rows = (out.height + out.side - 1) / out.side;
    const auto columns = static_cast<std::size_t>(out.columns);
    out.blocks.resize(columns * static_cast<std::size_t>(out.rows));
    parallel_for(out.blocks.size(), columns, [&](std::size_t i) {
        out.blocks[i] = sum_block(out, static_cast<int>(i % columns), static_cast<int>(i / columns),
                                  drawn, error, view, background);
    });
    return out;
}

double region_limit(std::span<const PhotoBlocks> photos) {
    std::vector<double> errors;
    for (const PhotoBlocks& photo : photos)
        for (const PhotoBlock& block : photo.blocks)
            if (counts(block, photo)) errors.push_back(mean_of(block.error, block));
    if (errors.empty()) return kLeastRegionError;
    return std::max(kLeastRegionError, quantile(errors, kRegionShare));
}

std::vector<PhotoRegion> bad_regions(std::span<const PhotoBlocks> photos, double limit,
                                     std::size_t most) {
    return regions_where(
        photos, [&](const PhotoBlock& block) { return mean_of(block.error, block) >= limit; },
        &PhotoRegion::error_sum, most);
}

std::vector<PhotoRegion> holes(std::span<const PhotoBlocks> photos, std::size_t most) {
    return regions_where(
        photos, [](const PhotoBlock& block) { return mean_of(block.bare, block) > 0.5; },
        &PhotoRegion::bare, most);
}

}  // namespace gs
