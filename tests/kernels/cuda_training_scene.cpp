#include "tests/kernels/cuda_training_scene.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>

#include "base/rng.h"
#include "trainer/cuda/cuda_training.h"

namespace gs::test {

std::shared_ptr<Capture> small_capture(int width, int height, std::size_t points) {
    auto capture = std::make_shared<Capture>();
    capture->name = "small";
    for (int v = 0; v < 6; ++v) {
        View view;
        view.name = fmt::format("view{}.png", v);
        const double angle = v * 1.0;
        view.camera = look_at({3 * std::cos(angle), -0.5, 3 * std::sin(angle)}, {0, 0, 0},
                              {0, -1, 0}, width, height, 0.9);
        view.photo = Image8{width, height, 3, {}};
        for (int y = 0; y < height; ++y)
            for (int x = 0; x < width; ++x)
                for (int c = 0; c < 3; ++c)
                    view.photo.bytes.push_back(static_cast<std::uint8_t>(
                        128 + 100 * std::sin(0.2 * x * (c + 1) + v) * std::cos(0.15 * y)));
        if (v == 2) {
            view.mask = Image8{width, height, 1, {}};
            view.mask.bytes.assign(view.mask.pixels(), 255);
            for (int i = 0; i < width * 3; ++i)
                view.mask.bytes[static_cast<std::size_t>(i + width * 5)] = 0;
        }
        view.test = v == 0;
        capture->views.push_back(std::move(view));
    }
    for (std::size_t i = 0; i < points; ++i) {
        SparsePoint p;
        p.position = {random_uniform(1, 0, i) - 0.5f, random_uniform(1, 1, i) - 0.5f,
                      random_uniform(1, 2, i) - 0.5f};
        for (std::uint64_t c = 0; c < 3; ++c)
            p.rgb[c] = static_cast<std::uint8_t>(random_bits(1, 3 + c, i));
        capture->points.push_back(p);
    }
    return capture;
}

TrainingSettings busy_settings() {
    TrainingSettings s;
    s.steps = 30;
    s.sh_interval = 8;
    s.densify_from = 4;
    s.densify_until = 28;
    s.densify_every = 7;
    s.densify_gradient = 2e-3;
    s.opacity_reset_every = 16;
    s.max_gaussians = 600;
    return s;
}

std::unique_ptr<TrainingBackend> cuda_training() {
    auto backend = make_cuda_training(0);
    EXPECT_TRUE(backend) << (backend ? "" : backend.error().text());
    return std::move(*backend);
}

std::unique_ptr<Trainer> trainer_on(std::unique_ptr<TrainingBackend> backend,
                                    const std::shared_ptr<Capture>& capture,
                                    const TrainingSettings& settings) {
    auto trainer = Trainer::create(capture, settings, std::move(backend));
    EXPECT_TRUE(trainer) << (trainer ? "" : trainer.error().text());
    return std::move(*trainer);
}

namespace {

template <class T>
bool same_bits(const Buffer<T>& a, const Buffer<T>& b) {
    return a.size() == b.size() &&
           (a.size() == 0 || std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0);
}

}  // namespace

bool same_arrays(const RunArrays& a, const RunArrays& b) {
    return a.model.count == b.model.count && same_bits(a.model.values, b.model.values) &&
           a.adam.steps == b.adam.steps && a.adam.base == b.adam.base &&
           a.adam.pending == b.adam.pending && same_bits(a.adam.moments, b.adam.moments) &&
           same_bits(a.adam.last_step, b.adam.last_step) &&
           same_bits(a.statistics.gradient_sum, b.statistics.gradient_sum) &&
           same_bits(a.statistics.views, b.statistics.views) &&
           same_bits(a.statistics.radius_px, b.statistics.radius_px) &&
           same_bits(a.filter, b.filter) && same_bits(a.identity.tags, b.identity.tags) &&
           a.identity.book == b.identity.book;
}

namespace {

double row_difference(const GaussianModel& a, std::size_t row_a, const GaussianModel& b,
                      std::size_t row_b) {
    double worst = 0;
    for (int p = 0; p < a.planes(); ++p) {
        const double x = static_cast<double>(a.at(p, row_a)),
                     y = static_cast<double>(b.at(p, row_b));
        const double difference = std::abs(x - y) / (1 + std::abs(x));
        if (!(difference <= worst))
            worst = std::isnan(difference) ? std::numeric_limits<double>::infinity() : difference;
    }
    return worst;
}

}  // namespace

double worst_difference(const GaussianModel& a, const GaussianModel& b) {
    if (a.count != b.count || a.planes() != b.planes())
        return std::numeric_limits<double>::infinity();
    double worst = 0;
    for (std::size_t row = 0; row < a.count; ++row)
        worst = std::max(worst, row_difference(a, row, b, row));
    return worst;
}

double share_without_twin(const GaussianModel& a, const GaussianModel& b, double tolerance) {
    if (a.count != b.count || a.planes() != b.planes()) return 1;
    std::size_t alone = 0;
    for (std::size_t row = 0; row < a.count; ++row) {
        bool found = false;
        for (std::size_t other = 0; other < b.count && !found; ++other)
            found = row_difference(a, row, b, other) <= tolerance;
        alone += !found;
    }
    return static_cast<double>(alone) / static_cast<double>(std::max<std::size_t>(1, a.count));
}

}  // namespace gs::test
