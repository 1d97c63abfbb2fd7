// A thread takes pixels a grid apart, so that their number changes no launch. One thread of each
// block makes the look of a photo from its 36 values, in shared memory. Sums of its gradient stay
// in a thread's registers to the end, then are added over lanes, warps and blocks in one fixed
// order.
#include "trainer/cuda/appearance.h"

#include "renderer/device/cuda/kernel.cuh"
#include "renderer/device/cuda/launch.h"
#include "renderer/math/adam.h"
#include "renderer/math/photo_light.h"

namespace gs::cuda {
namespace {

constexpr int kThreads = 256, kWarps = kThreads / kWarp;
constexpr int kPhoto = math::kPhotoValues, kCamera = math::kCameraValues;

GS_DEVICE bool simple(const AppearanceInputs& in) { return in.simple != 0; }
GS_DEVICE const float* photo_values(const LookJob& job) {
    return job.values + static_cast<std::size_t>(job.step->photo) * kPhoto;
}
GS_DEVICE std::size_t camera_at(const AppearanceInputs& in, std::uint32_t camera) {
    return static_cast<std::size_t>(in.photos) * kPhoto +
           static_cast<std::size_t>(camera) * kCamera;
}
GS_DEVICE const float* camera_values(const LookJob& job) {
    return job.values + camera_at(*job.step, job.step->camera);
}

/// The block's look, for all its threads.
template <class Shared>
GS_DEVICE math::Look<float> read_look(const LookJob& job, Shared& shared) {
    math::Look<float> look;
    if (threadIdx.x == 0) {
        math::look_of(photo_values(job), camera_values(job), simple(*job.step), look);
        for (int i = 0; i < math::kLookParts; ++i)
            shared[i] = !simple(*job.step) || i < math::kLookPartsSimple ? look.at[i] : 0.0f;
    }
    __syncthreads();
    for (int i = 0; i < math::kLookParts; ++i) look.at[i] = shared[i];
    return look;
}

/// A pixel of a picture: its place, and the photo's sample.
struct LookPixel {
    std::uint32_t index, pixels;
    float u, v;
    const std::uint8_t* sample;
    bool counts;  ///< is not masked

    GS_DEVICE LookPixel(const LossInputs& in, std::uint32_t i)
        : index(i),
          pixels(static_cast<std::uint32_t>(in.width * in.height)),
          sample(in.photo + 3 * std::size_t{i}),
          counts(in.mask == nullptr || in.mask[i] != 0) {
        const float scale = 1.0f / static_cast<float>(in.width > in.height ? in.width : in.height);
        const int x = static_cast<int>(i) % in.width, y = static_cast<int>(i) / in.width;
        u = (static_cast<float>(x) - (0.5f * static_cast<float>(in.width) - 0.5f)) * scale;
        v = (static_cast<float>(y) - (0.5f * static_cast<float>(in.height) - 0.5f)) * scale;
    }
    GS_DEVICE std::size_t at(int channel) const {
        return static_cast<std::size_t>(channel) * pixels + index;
    }
    GS_DEVICE bool saturated(int channel) const { return sample[channel] >= math::kSaturatedByte; }
    GS_DEVICE float photo(int channel) const {
        return static_cast<float>(sample[channel]) / 255.0f;
    }
};

GS_KERNEL(kThreads, 3)
void show_look(LookJob job) {
    GS_SHARED(float, shared, math::kLookParts);
    if (job.counts->overflow != 0) return;
    const math::Look<float> look = read_look(job, shared);
    const auto pixels = static_cast<std::uint32_t>(job.photo->width * job.photo->height);
    for (std::uint32_t i = blockIdx.x * kThreads + threadIdx.x; i < pixels;
         i += gridDim.x * kThreads) {
        const LookPixel pixel(*job.photo, i);
        float rgb[3];
        GS_UNROLL
        for (int c = 0; c < 3; ++c) rgb[c] = job.picture[pixel.at(c)];
        math::apply_look(look, simple(*job.step), pixel.u, pixel.v, rgb);
        GS_UNROLL
        for (int c = 0; c < 3; ++c)
            job.shown[pixel.at(c)] = pixel.saturated(c) ? fminf(rgb[c], pixel.photo(c)) : rgb[c];
    }
}

GS_DEVICE float warp_sum(float sum) {
    for (int distance = 16; distance > 0; distance /= 2)
        sum += __shfl_xor_sync(kAllLanes, sum, distance);
    return sum;
}

/// One pixel's gradient, in place; what it says of the look is added to `sums`.
GS_DEVICE void pull_pixel(const LookJob& job, const math::Look<float>& look, const LookPixel& pixel,
                          float (&sums)[math::kStepSums]) {
    float rgb[3], grad[3], shown[3], photo[3], own[math::kLookParts];
    bool whole = true;
    GS_UNROLL
    for (int c = 0; c < 3; ++c) {
        const bool full = pixel.saturated(c);
        rgb[c] = job.picture[pixel.at(c)];
        shown[c] = job.shown[pixel.at(c)];
        photo[c] = pixel.photo(c);
        const float given = job.gradient[pixel.at(c)];
        grad[c] = full && shown[c] >= photo[c] ? 0.0f : given;
        whole = whole && !full;
    }
    GS_UNROLL
    for (float& part : own) part = 0.0f;
    math::apply_look_vjp(look, simple(*job.step), pixel.u, pixel.v, rgb, grad, own);
    GS_UNROLL
    for (int c = 0; c < 3; ++c) job.gradient[pixel.at(c)] = grad[c];
    if (!whole) return;
    GS_UNROLL
    for (int i = 0; i < math::kLookParts; ++i) sums[i] += own[i];
    if (job.step->width > 0.0f && pixel.counts)
        math::add_light(shown, photo, job.step->width, sums + math::kLookParts);
}

GS_KERNEL(kThreads, 1)
void pull_look(LookJob job) {
    GS_SHARED(float, shared, math::kLookParts);
    GS_SHARED(float, warps, math::kStepSums* kWarps);
    if (job.flags->go == 0) return;
    const math::Look<float> look = read_look(job, shared);
    const auto pixels = static_cast<std::uint32_t>(job.photo->width * job.photo->height);
    float sums[math::kStepSums];
    GS_UNROLL
    for (float& sum : sums) sum = 0.0f;
    for (std::uint32_t i = blockIdx.x * kThreads + threadIdx.x; i < pixels;
         i += gridDim.x * kThreads)
        pull_pixel(job, look, LookPixel(*job.photo, i), sums);
    GS_UNROLL
    for (int i = 0; i < math::kStepSums; ++i) {
        const float sum = warp_sum(sums[i]);
        if (lane_id() == 0) warps[i * kWarps + warp_id()] = sum;
    }
    __syncthreads();
    if (threadIdx.x >= math::kStepSums) return;
    float sum = 0;
    for (int w = 0; w < kWarps; ++w) sum += warps[static_cast<int>(threadIdx.x) * kWarps + w];
    job.sums[threadIdx.x * kMostLookBlocks + blockIdx.x] = sum;
}

GS_DEVICE void step_value(const LookJob& job, std::size_t all, std::size_t i, float gradient) {
    const math::AdamCell<float> cell{job.values[i], job.moments[i], job.moments[all + i]};
    const auto next = math::adam_step<float>(cell, gradient, job.step->rate, job.step->epsilon);
    job.values[i] = next.value;
    job.moments[i] = next.m;
    job.moments[all + i] = next.v;
}

/// Means over photos of each of their values: a warp a value.
template <class Shared>
GS_DEVICE void mean_photo(const LookJob& job, Shared& mean) {
    const std::uint32_t photos = job.step->photos;
    for (int k = warp_id(); k < kPhoto; k += kWarps) {
        float sum = 0;
        for (std::uint32_t p = static_cast<std::uint32_t>(lane_id()); p < photos; p += kWarp)
            sum += job.values[static_cast<std::size_t>(p) * kPhoto + static_cast<std::size_t>(k)];
        sum = warp_sum(sum);
        if (lane_id() == 0) mean[k] = sum / static_cast<float>(photos);
    }
}

/// Light k of all photos: what was found, without what neighbours share and without the mean. A
/// warp's work.
GS_DEVICE void share_light(const LookJob& job, std::size_t all, int k) {
    const std::uint32_t photos = job.step->photos, first = static_cast<std::uint32_t>(lane_id());
    const auto found = [&](std::uint32_t p) {
        return job.moments[std::size_t{p} * kPhoto + static_cast<std::size_t>(math::light_at(k))];
    };
    float sum = 0;
    for (std::uint32_t p = first; p < photos; p += kWarp) sum += found(p);
    const auto count = static_cast<float>(photos);
    const float mean = warp_sum(sum) / count;
    const auto near = [&](std::uint32_t p) {
        const math::PhotoNeighbours& beside = job.neighbours[p];
        float light = 0;
        for (int j = 0; j < math::kNeighbours; ++j)
            light += beside.share[j] * (found(beside.photo[j]) - mean);
        return light;
    };
    float moments[math::kLightMoments] = {};
    for (std::uint32_t p = first; p < photos; p += kWarp)
        math::add_moments(found(p) - mean, near(p), moments);
    for (float& m : moments) m = warp_sum(m);
    const float shared = math::shared_light(moments, count),
                rest = mean - shared * moments[math::kNear] / count;
    for (std::uint32_t p = first; p < photos; p += kWarp)
        job.moments[all + std::size_t{p} * kPhoto + static_cast<std::size_t>(math::light_at(k))] =
            found(p) - rest - shared * near(p);
}

/// What the step's photo says of its light, then the light of all photos. The block's work.
template <class Shared>
GS_DEVICE void step_light(const LookJob& job, std::size_t all, const Shared& sums) {
    const AppearanceInputs& in = *job.step;
    const auto light = [&](std::size_t from, std::size_t photo, int k) -> float& {
        return job.moments[from + photo * kPhoto + static_cast<std::size_t>(math::light_at(k))];
    };
    if (threadIdx.x == kThreads - 1) {  // no thread of a warp that reads it next
        float of_pixels[math::kLightSums], found[math::kLights], applied[math::kLights];
        for (int i = 0; i < math::kLightSums; ++i) of_pixels[i] = sums[math::kLookParts + i];
        for (int k = 0; k < math::kLights; ++k) {
            found[k] = light(0, in.photo, k);
            applied[k] = light(all, in.photo, k);
        }
        math::find_light(of_pixels, applied, found);
        for (int k = 0; k < math::kLights; ++k) light(0, in.photo, k) = found[k];
    }
    __syncthreads();
    if (warp_id() < math::kLights) share_light(job, all, warp_id());
    __syncthreads();
    for (std::size_t p = threadIdx.x; p < in.photos; p += kThreads) {
        float applied[math::kLights];
        for (int k = 0; k < math::kLights; ++k) applied[k] = light(all, p, k);
        math::set_light(applied, simple(in), job.values + p * kPhoto);
    }
}

/// Adam for what PPISP has besides; `own`: the gradient of the step's photo and camera. The
/// block's work.
template <class Shared, class Means>
GS_DEVICE void step_stages(const LookJob& job, std::size_t all, const Shared& own,
                           const Means& mean) {
    const AppearanceInputs& in = *job.step;
    const auto photos = static_cast<float>(in.photos), cameras = static_cast<float>(in.cameras);
    float means[kPhoto];
    for (int k = 0; k < kPhoto; ++k) means[k] = mean[k];
    for (std::size_t i = threadIdx.x; i < std::size_t{in.photos} * math::kAdamColours;
         i += kThreads) {
        const std::size_t photo = i / math::kAdamColours;
        const int k = math::kAdamColour + static_cast<int>(i % math::kAdamColours);
        const float pull = math::mean_pull(means, k, photos);
        step_value(job, all, photo * kPhoto + static_cast<std::size_t>(k),
                   pull + (photo == in.photo ? own[k] : 0.0f));
    }
    // A camera's values hold each other: all are read before one is written.
    for (std::uint32_t first = 0; first < in.cameras * kCamera;
         first += kThreads / kCamera * kCamera) {
        const std::uint32_t i = first + threadIdx.x;
        const bool used = threadIdx.x < kThreads / kCamera * kCamera && i < in.cameras * kCamera;
        const std::uint32_t camera = i / kCamera;
        const int k = static_cast<int>(i % kCamera);
        float gradient = 0;
        if (used)
            gradient = math::camera_pull(job.values + camera_at(in, camera), k, cameras) +
                       (camera == in.camera ? own[kPhoto + k] : 0.0f);
        __syncthreads();
        if (used) step_value(job, all, camera_at(in, 0) + i, gradient);
    }
}

struct LookStepParams {
    LookJob job;
    std::uint32_t blocks;  ///< that left sums
};
/// One block: a step of everything that was learned.
GS_KERNEL(kThreads, 1)
void step_look(LookStepParams p) {
    GS_SHARED(float, parts, math::kStepSums);
    GS_SHARED(float, own, math::kLookValues);
    GS_SHARED(float, mean, kPhoto);
    const LookJob& job = p.job;
    if (job.flags->go == 0) return;
    const AppearanceInputs& in = *job.step;
    const int thread = static_cast<int>(threadIdx.x);
    if (thread < math::kStepSums) {
        double sum = 0;
        for (std::uint32_t b = 0; b < p.blocks; ++b)
            sum += static_cast<double>(job.sums[threadIdx.x * kMostLookBlocks + b]);
        parts[thread] = static_cast<float>(sum);
    }
    mean_photo(job, mean);
    __syncthreads();
    if (thread == 0 && !simple(in)) {
        math::Look<float> look;
        float v_look[math::kLookParts], v[math::kLookValues];
        for (int i = 0; i < math::kLookParts; ++i) v_look[i] = parts[i];
        math::look_of(photo_values(job), camera_values(job), false, look);
        math::look_of_vjp(photo_values(job), camera_values(job), false, look, v_look, v,
                          v + kPhoto);
        bool sound = true;
        for (const float x : v) sound = sound && isfinite(x);
        for (int i = 0; i < math::kLookValues; ++i) own[i] = sound ? v[i] : 0.0f;
    }
    __syncthreads();
    const std::size_t all = camera_at(in, in.cameras);
    if (!simple(in)) step_stages(job, all, own, mean);
    if (in.width > 0.0f) step_light(job, all, parts);
}

std::uint32_t look_blocks(int width, int height) {
    const std::uint32_t needed =
        (static_cast<std::uint32_t>(width * height) + kThreads - 1) / kThreads;
    return needed < kMostLookBlocks ? needed : kMostLookBlocks;
}

}  // namespace

void launch_look(const Stream& stream, int width, int height, const LookJob& job) {
    launch(stream, "show_look",
           grid_for(static_cast<std::size_t>(width) * static_cast<std::size_t>(height), kThreads),
           show_look, job);
}

void launch_look_backward(const Stream& stream, int width, int height, const LookJob& job) {
    const std::uint32_t blocks = look_blocks(width, height);
    launch(stream, "pull_look", {blocks, kThreads}, pull_look, job);
    launch(stream, "step_look", {1, kThreads}, step_look, LookStepParams{job, blocks});
}

}  // namespace gs::cuda
