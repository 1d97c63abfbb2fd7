// Streams and events of the emulated runtime.
#include <cuda_runtime_api.h>

#include "tests/support/emulator/runtime_state.h"

using namespace gs::emulator;

namespace {

std::shared_ptr<EventState> state_of(Runtime& runtime, cudaEvent_t event) {
    if (!runtime.events.contains(event)) {
        throw EmulatorError(Fault::bad_pointer, "an event that does not exist (any more) is used",
                            "", 0);
    }
    return event->state;
}

/// During a capture nothing may be waited for or asked; the capture is spoiled.
bool any_capture_spoiled(Runtime& runtime) {
    bool spoiled = false;
    for (CUstream_st* stream : runtime.streams) spoiled = runtime.spoils_capture(stream) || spoiled;
    return spoiled;
}

}  // namespace

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned flags) {
    GS_ENTER("cudaStreamCreateWithFlags");
    *stream = new CUstream_st;
    (*stream)->flags = flags;
    (*stream)->device = Runtime::current_device;
    runtime.streams.insert(*stream);
    return cudaSuccess;
}
cudaError_t cudaStreamCreate(cudaStream_t* stream) {
    return cudaStreamCreateWithFlags(stream, cudaStreamDefault);
}
cudaError_t cudaStreamCreateWithPriority(cudaStream_t* stream, unsigned flags, int) {
    return cudaStreamCreateWithFlags(stream, flags);
}
cudaError_t cudaStreamDestroy(cudaStream_t handle) {
    GS_ENTER("cudaStreamDestroy");
    CUstream_st* const stream = runtime.stream_of(handle);
    runtime.drain_for_destructor();
    for (CUevent_st* event : runtime.events) {
        if (event->state->stream == stream) event->state->stream = nullptr;
        std::erase_if(event->state->pending,
                      [&](const auto& record) { return record.second == stream; });
    }
    if (stream->capture) {
        stream->capture->invalid = true;
        stream->capture->unjoined.erase(stream);
    }
    runtime.streams.erase(stream);
    delete stream;
    return cudaSuccess;
}
cudaError_t cudaStreamQuery(cudaStream_t handle) {
    GS_ENTER("cudaStreamQuery");
    CUstream_st* const stream = runtime.stream_of(handle);
    if (runtime.spoils_capture(stream)) return runtime.fail(cudaErrorStreamCaptureUnsupported);
    if (stream->queries_left > 0) {
        --stream->queries_left;
        return runtime.fail(cudaErrorNotReady);  // the runtime keeps it as if it were an error
    }
    runtime.drain(stream);
    return cudaSuccess;
}
cudaError_t cudaStreamSynchronize(cudaStream_t handle) {
    GS_ENTER("cudaStreamSynchronize");
    CUstream_st* const stream = runtime.stream_of(handle);
    if (runtime.spoils_capture(stream)) return runtime.fail(cudaErrorStreamCaptureUnsupported);
    runtime.count("busy wait");
    runtime.drain(stream);
    runtime.settle(stream);
    return cudaSuccess;
}
cudaError_t cudaDeviceSynchronize() {
    GS_ENTER("cudaDeviceSynchronize");
    runtime.count("busy wait");
    if (any_capture_spoiled(runtime)) return runtime.fail(cudaErrorStreamCaptureUnsupported);
    runtime.drain_all();
    for (CUstream_st* stream : runtime.streams) runtime.settle(stream);
    return cudaSuccess;
}

cudaError_t cudaStreamWaitEvent(cudaStream_t handle, cudaEvent_t event, unsigned) {
    GS_ENTER("cudaStreamWaitEvent");
    CUstream_st* const stream = runtime.stream_of(handle);
    const std::shared_ptr<EventState> state = state_of(runtime, event);
    for (CUstream_st* capturing : runtime.streams) {
        if (!capturing->capture || !capturing->capture->recorded.contains(state.get())) continue;
        // An event recorded in a capture: the stream takes part from here on, or what forked off is
        // joined.
        const std::shared_ptr<Capture> capture = capturing->capture;
        if (stream->capture == nullptr) {
            stream->capture = capture;
        } else if (stream == capture->origin) {
            for (CUstream_st* joined : capture->recorded[state.get()])
                capture->unjoined.erase(joined);
        }
        return cudaSuccess;
    }
    if (runtime.spoils_capture(stream)) return runtime.fail(cudaErrorStreamCaptureUnsupported);
    if (state->recorded == 0) return cudaSuccess;
    runtime.enqueue(
        handle, "cudaStreamWaitEvent", false,
        [&runtime, state, number = state->recorded] { runtime.run_until(*state, number); });
    return cudaSuccess;
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned flags) {
    GS_ENTER("cudaEventCreateWithFlags");
    *event = new CUevent_st{std::make_shared<EventState>()};
    (*event)->state->flags = flags;
    runtime.events.insert(*event);
    return cudaSuccess;
}
cudaError_t cudaEventCreate(cudaEvent_t* event) {
    return cudaEventCreateWithFlags(event, cudaEventDefault);
}
cudaError_t cudaEventDestroy(cudaEvent_t event) {
    GS_ENTER("cudaEventDestroy");
    state_of(runtime, event);
    runtime.events.erase(event);
    delete event;
    return cudaSuccess;
}
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t handle) {
    GS_ENTER("cudaEventRecord");
    CUstream_st* const stream = runtime.stream_of(handle);
    const std::shared_ptr<EventState> state = state_of(runtime, event);
    if (stream->capture) {
        std::set<CUstream_st*> joined{stream};
        stream->capture->recorded[state.get()] = joined;
        return cudaSuccess;
    }
    const std::uint64_t number = ++state->recorded;
    state->stream = stream;
    state->queries_left = runtime.event_lag;
    state->pending[number] = stream;
    runtime.enqueue(handle, "cudaEventRecord", false, [state, number] {
        state->pending.erase(number);
        state->time = std::chrono::steady_clock::now();
    });
    return cudaSuccess;
}
cudaError_t cudaEventQuery(cudaEvent_t event) {
    GS_ENTER("cudaEventQuery");
    const std::shared_ptr<EventState> state = state_of(runtime, event);
    if (state->queries_left > 0) {
        --state->queries_left;
        return runtime.fail(cudaErrorNotReady);  // the runtime keeps it as if it were an error
    }
    runtime.run_until(*state, state->recorded);
    return cudaSuccess;
}
cudaError_t cudaEventSynchronize(cudaEvent_t event) {
    GS_ENTER("cudaEventSynchronize");
    const std::shared_ptr<EventState> state = state_of(runtime, event);
    if ((state->flags & cudaEventBlockingSync) == 0) runtime.count("busy wait");
    runtime.run_until(*state, state->recorded);
    // Earlier events of its stream are now known to be complete as well.
    for (CUevent_st* other : runtime.events)
        if (other->state->stream == state->stream &&
            !other->state->pending.contains(other->state->recorded))
            other->state->queries_left = 0;
    state->queries_left = 0;
    return cudaSuccess;
}
cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t start, cudaEvent_t end) {
    GS_ENTER("cudaEventElapsedTime");
    const std::shared_ptr<EventState> first = state_of(runtime, start),
                                      last = state_of(runtime, end);
    for (const auto& state : {first, last}) {
        if ((state->flags & cudaEventDisableTiming) != 0 || state->recorded == 0) {
            return runtime.fail(cudaErrorInvalidResourceHandle);
        }
        if (state->queries_left > 0 || state->pending.contains(state->recorded))
            return runtime.fail(cudaErrorNotReady);
    }
    *milliseconds = std::chrono::duration<float, std::milli>(last->time - first->time).count();
    return cudaSuccess;
}
