#include <algorithm>

#include "base/check.h"
#include "renderer/io/images/image_io.h"

namespace gs {
namespace {

// Where output pixel i begins and ends on the source axis, and how much of its first and last
// source pixel it covers.
struct Footprint {
    int begin = 0, end = 0;
    float first = 1, last = 1;
};

std::vector<Footprint> footprints(int source, int target) {
    std::vector<Footprint> out(static_cast<std::size_t>(target));
    for (int i = 0; i < target; ++i) {
        // In units of 1 / target source pixels everything is an exact integer.
        const std::int64_t lo = static_cast<std::int64_t>(i) * source, hi = lo + source;
        const std::int64_t begin = lo / target, end = (hi + target - 1) / target;
        const float scale = 1.0f / static_cast<float>(target);
        Footprint& f = out[static_cast<std::size_t>(i)];
        f.begin = static_cast<int>(begin);
        f.end = static_cast<int>(end);
        f.first = static_cast<float>(std::min((begin + 1) * target, hi) - lo) * scale;
        f.last =
            f.end - f.begin == 1 ? f.first : static_cast<float>(hi - (end - 1) * target) * scale;
    }
    return out;
}

float weight(const Footprint& f, int i) {
    return i == f.begin ? f.first : i == f.end - 1 ? f.last : 1.0f;
}

}  // namespace

Image8 shrink(const Image8& image, int factor) {
    CHECK(factor >= 1);
    if (factor == 1 || image.empty()) return image;
    const int channels = image.channels;
    Image8 out{shrunk_size(image.width, factor), shrunk_size(image.height, factor), channels, {}};
    out.bytes.resize(out.pixels() * static_cast<std::size_t>(channels));
    std::vector<std::uint32_t> sums(static_cast<std::size_t>(out.width) *
                                    static_cast<std::size_t>(channels));
    for (int y = 0; y < out.height; ++y) {
        std::fill(sums.begin(), sums.end(), 0u);
        const int y0 = y * factor, y1 = std::min(y0 + factor, image.height);
        for (int sy = y0; sy < y1; ++sy) {
            const std::uint8_t* source = image.at(0, sy);
            for (int x = 0; x < out.width; ++x) {
                const int x0 = x * factor, x1 = std::min(x0 + factor, image.width);
                std::uint32_t* sum =
                    sums.data() + static_cast<std::size_t>(x) * static_cast<std::size_t>(channels);
                for (int sx = x0; sx < x1; ++sx)
                    for (int c = 0; c < channels; ++c) sum[c] += source[sx * channels + c];
            }
        }
        std::uint8_t* row = out.bytes.data() + static_cast<std::size_t>(y) * sums.size();
        for (int x = 0; x < out.width; ++x) {
            const int columns = std::min(factor, image.width - x * factor);
            const auto area = static_cast<std::uint32_t>(columns * (y1 - y0));
            for (int c = 0; c < channels; ++c)
                row[x * channels + c] = static_cast<std::uint8_t>(
                    (sums[static_cast<std::size_t>(x * channels + c)] + area / 2) / area);
        }
    }
    return out;
}

Image8 resize_area(const Image8& image, int width, int height) {
    CHECK(width >= 1 && height >= 1 && width <= image.width && height <= image.height);
    if (width == image.width && height == image.height) return image;
    const int channels = image.channels;
    const auto columns = footprints(image.width, width), rows = footprints(image.height, height);
    Image8 out{width, height, channels, {}};
    out.bytes.resize(out.pixels() * static_cast<std::size_t>(channels));
    std::vector<float> line(static_cast<std::size_t>(image.width) *
                            static_cast<std::size_t>(channels));
    const float area =
        static_cast<float>(static_cast<double>(width) / image.width * height / image.height);
    std::uint8_t* target = out.bytes.data();
    for (const Footprint& row : rows) {
        std::fill(line.begin(), line.end(), 0.0f);
        for (int y = row.begin; y < row.end; ++y) {
            const float w = weight(row, y);
            const std::uint8_t* source = image.at(0, y);
            for (std::size_t i = 0; i < line.size(); ++i)
                line[i] += w * static_cast<float>(source[i]);
        }
        for (const Footprint& column : columns)
            for (int c = 0; c < channels; ++c) {
                float sum = 0;
                for (int x = column.begin; x < column.end; ++x)
                    sum += weight(column, x) * line[static_cast<std::size_t>(x * channels + c)];
                *target++ = static_cast<std::uint8_t>(std::clamp(sum * area + 0.5f, 0.0f, 255.0f));
            }
    }
    return out;
}

ImageF to_float(const Image8& image) {
    ImageF out(image.width, image.height, image.channels);
    const auto channels = static_cast<std::size_t>(image.channels);
    for (std::size_t c = 0; c < channels; ++c) {
        float* plane = out.plane(static_cast<int>(c));
        for (std::size_t i = 0; i < image.pixels(); ++i)
            plane[i] = static_cast<float>(image.bytes[i * channels + c]) / 255.0f;
    }
    return out;
}

Image8 to_bytes(const ImageF& image) {
    Image8 out{image.width, image.height, image.channels, {}};
    const auto channels = static_cast<std::size_t>(image.channels);
    out.bytes.resize(image.pixels() * channels);
    for (std::size_t c = 0; c < channels; ++c) {
        const float* plane = image.plane(static_cast<int>(c));
        for (std::size_t i = 0; i < image.pixels(); ++i) {
            const float v = plane[i];
            // The comparison is written so that NaN becomes 0.
            out.bytes[i * channels + c] =
                v > 0 ? static_cast<std::uint8_t>(std::min(v, 1.0f) * 255.0f + 0.5f)
                      : std::uint8_t{0};
        }
    }
    return out;
}

}  // namespace gs
