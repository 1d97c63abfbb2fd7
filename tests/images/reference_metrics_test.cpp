// The oracle's picture metrics and loss gradient against stored values (an independent program and
// scikit-image).
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "renderer/io/images/image_io.h"
#include "renderer/reference/loss.h"
#include "tests/support/compare.h"
#include "tests/support/data.h"
#include "tests/support/npz.h"

namespace gs::test {
namespace {

reference::Image load(const std::string& name) {
    const auto image = read_image(data_path("reference/images/img_" + name + ".png"));
    CHECK(image.has_value(), "{}", image.error().text());
    reference::Image out{image->width, image->height, image->channels, {}};
    for (const std::uint8_t byte : image->bytes) out.values.push_back(byte / 255.0);
    return out;
}

TEST(ReferenceMetrics, AgreeWithTheTable) {
    GS_NEED_DATA("reference/images/image_metrics.json");
    std::ifstream file(data_path("reference/images/image_metrics.json"));
    const auto table = nlohmann::json::parse(file);
    for (const auto& [name, row] : table.items()) {
        const reference::Image a = load(name + "_a"), b = load(name + "_b");
        const auto expect = [&, &entries = row, &pair = name](const char* key, double value) {
            EXPECT_NEAR(value, entries.at(key).get<double>(), 1e-9) << pair << " " << key;
        };
        expect("mse", reference::mean_square(a, b));
        expect("l1", reference::mean_abs(a, b));
        expect("ssim_zero_padded", reference::ssim(a, b));
        expect("ssim_valid", reference::ssim(a, b, 5));
        expect("loss_l1_dssim", reference::loss_l1_dssim(a, b).value);
        if (row.at("psnr").is_null())
            EXPECT_TRUE(std::isinf(reference::psnr(a, b)));
        else
            expect("psnr", reference::psnr(a, b));
    }
}

TEST(ReferenceMetrics, MapsAndGradientsAgree) {
    GS_NEED_DATA("reference/images/image_metrics.npz");
    const Arrays f = load_npz(data_path("reference/images/image_metrics.npz"));
    for (const auto& [key, gradient] : f.all()) {
        const std::string suffix = "_grad_loss_wrt_a";
        if (!key.ends_with(suffix)) continue;
        const std::string name = key.substr(0, key.size() - suffix.size());
        const reference::Image a = load(name + "_a"), b = load(name + "_b");
        EXPECT_LE(max_abs_difference(reference::ssim_map(a, b), f[name + "_ssim_map"]), 1e-6)
            << name;
        EXPECT_LE(relative_l2(reference::loss_l1_dssim(a, b).gradient, gradient), 1e-6) << name;
    }
}

}  // namespace
}  // namespace gs::test
