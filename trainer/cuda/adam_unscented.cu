// Projection backward by the unscented transform, into the optimizer or a batch's sums.
#include "renderer/raster/cuda/project_backward_unscented.cuh"
#include "trainer/cuda/batch_sink.cuh"

namespace gs::cuda {

template void launch_project_backward_unscented<AdamSink, true>(const Stream&, const char*,
                                                                const FrameLimits&,
                                                                ProjectBackwardParams<AdamSink>);
template void launch_project_backward_unscented<AdamMotionSink, true>(
    const Stream&, const char*, const FrameLimits&, ProjectBackwardParams<AdamMotionSink>);
template void launch_project_backward_unscented<BatchSink, true>(const Stream&, const char*,
                                                                 const FrameLimits&,
                                                                 ProjectBackwardParams<BatchSink>);
template void launch_project_backward_unscented<BatchMotionSink, true>(
    const Stream&, const char*, const FrameLimits&, ProjectBackwardParams<BatchMotionSink>);

template void launch_project_backward_unscented<CodedAdamSink, true>(
    const Stream&, const char*, const FrameLimits&, ProjectBackwardParams<CodedAdamSink>);
template void launch_project_backward_unscented<CodedAdamMotionSink, true>(
    const Stream&, const char*, const FrameLimits&, ProjectBackwardParams<CodedAdamMotionSink>);
template void launch_project_backward_unscented<CodedBatchSink, true>(
    const Stream&, const char*, const FrameLimits&, ProjectBackwardParams<CodedBatchSink>);
template void launch_project_backward_unscented<CodedBatchMotionSink, true>(
    const Stream&, const char*, const FrameLimits&, ProjectBackwardParams<CodedBatchMotionSink>);

}  // namespace gs::cuda
