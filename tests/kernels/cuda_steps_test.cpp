// Both backends report the same data between the stages of a frame; frames match the reference; and
// steps captured on one backend run again on the other.
#include <gtest/gtest.h>

#include "app/cli/check/proof_scene.h"
#include "app/verify/frame_check.h"
#include "cuda_training_scene.h"
#include "renderer/raster/cuda/cuda_rasterizer.h"
#include "renderer/raster/frame_probe.h"
#include "trainer/replay/step_capture.h"
#include "trainer/step_hashes.h"

namespace gs::test {
namespace {

std::unique_ptr<Rasterizer> emulated() {
    auto made = make_cuda_rasterizer(0);
    EXPECT_TRUE(made);
    return std::move(*made);
}

FrameProbe probe_of(Rasterizer& rasterizer, const GaussianModel& model, const Camera& camera) {
    const auto source = rasterizer.source_of(model);
    const auto state = rasterizer.make_state();
    RenderResult result;
    rasterizer.forward(*source, camera, {}, *state, result);
    FrameProbe out;
    EXPECT_TRUE(rasterizer.probe(*state, out));
    EXPECT_EQ(out.visible(), result.counters.visible);
    EXPECT_EQ(out.row_from_isect.size(), result.counters.isects);
    return out;
}

TEST(FrameProbe, BothBackendsTellTheSame) {
    const GaussianModel model = cli::make_proof_model({300, 2, 5});
    const Camera camera = cli::make_proof_camera(5, 0, 70, 50);
    const FrameProbe cpu = probe_of(*make_cpu_rasterizer(), model, camera),
                     cuda = probe_of(*emulated(), model, camera);
    EXPECT_GT(cpu.visible(), 100u);
    ASSERT_TRUE(std::equal(cpu.rows.begin(), cpu.rows.end(), cuda.rows.begin(), cuda.rows.end()));
    for (std::size_t i = 1; i < cpu.visible(); ++i) EXPECT_LT(cpu.rows[i - 1], cpu.rows[i]);
    for (std::size_t i = 0; i < cpu.splats.size(); ++i)
        EXPECT_NEAR(cpu.splats[i], cuda.splats[i], 1e-3 * (1 + std::abs(cpu.splats[i]))) << i;
    EXPECT_TRUE(std::equal(cpu.tile_begin.begin(), cpu.tile_begin.end(), cuda.tile_begin.begin(),
                           cuda.tile_begin.end()));
    EXPECT_TRUE(std::equal(cpu.row_from_isect.begin(), cpu.row_from_isect.end(),
                           cuda.row_from_isect.begin(), cuda.row_from_isect.end()));
}

const ComparisonRow& row_of(const VerifyReport& report, std::string_view stage,
                            std::string_view what) {
    for (const ComparisonRow& row : report.rows)
        if (row.stage == stage && row.what == what) return row;
    ADD_FAILURE() << stage << ": " << what;
    return report.rows.front();
}

TEST(FrameCheck, BackendsAgreeWithTheReferenceAndARegionIsEnough) {
    const GaussianModel model = cli::make_proof_model({250, 2, 9});
    const Camera camera = cli::make_proof_camera(9, 0, 64, 48);
    Image8 photo{64, 48, 3, std::vector<std::uint8_t>(64 * 48 * 3, 90)};
    for (const bool cuda : {false, true}) {
        SCOPED_TRACE(cuda);
        const auto rasterizer = cuda ? emulated() : make_cpu_rasterizer();
        const auto whole = required(check_frame(
            {.model = model, .camera = camera, .options = {}, .gradients = true, .photo = &photo},
            *rasterizer));
        for (const ComparisonRow& row : whole.rows)
            EXPECT_TRUE(row.passed())
                << row.stage << ", " << row.what << ": " << row.figure() << " at " << row.where;
        EXPECT_EQ(whole.rows.size(), 12u);
        EXPECT_EQ(whole.pixels + whole.fragile, 64u * 48u);
        const auto part = required(check_frame(
            {.model = model, .camera = camera, .options = {}, .region = {10, 9, 31, 90}},
            *rasterizer));
        EXPECT_TRUE(part.passed());
        EXPECT_EQ(part.y1, 48);
        EXPECT_EQ(part.pixels + part.fragile, 21u * 39u);
        EXPECT_EQ(part.difference->width, 21);
    }
}

/// Draws a copy of the model in which one Gaussian was moved.
class OtherModel final : public Rasterizer {
  public:
    OtherModel(std::unique_ptr<Rasterizer> inner, const GaussianModel& model)
        : inner_(std::move(inner)), model_(model) {}
    std::string name() const override { return inner_->name(); }
    std::unique_ptr<ForwardState> make_state() const override { return inner_->make_state(); }
    std::unique_ptr<ParameterSource> source_of(const GaussianModel&,
                                               std::span<const BlockBounds>) override {
        return inner_->source_of(model_);
    }
    void forward(ParameterSource& source, const Camera& camera, const RenderOptions& options,
                 ForwardState& state, RenderResult& result) override {
        inner_->forward(source, camera, options, state, result);
    }
    void backward(ParameterSource& source, const Camera& camera, const RenderOptions& options,
                  ForwardState& state, const RenderResult& result, const PixelGradients& gradients,
                  GradientSink& sink) override {
        inner_->backward(source, camera, options, state, result, gradients, sink);
    }
    bool probe(const ForwardState& state, FrameProbe& out) const override {
        return inner_->probe(state, out);
    }

  private:
    std::unique_ptr<Rasterizer> inner_;
    const GaussianModel& model_;
};

TEST(FrameCheck, NamesTheGaussianThatIsElsewhere) {
    const GaussianModel model = cli::make_proof_model({250, 1, 9});
    const Camera camera = cli::make_proof_camera(9, 0, 64, 48);
    const FrameProbe probe = probe_of(*make_cpu_rasterizer(), model, camera);
    const std::uint32_t row = probe.rows[probe.visible() / 2];
    GaussianModel other = model.resized(model.capacity, model.sh_degree);
    other.at(kMeans, row) += 0.05f;
    OtherModel wrong(make_cpu_rasterizer(), other);
    const auto report =
        required(check_frame({.model = model, .camera = camera, .options = {}}, wrong));
    EXPECT_FALSE(report.passed());
    const ComparisonRow& centre = row_of(report, "projection", "centre");
    EXPECT_FALSE(centre.passed());
    EXPECT_EQ(centre.where, fmt::format("Gaussian {}", row));
    EXPECT_FALSE(row_of(report, "picture", "colour").passed());
    int asked = 0;
    const auto cancelled =
        check_frame({.model = model, .camera = camera, .options = {}}, wrong,
                    [&](std::string_view, std::size_t, std::size_t) { return ++asked < 2; });
    ASSERT_FALSE(cancelled);
    EXPECT_EQ(cancelled.error().kind, ErrorKind::cancelled);
}

// A step of a device's run: what is computed again agrees with what the run did, and with the CPU.
TEST(CudaSteps, AreCapturedAndRunOnTheOtherBackend) {
    for (const bool cuda : {true, false}) {
        SCOPED_TRACE(cuda);
        const auto trainer = trainer_on(cuda ? cuda_training() : make_cpu_training(),
                                        small_capture(), busy_settings());
        trainer->hash_steps(true);
        for (int i = 0; i < 11; ++i) trainer->step();
        StepRecord record;
        trainer->step(&record);
        const auto step = required(capture_of(record, "small", trainer->rasterizer()));
        EXPECT_EQ(step.origin.same_bits, !cuda || step.origin.agreement == "the same bits");
        const auto other = cuda ? make_cpu_rasterizer() : emulated();
        const StepOutputs now = run_step(step.inputs, *other);
        for (const ComparisonRow& stage : compare_steps(step.inputs, step.outputs, now, false))
            EXPECT_TRUE(stage.passed()) << stage.stage << ": " << stage.first;
        // A device reports loss and lists late. It has the arrays of every step.
        const std::vector<StepHashes> rows = trainer->take_hashes(true);
        ASSERT_EQ(rows.size(), 12u);
        for (const StepHashes& row : rows)
            EXPECT_TRUE(row[HashStage::adam] != 0 || row[HashStage::density] != 0) << row.step;
        EXPECT_NE(rows[6][HashStage::loss], 0u);
    }
}

// Gaussians beside the camera: their depths are a thousandth of the distances that they are the
// difference of.
TEST(CudaSteps, MayLoseDigitsWhereDepthIsASmallDifference) {
    const auto trainer = trainer_on(make_cpu_training(), small_capture(), busy_settings());
    trainer->step();
    StepRecord record;
    trainer->step(&record);
    auto step = required(capture_of(record, "small", trainer->rasterizer()));
    StepInputs& in = step.inputs;
    const Mat3d& turn = in.camera.rotation;
    const Vec3d far{20, 25, 30};  // from the world's origin
    in.camera.translation = in.camera.translation - turn * far;
    for (std::size_t row = 0; row < in.model.capacity; ++row)
        for (const auto& [axis, by] : {std::pair{0, far.x}, {1, far.y}, {2, far.z}})
            in.model.at(kMeans + axis, row) += static_cast<float>(by);
    for (std::size_t row = 0; row < 16; ++row) {
        const Vec3d place = in.camera.position() +
                            transpose(turn) * Vec3d{0.3 + 0.1 * static_cast<double>(row), 0.2,
                                                    0.011 + 0.0003 * static_cast<double>(row)};
        const double at[3] = {place.x, place.y, place.z};
        for (int axis = 0; axis < 3; ++axis) {
            in.model.at(kMeans + axis, row) = static_cast<float>(at[axis]);
            in.model.at(kLogScales + axis, row) = 0.5f;
        }
    }
    const StepOutputs was = run_step(in, *make_cpu_rasterizer());
    StepOutputs now = run_step(in, *emulated());
    ASSERT_EQ(was.lists.visible(), now.lists.visible());
    double off = 0, size = 0;
    for (std::size_t i = 0; i < was.lists.visible(); ++i) {
        // Compilers that round alike lose nothing by themselves.
        if (was.lists.splat(kSplatDepth, i) < 0.1f) now.lists.splats[i] *= 1.0001f;
        for (const int p : {0, 1}) {
            const double a = was.lists.splat(p, i), b = now.lists.splat(p, i);
            off += (a - b) * (a - b);
            size += a * a;
        }
    }
    EXPECT_GT(std::sqrt(off / size), 1e-5) << "what floats lose";
    const auto projection = [&] { return compare_steps(in, was, now, false)[0]; };
    EXPECT_LT(projection().figure(), 1e-6) << projection().where;
    // More than that is a difference, of these and of all others.
    for (const std::size_t i : {std::size_t{0}, was.lists.visible() - 1}) {
        float& x = now.lists.splats[i];
        const float before = std::exchange(x, 1.01f * x + 1);
        ASSERT_EQ(now.lists.splat(0, i), x);
        EXPECT_GT(projection().figure(), 1e-5) << i;
        x = before;
    }
    EXPECT_GT(compare_steps(in, was, now)[0].differ, 0u) << "bits are bits";
    // Nothing is spared in the picture.
    StepOutputs same = run_step(in, *make_cpu_rasterizer());
    EXPECT_EQ(compare_steps(in, was, same, false)[0].differ, 0u);
    same.lists.splats[was.lists.visible() - 1] += 1e-3f;
    EXPECT_EQ(compare_steps(in, was, same, false)[0].differ, 1u);
}

}  // namespace
}  // namespace gs::test
