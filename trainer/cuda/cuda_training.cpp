// CudaTraining: the TrainingBackend of a CUDA device, around a StepEngine. Whoever wants to see or
// change the whole run waits for the steps under way first.
#include "trainer/cuda/cuda_training.h"

#include "base/try.h"
#include "renderer/raster/cuda/cuda_rasterizer.h"
#include "renderer/raster/cuda/device_model.h"
#include "trainer/cuda/adam_kernels.h"
#include "trainer/cuda/density_round.h"
#include "trainer/cuda/step_engine.h"

namespace gs {
namespace cuda {
namespace {

/// The run as the rasterizer of the same device draws it: in place, with every pending optimizer
/// step.
class RunSource final : public ResidentSource {
  public:
    RunSource(const ModelView& view, int sh_degree)
        : view_(view), sh_degree_(std::min(sh_degree, view.sh_degree)) {}
    std::size_t count() const override { return view_.count; }
    int sh_degree() const override { return sh_degree_; }
    ModelView view() const override { return view_; }

  private:
    const ModelView view_;
    const int sh_degree_;
};

class CudaTraining final : public TrainingBackend {
  public:
    CudaTraining(const CudaDeviceInfo& device, std::unique_ptr<Rasterizer> rasterizer)
        : device_(device.index), rasterizer_(std::move(rasterizer)) {
        use_device();
        stream_ = std::make_unique<const Stream>("training");
        engine_ = std::make_unique<StepEngine>(*stream_);
        view_state_ = rasterizer_->make_state();
    }
    ~CudaTraining() override { (void)choose_device(device_); }

    void start(std::shared_ptr<const Capture> capture, RunArrays arrays) override {
        use_device();
        capture_ = std::move(capture);
        engine_->start(*capture_, std::move(arrays));
    }
    void change_photos(const Capture& resized) override {
        wait();
        engine_->change_photos(resized);
    }
    StepOutcome step(const StepPlan& plan) override {
        use_device();
        engine_->run(plan);
        std::deque<StepOutcome>& known = engine_->outcomes();
        if (known.empty()) return {};
        const StepOutcome oldest = known.front();
        known.pop_front();
        return oldest;
    }
    DensityReport densify_and_prune(const TrainingSettings& settings, double extent,
                                    bool prune_large) override {
        wait();
        return density_round_on_device(*engine_, *stream_, settings, extent, prune_large);
    }
    DensityReport relocate(const TrainingSettings& settings, double extent) override {
        wait();
        return relocation_on_device(*engine_, *stream_, settings, extent);
    }
    void reset_opacity() override {
        wait();
        reset_opacity_on_device(*engine_, *stream_);
    }
    void size_filter(std::span<const Camera> cameras, float near_plane, FilterRows rows) override {
        wait();
        engine_->settle();
        engine_->arrays().size_filter(cameras, near_plane, rows);
    }
    Buffer<float> filter() const override {
        wait();
        return engine_->arrays().filter();
    }
    bool takes_beams() const override { return true; }
    std::uint64_t steps() const override { return engine_->clock().steps; }
    std::size_t count() const override { return engine_->arrays().count(); }
    int sh_degree() const override { return engine_->arrays().sh_degree(); }
    RunArrays arrays() const override {
        wait();
        RunArrays out = engine_->arrays().download();
        static_cast<AdamClock&>(out.adam) = engine_->clock();
        return out;
    }
    RowIdentity identity() const override {
        wait();
        return engine_->arrays().identity();
    }
    void edit(const std::function<void(RunArrays&)>& change) override {
        wait();
        engine_->settle();
        RunArrays changed = arrays();
        change(changed);
        engine_->replace(changed);
        stream_->synchronize();
    }
    GaussianModel model() const override;
    std::vector<StepOutcome> pending_outcomes() const override {
        wait();
        return {engine_->outcomes().begin(), engine_->outcomes().end()};
    }
    void render(const Camera& camera, const RenderOptions& options, RenderResult& result) override {
        wait();
        RenderOptions wanted = options;
        wanted.gradients = false;
        RunSource source(engine_->model(), options.sh_degree);
        rasterizer_->forward(source, camera, wanted, *view_state_, result);
    }
    std::shared_ptr<const DevicePicture> render_for_display(const Camera& camera,
                                                            const RenderOptions& options,
                                                            RenderResult& result) override {
        wait();
        RenderOptions wanted = options;
        wanted.gradients = false;
        RunSource source(engine_->model(), options.sh_degree);
        return rasterizer_->forward_for_display(source, camera, wanted, *view_state_, result);
    }
    AppearanceState appearance() const override {
        wait();
        return engine_->arrays().appearance();
    }
    std::vector<MemoryUse> memory() const override;
    Rasterizer& rasterizer() override { return *rasterizer_; }

  private:
    /// The calling thread may be new, and CUDA's current device is a thread's own.
    void use_device() const { cuda::use_device(device_); }
    /// Every step is done, and all that was enqueued behind it.
    void wait() const {
        use_device();
        engine_->drain();
        stream_->synchronize();
    }

    int device_;
    std::unique_ptr<Rasterizer> rasterizer_;
    std::shared_ptr<const Capture> capture_;
    std::unique_ptr<const Stream> stream_;
    std::unique_ptr<StepEngine> engine_;
    std::unique_ptr<ForwardState> view_state_;
};

GaussianModel CudaTraining::model() const {
    wait();
    const DeviceRun& run = engine_->arrays();
    GaussianModel out(run.count(), run.sh_degree());
    run.download_about(out);
    DeviceBuffer<float> plane("a plane of Gaussians");
    plane.resize_discard(run.count(), *stream_);
    for (int p = 0; p < out.planes(); ++p) {
        launch_read_plane(*stream_, engine_->model(), p, plane.data());
        plane.download({out.plane(p), run.count()}, *stream_);
    }
    stream_->synchronize();
    return out;
}

std::vector<MemoryUse> CudaTraining::memory() const {
    std::vector<MemoryUse> out = engine_->memory();
    out.push_back({"view state", view_state_->bytes(), true, view_state_->high_water()});
    for (MemoryUse& use : out) use.device = true;
    return out;
}

}  // namespace
}  // namespace cuda

Result<std::unique_ptr<TrainingBackend>> make_cuda_training(int index) {
    const Result<CudaDeviceInfo> device = cuda_device_info(index);
    if (!device) return tl::make_unexpected(device.error());
    GS_TRY(auto rasterizer, make_cuda_rasterizer(index));
    return std::unique_ptr<TrainingBackend>(
        std::make_unique<cuda::CudaTraining>(*device, std::move(rasterizer)));
}

}  // namespace gs
