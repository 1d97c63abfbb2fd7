// Every splat file of the reference data against the values an independent program decodes from it
// (decoded/*.npz), and against what an independent renderer shows of it (renders/*.png).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "renderer/io/images/image_io.h"
#include "renderer/io/splats/splat_io.h"
#include "renderer/raster/rasterizer.h"
#include "tests/support/data.h"
#include "tests/support/npz.h"
#include "tests/support/required.h"

namespace gs::test {
namespace {

double sigmoid(double logit) { return 1 / (1 + std::exp(-logit)); }

// Largest differences over the rows of a decoded file.
struct Deviation {
    double position = 0, log_scale = 0, rotation = 0, opacity = 0, f_dc = 0, f_rest = 0, mean = 0;
};

void widen(double& worst, double difference) {
    worst = std::isnan(difference) ? 1e9 : std::max(worst, std::abs(difference));
}

Deviation deviation_of(const GaussianModel& model, const Arrays& expected) {
    Deviation out;
    const Array& index = expected["index"];
    const auto value = [&](const char* name, std::size_t row, std::size_t column,
                           std::size_t columns) {
        return expected[name].values[row * columns + column];
    };
    const std::size_t per_channel = static_cast<std::size_t>(sh_bases(model.sh_degree) - 1);
    for (std::size_t r = 0; r < index.size(); ++r) {
        const auto i = static_cast<std::size_t>(index[r]);
        double dot = 0, own = 0, other = 0;
        for (std::size_t c = 0; c < 4; ++c) {
            const double a = model.at(kQuats + static_cast<int>(c), i),
                         b = value("rotation_wxyz", r, c, 4);
            dot += a * b;
            own += a * a;
            other += b * b;
        }
        const double sign = dot < 0 ? -1 : 1;
        for (std::size_t c = 0; c < 4; ++c)
            widen(out.rotation, model.at(kQuats + static_cast<int>(c), i) / std::sqrt(own) -
                                    sign * value("rotation_wxyz", r, c, 4) / std::sqrt(other));
        for (std::size_t c = 0; c < 3; ++c) {
            const int axis = static_cast<int>(c);
            widen(out.position, model.at(kMeans + axis, i) - value("position", r, c, 3));
            widen(out.log_scale, model.at(kLogScales + axis, i) - value("log_scale", r, c, 3));
            widen(out.f_dc, model.at(kSh0 + axis, i) - value("f_dc", r, c, 3));
            for (std::size_t k = 0; k < per_channel; ++k)
                widen(out.f_rest, model.at(kShRest + 3 * static_cast<int>(k) + axis, i) -
                                      value("f_rest", r, c * per_channel + k, 3 * per_channel));
        }
        widen(out.opacity,
              sigmoid(model.at(kOpacityLogits, i)) - sigmoid(expected["opacity_logit"][r]));
    }
    for (int axis = 0; axis < 3; ++axis) {
        double sum = 0;
        for (std::size_t i = 0; i < model.count; ++i) sum += model.at(kMeans + axis, i);
        widen(out.mean, sum / static_cast<double>(model.count) -
                            expected["position_mean"][static_cast<std::size_t>(axis)]);
    }
    return out;
}

class DecodedSplats : public ::testing::TestWithParam<const char*> {};

TEST_P(DecodedSplats, HaveTheValuesAnotherProgramReads) {
    const fs::path path = data_path(std::string("splats/") + GetParam());
    const std::string name = path.filename().string();
    GS_NEED_DATA(std::string("splats/") + GetParam());
    const Arrays expected = load_npz(data_path("splats/decoded/" + name + ".npz"));
    EXPECT_TRUE(find_splats(path)->by_content);
    const auto read = required(read_splats(path));
    ASSERT_EQ(static_cast<double>(read.model.count), expected["count"].scalar());
    const double coefficients = expected.has("f_rest") && expected["f_rest"].shape.size() > 1
                                    ? static_cast<double>(expected["f_rest"].shape[1])
                                    : 0.0;
    ASSERT_EQ(3.0 * (sh_bases(read.model.sh_degree) - 1), coefficients);
    const Deviation worst = deviation_of(read.model, expected);
    if (std::getenv("GAUSSCOPE_TEST_VERBOSE") != nullptr)
        fmt::print(
            "{:34} {:7} position {:.2g} scale {:.2g} rotation {:.2g} opacity {:.2g} f_dc {:.2g} "
            "f_rest {:.2g}\n",
            name, read.model.count, worst.position, worst.log_scale, worst.rotation, worst.opacity,
            worst.f_dc, worst.f_rest);
    // Both decode the same bytes: only rounding in float may differ.
    EXPECT_LE(worst.position, 2e-6);
    EXPECT_LE(worst.log_scale, 4e-6);
    EXPECT_LE(worst.rotation, 1e-5);
    EXPECT_LE(worst.opacity,
              2e-6);  // the other program keeps opacities of 0 and 1 a millionth away from them
    EXPECT_LE(worst.f_dc, 2e-6);
    EXPECT_LE(worst.f_rest, 2e-6);
    EXPECT_LE(worst.mean, 2e-6);
}

INSTANTIATE_TEST_SUITE_P(
    All, DecodedSplats,
    ::testing::Values("playbot/playbot.sog", "playbot/sog_unbundled_l5",
                      "playbot/playbot_l4.compressed.ply", "playbot/playbot_l4.v3.spz",
                      "playbot/playbot_l4.v4.spz", "playbot/playbot_l4.splat",
                      "playbot/playbot_l5.level0.ksplat", "playbot/playbot_l5.level1.ksplat",
                      "playbot/playbot_l5.level2.ksplat", "guitar/guitar.compressed.ply",
                      "monkey/monkey_0001.sog", "fox_trained/fox_trained.compressed.ply",
                      "fox_trained/fox_trained.v4.spz", "minimal/minimal.splat",
                      "minimal/minimal.ksplat", "minimal/minimal-v2.spz", "minimal/minimal-v3.spz",
                      "minimal/minimal-v4.spz", "minimal/sh_compressed_64.compressed.ply"),
    [](const auto& test) {
        std::string name;
        for (const char c : fs::path(test.param).filename().string())
            name += std::isalnum(static_cast<unsigned char>(c)) != 0 ? c : '_';
        return name;
    });

// The pictures are in a world turned by 180 degrees about z.
Camera camera_of(const nlohmann::json& view) {
    const auto turned = [&](const char* key) {
        return Vec3d{-view[key][0].get<double>(), -view[key][1].get<double>(),
                     view[key][2].get<double>()};
    };
    return look_at(turned("camera"), turned("look_at"), turned("up"), view["width"], view["height"],
                   view["vertical_fov_deg"].get<double>() * 3.14159265358979323846 / 180);
}

double psnr_against(const ImageF& picture, const Image8& expected) {
    double sum = 0;
    const Image8 own = to_bytes(picture);
    const auto channels = static_cast<std::size_t>(expected.channels);
    for (std::size_t i = 0; i < own.pixels(); ++i)
        for (std::size_t c = 0; c < 3; ++c) {
            const double d = (own.bytes[3 * i + c] - expected.bytes[channels * i + c]) / 255.0;
            sum += d * d;
        }
    return -10 * std::log10(std::max(sum / static_cast<double>(3 * own.pixels()), 1e-20));
}

TEST(RenderedSplats, LookAsAnotherRendererShowsThem) {
    GS_NEED_DATA("splats/renders/renders.json");
    const auto text = required(read_text_file(data_path("splats/renders/renders.json")));
    const auto rasterizer = make_cpu_rasterizer();
    const auto state = rasterizer->make_state();
    const nlohmann::json views = nlohmann::json::parse(text);
    for (const auto& [name, view] : views.items()) {
        SCOPED_TRACE(name);
        const auto scene =
            required(read_splats(data_path("splats/" + view["file"].get<std::string>())));
        const auto expected = required(read_image(data_path("splats/renders/" + name + ".png")));
        const RenderOptions options{.near_plane = static_cast<float>(view["near"].get<double>())};
        RenderResult drawn;
        ModelSource source(scene.model);
        rasterizer->forward(source, camera_of(view), options, *state, drawn);
        const double psnr = psnr_against(drawn.color, expected);
        if (std::getenv("GAUSSCOPE_TEST_VERBOSE") != nullptr)
            fmt::print("{:16} {:.2f} dB\n", name, psnr);
        EXPECT_GT(psnr, 40);
    }
}

}  // namespace
}  // namespace gs::test
