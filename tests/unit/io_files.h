// Small captures and pictures on disk for the tests of renderer/io, written to a temporary folder
// for each test.
#pragma once

#include <gmock/gmock.h>
#include <unistd.h>

#include <array>
#include <fstream>
#include <string>
#include <vector>

#include "base/check.h"
#include "base/file.h"
#include "renderer/io/captures/capture_io.h"
#include "renderer/io/images/image_io.h"
#include "tests/support/required.h"
#include "tests/support/temporary_folder.h"

namespace gs::test {

using ::testing::HasSubstr;

class TempFolder : public TemporaryFolder {
  public:
    /// Writes a file, making its folder.
    fs::path write(const fs::path& name, std::string_view content) const {
        fs::create_directories((path() / name).parent_path());
        // Without the sync of write_text_file (and ext4's, when a file is replaced): thousands of
        // these are written.
        fs::remove(path() / name);
        std::ofstream file(path() / name, std::ios::binary | std::ios::trunc);
        file.write(content.data(), static_cast<std::streamsize>(content.size()));
        CHECK(file.good());
        return path() / name;
    }
};

/// Appends the bytes of values.
class Packer {
  public:
    template <class T>
    Packer& add(T value) {
        bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
        return *this;
    }
    Packer& text(std::string_view value) {
        bytes.append(value);
        bytes.push_back('\0');
        return *this;
    }
    std::string bytes;
};

/// A picture whose every pixel differs from its neighbours.
inline Image8 pattern(int width, int height, int channels, int seed = 0) {
    Image8 image{width, height, channels, {}};
    for (int y = 0; y < height; ++y)
        for (int x = 0; x < width; ++x)
            for (int c = 0; c < channels; ++c)
                image.bytes.push_back(static_cast<std::uint8_t>(
                    (x * 7 + y * 13 + c * 101 + x * y + seed * 37) & 255));
    return image;
}
inline Image8 constant(int width, int height, std::vector<std::uint8_t> pixel) {
    Image8 image{width, height, static_cast<int>(pixel.size()), {}};
    for (std::size_t i = 0; i < image.pixels(); ++i)
        image.bytes.insert(image.bytes.end(), pixel.begin(), pixel.end());
    return image;
}
inline void put_png(const fs::path& path, const Image8& image) {
    fs::create_directories(path.parent_path());
    const auto done = write_png(path, image);
    CHECK(done.has_value());
}

/// A COLMAP model of one camera whose files can be spoilt before they are written.
struct ColmapFiles {
    int model = 1;  ///< PINHOLE
    std::uint64_t width = 24, height = 18;
    std::vector<double> params = {30, 31, 11, 10};
    std::vector<std::string> names = {"a.png", "b.png", "c.png"};
    std::array<double, 4> rotation = {1, 0, 0, 0};
    std::size_t points = 5;

    std::string cameras() const {
        Packer out;
        out.add<std::uint64_t>(1).add<std::uint32_t>(7).add<std::int32_t>(model).add(width).add(
            height);
        for (const double p : params) out.add(p);
        return out.bytes;
    }
    std::string images() const {
        Packer out;
        out.add<std::uint64_t>(names.size());
        for (std::size_t i = 0; i < names.size(); ++i) {
            out.add<std::uint32_t>(static_cast<std::uint32_t>(i + 1));
            for (const double q : rotation) out.add(q);
            out.add(0.5 * static_cast<double>(i))
                .add(0.25)
                .add(2.0)
                .add<std::uint32_t>(7)
                .text(names[i]);
            out.add<std::uint64_t>(1).add(3.0).add(4.0).add<std::int64_t>(-1);
        }
        return out.bytes;
    }
    std::string points3d() const {
        Packer out;
        out.add<std::uint64_t>(points);
        for (std::size_t i = 0; i < points; ++i) {
            out.add<std::uint64_t>(i + 1).add(0.1 * static_cast<double>(i)).add(0.2).add(3.0);
            out.add<std::uint8_t>(1).add<std::uint8_t>(2).add<std::uint8_t>(3).add(0.5);
            out.add<std::uint64_t>(1).add<std::int32_t>(1).add<std::int32_t>(0);
        }
        return out.bytes;
    }
    void write(const TempFolder& folder, const fs::path& to = "sparse/0") const {
        folder.write(to / "cameras.bin", cameras());
        folder.write(to / "images.bin", images());
        folder.write(to / "points3D.bin", points3d());
    }
    void write_photos(const TempFolder& folder) const {
        for (std::size_t i = 0; i < names.size(); ++i)
            put_png(
                folder / "images" / names[i],
                pattern(static_cast<int>(width), static_cast<int>(height), 3, static_cast<int>(i)));
    }
    void write_capture(const TempFolder& folder) const {
        write(folder);
        write_photos(folder);
    }
};

/// A camera-to-world matrix as text, at (0, 0, z), looking along -z (OpenGL). A line each.
inline std::string joined(const std::vector<std::string>& lines) {
    std::string out;
    for (const std::string& line : lines) out += line + "\n";
    return out;
}
inline CaptureOptions no_split() { return {.test_every = 0}; }
/// The same, and photos are resampled to pinholes.
inline CaptureOptions pinholes() {
    CaptureOptions options = no_split();
    options.undistort = true;
    return options;
}
inline std::string matrix_at(double x, double z) {
    return fmt::format("[[1,0,0,{}],[0,1,0,0],[0,0,1,{}],[0,0,0,1]]", x, z);
}

}  // namespace gs::test
