// StepEngine: training steps on a device, some of them under way at any time. run() enqueues a step
// (of a batch one view, which is what "step" means in this file) and returns; what it measured is
// known one or two steps later. A step whose frame does not fit stops the run on the device: it and
// all steps behind it change nothing, and once the host sees it they are carried out again with
// more room. Owned by CudaTraining.
#pragma once

#include <deque>

#include "renderer/raster/cuda/pipeline.h"
#include "trainer/cuda/appearance.h"
#include "trainer/cuda/batch_step.h"
#include "trainer/cuda/device_beams.h"
#include "trainer/cuda/device_photos.h"
#include "trainer/cuda/device_run.h"
#include "trainer/cuda/loss.h"
#include "trainer/cuda/step_capacities.h"
#include "trainer/cuda/step_feed.h"
#include "trainer/cuda/step_graphs.h"
#include "trainer/training_backend.h"

namespace gs::cuda {

class StepEngine {
  public:
    explicit StepEngine(const Stream& stream);
    /// Waits: steps under way read and write what is given back here.
    ~StepEngine();
    StepEngine(const StepEngine&) = delete;
    StepEngine& operator=(const StepEngine&) = delete;
    void start(const Capture& capture, RunArrays arrays);
    /// After drain(). Plans are of these views from now on.
    void change_photos(const Capture& resized);

    /// Enqueues a step. While kMostInFlight are under way the oldest is waited for; so is the first
    /// of a run.
    void run(const StepPlan& plan);
    /// Of steps that are done, oldest first: whoever reports them takes them out.
    std::deque<StepOutcome>& outcomes() { return known_; }
    /// Waits until every step is done, the ones that did not fit included; what reads the model
    /// then sees it as it is.
    void drain();

    /// Applies every pending optimizer step to every row. After drain(). The next step recomputes
    /// bounds.
    void settle();
    /// Takes other rows of the same run: what `arrays` says of them, clock included. After
    /// settle(). Throws DeviceError, and has changed nothing, when there is no memory for more
    /// rows.
    void replace(const RunArrays& arrays);
    /// Rows were moved, added or removed, `factor` times as many as before.
    void rows_changed(double factor);

    DeviceRun& arrays() { return run_; }
    /// The memory of frames, which lies idle between steps. After drain().
    FramePipeline::Idle lend(std::size_t bytes) { return pipeline_.lend(bytes); }
    const AdamClock& clock() const { return clock_; }
    /// The model with the optimizer's state, to be drawn from. After drain().
    ModelView model() const { return run_.view(bounds_valid_); }
    StepCapacities& capacities() { return capacities_; }
    StepGraphs& graphs() { return graphs_; }
    /// Times a step was carried out again.
    std::uint64_t repeated() const { return repeated_; }
    std::vector<MemoryUse> memory() const;

  private:
    static constexpr std::size_t kMostInFlight = 3;
    static constexpr std::uint64_t kTimedEvery =
        13;  ///< stages inside a recorded step cannot be timed: that often one is enqueued kernel
             ///< by kernel. A prime, so that it meets steps with and without beams (lidar_every),
             ///< and no rarer than profiler/store/frame_book.cpp looks back (kMaxIncomplete)
    struct Reading {
        StepResult result;
        FrameCounts counts;
        BeamTotals beams;
    };
    struct Flight {
        StepPlan plan;
        AdamClock before;  ///< the clock this step began with
        bool bounds_were_valid = false;
        std::size_t slot = 0;
        std::uint32_t gaussians = 0;
        double samples = 0;  ///< numbers of the photo that count
        LentPhoto photo;     ///< on its way to the device, or to be sent once more

        StepOutcome outcome(const Reading& reading) const;
    };

    void enqueue(const StepPlan& plan);
    /// The step's kernels: recorded ones, or one by one.
    void enqueue_step(const StepPlan& plan, const FrameLimits& limits, const BatchView& batch,
                      const BeamArrays& beams);
    /// What ends in the model: Adam, or of a batch's views the sum, and Adam after the last.
    void enqueue_update(const StepShape& shape, const BeamJob& beams);
    void enqueue_kernels(const StepShape& shape);
    /// After the picture, and after its loss.
    void enqueue_look(const StepShape& shape, bool backward);
    void send_tables();
    /// Takes what has been reached.
    void collect();
    void go_back(const Flight& failed);
    void carry_out_again();

    const Stream& stream_;
    StageTimers timers_;
    FramePipeline pipeline_;
    DeviceRun run_;
    DevicePhotos photos_;
    StepFeed feed_;
    StepCapacities capacities_;
    AdamClock clock_;
    AdamTables tables_;
    StepGraphs graphs_;
    std::size_t table_rows_ = 0;  ///< room for optimizer tables
    bool bounds_valid_ = false, waited_ = false;
    DeviceBuffer<float> picture_{"picture"}, gradient_{"gradients of a picture"};
    DeviceBuffer<float> shown_{"picture of a photo"}, look_sums_{"sums of exposure and colour"};
    DeviceBuffer<float> sky_sums_{"sky"};
    DeviceBuffer<LossPartial> partials_{"sums of the loss"};
    DeviceBuffer<StepResult> result_{"result of a step"};
    DeviceBatch batch_;  ///< where a step takes several views, or beams beside one
    DeviceBeams beams_;
    DeviceBuffer<float> motion_{"motion of the scene"};  ///< by row, where poses are corrected
    DeviceBuffer<double> intrinsics_{"gradients of intrinsics"};
    PinnedBuffer<Reading> readings_{kMostInFlight, "results of steps"};  ///< by slot
    std::vector<Event> reached_;                                         ///< by slot
    std::size_t next_slot_ = 0;
    std::deque<Flight> flights_;
    std::deque<StepOutcome> known_;
    std::uint64_t repeated_ = 0;
};

}  // namespace gs::cuda
