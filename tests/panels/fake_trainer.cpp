#include "tests/panels/fake_trainer.h"

#include <array>
#include <map>
#include <string>

namespace gs::test {
namespace {

constexpr std::uint32_t kMain = 0, kLoader = 1;  // tracks of the batch
constexpr std::uint32_t kMainTid = 4242, kAutogradTid = 4250;
constexpr std::uint32_t kCompute = 7, kCopies = 14;  // streams

struct Launch {
    const char* kernel;
    std::int64_t length_ns;
    std::uint32_t grid, block, registers;
};
constexpr std::array kForward{
    Launch{"void gsplat::projection_ewa_3dgs_fused_fwd_kernel<float>(int, float const*)", 310'000,
           1556, 256, 62},
    Launch{"void gsplat::intersect_tile_kernel<float>(bool, long)", 140'000, 1556, 256, 32},
    Launch{"void cub::DeviceRadixSortOnesweepKernel<unsigned long>(int)", 420'000, 912, 384, 80},
    Launch{"void gsplat::rasterize_to_pixels_3dgs_fwd_kernel<3u, float>(unsigned int)", 880'000,
           2400, 256, 48}};
constexpr std::array kBackward{
    Launch{"void fused_ssim_backwardCUDA(int, int)", 190'000, 1200, 256, 40},
    Launch{"void gsplat::rasterize_to_pixels_3dgs_bwd_kernel<3u, float>(unsigned int)", 1'900'000,
           2400, 256, 128},
    Launch{"void gsplat::projection_ewa_3dgs_fused_bwd_kernel<float>(int)", 520'000, 1556, 256,
           96}};
constexpr std::array kOptimizer{
    Launch{"void at::native::multi_tensor_apply_kernel<at::native::adam>(int)", 260'000, 640, 512,
           40},
    Launch{"void gsplat::relocation_kernel(int)", 45'000, 64, 128, 24}};

class Recorder {
  public:
    Recorder(TraceBatch& batch, std::int64_t now) : batch_(batch), now_(now) {}

    std::uint32_t name(const std::string& text) {
        const auto [at, added] =
            names_.try_emplace(text, static_cast<std::uint32_t>(names_.size()) + 1);
        if (added) batch_.names.push_back({at->second, text, "", 0, 0});
        return at->second;
    }
    std::int64_t now() const { return now_; }
    void wait(std::int64_t ns) { now_ += ns; }
    void wait_for_gpu() { now_ = std::max(now_ + 20'000, gpu_now_[kCompute]); }

    void range(const char* text, std::int64_t begin, std::uint8_t depth,
               std::uint64_t payload = 0) {
        batch_.spans.push_back({begin, now_, payload, kMain, name(text), depth, payload != 0});
    }
    void call(const char* text, std::uint32_t tid, std::int64_t length, std::uint64_t correlation) {
        batch_.api_calls.push_back({.begin_ns = now_,
                                    .end_ns = now_ += length,
                                    .correlation = correlation,
                                    .tid = tid,
                                    .name = name(text)});
    }
    void kernel(const Launch& launch, std::uint32_t tid, double slower = 1) {
        const std::uint64_t correlation = ++correlation_;
        const std::int64_t called = now_;
        call("cudaLaunchKernel", tid, 6'000, correlation);
        GpuWorkEvent work =
            placed(kCompute, called,
                   static_cast<std::int64_t>(slower * static_cast<double>(launch.length_ns)));
        work.correlation = correlation;
        work.name = name(launch.kernel);
        work.grid[0] = launch.grid;
        work.grid[1] = work.grid[2] = 1;
        work.block[0] = launch.block;
        work.block[1] = work.block[2] = 1;
        work.registers = launch.registers;
        work.static_shared = 4096;
        batch_.gpu_work.push_back(work);
        now_ += 4'000;
    }
    void copy(std::uint64_t bytes, std::int64_t length) {
        const std::uint64_t correlation = ++correlation_;
        const std::int64_t called = now_;
        call("cudaMemcpyAsync", kMainTid, 9'000, correlation);
        GpuWorkEvent work = placed(kCopies, called, length);
        work.correlation = correlation;
        work.kind = GpuWorkKind::copy;
        work.name = name("copy pageable to device");
        work.bytes = bytes;
        work.source = abi::MemoryType::pageable;
        work.target = abi::MemoryType::device;
        batch_.gpu_work.push_back(work);
    }
    void sync() {
        call("cudaStreamSynchronize", kMainTid,
             std::max<std::int64_t>(gpu_now_[kCompute] - now_, 5'000), 0);
    }
    void counter(const char* text, double value) {
        batch_.counters.push_back({now_, value, kMain, name(text)});
    }
    void mark(const char* text) { batch_.instants.push_back({now_, 0, kMain, name(text)}); }

  private:
    GpuWorkEvent placed(std::uint32_t stream, std::int64_t called, std::int64_t length) {
        std::int64_t& free_at = gpu_now_[stream];
        GpuWorkEvent work{.begin_ns = std::max(free_at + 1'500, called + 5'000)};
        work.end_ns = free_at = work.begin_ns + length;
        work.device = 0;
        work.context = 1;
        work.stream = stream;
        return work;
    }
    TraceBatch& batch_;
    std::int64_t now_;
    std::map<std::string, std::uint32_t> names_;
    std::map<std::uint32_t, std::int64_t> gpu_now_;
    std::uint64_t correlation_ = 0;
};

void one_iteration(Recorder& r, int number, double slower) {
    const std::int64_t begin = r.now();
    r.copy(12'441'600, 1'150'000);
    std::int64_t inner = r.now();
    for (std::size_t i = 0; i < kForward.size(); ++i) {
        const std::int64_t part = r.now();
        r.kernel(kForward[i], kMainTid);
        if (i == 0) r.range("project", part, 2);
        if (i + 1 == kForward.size()) r.range("rasterize", part, 2);
    }
    r.range("forward", inner, 1);
    inner = r.now();
    for (const Launch& launch : kBackward) r.kernel(launch, kAutogradTid, slower);
    r.sync();
    r.range("backward", inner, 1);
    inner = r.now();
    for (const Launch& launch : kOptimizer) r.kernel(launch, kMainTid);
    r.range("optimizer", inner, 1);
    inner = r.now();
    r.wait(120'000 + 40'000 * (number % 5));
    r.range("next batch", inner, 1);
    r.range("iteration", begin, 0, static_cast<std::uint64_t>(number));
    r.counter("device memory used (GiB)", 6.5 + 0.02 * number + (number % 10 == 0 ? 0.4 : 0.0));
    r.counter("SM utilisation (%)", 71 + 9 * ((number * 7) % 5) - 2.0 * slower);
    if (number % 10 == 0) r.mark("densify");
}

GpuDeviceEvent device() {
    return {.name = "NVIDIA H200",
            .compute_major = 9,
            .multiprocessors = 132,
            .warps_per_multiprocessor = 64,
            .blocks_per_multiprocessor = 32,
            .registers_per_multiprocessor = 65536,
            .shared_per_multiprocessor = 233472,
            .shared_per_block = 232448};
}

}  // namespace

std::int64_t fill_trainer(TraceStore& store, const FakeTrainer& trainer) {
    TraceBatch batch{.source = trainer.source,
                     .pid = trainer.pid,
                     .process_start = trainer.pid,
                     .process_name = "python train.py"};
    batch.labels.command = "python train.py --data garden --steps 30000";
    batch.tracks = {{kMain, trainer.pid, kMainTid, "main", false},
                    {kLoader, trainer.pid, 4260, "pt_data_worker", false}};
    batch.devices = {device()};
    Recorder r(batch, trainer.begin_ns);
    for (int i = 1; i <= trainer.iterations; ++i) one_iteration(r, i, trainer.slower);
    r.wait_for_gpu();
    const std::int64_t end = r.now();
    const std::uint32_t decode = r.name("decode image");
    for (std::int64_t t = trainer.begin_ns; t + 2'600'000 < end; t += 4'100'000)
        batch.spans.push_back({t, t + 2'300'000, 0, kLoader, decode, 0, false});
    batch.read_ns = end + 1'000'000;
    batch.written = batch.spans.size();
    store.ingest(batch);
    return end;
}

void fill_many(TraceStore& store, std::size_t spans, std::int64_t begin_ns) {
    constexpr std::uint32_t kThreads = 8, kDepth = 4, kStreams = 2;
    constexpr std::int64_t kStep = 1'000;
    TraceBatch batch{.pid = 77, .process_name = "many"};
    for (std::uint32_t t = 0; t < kThreads; ++t)
        batch.tracks.push_back({t, 77, 100 + t, "worker " + std::to_string(t), false});
    for (std::uint32_t n = 1; n <= 200; ++n)
        batch.names.push_back(
            {n, n <= kStageCount ? kStageNames[n - 1] : "range " + std::to_string(n), "", 0, 0});
    const std::size_t columns = spans / (kThreads * kDepth + kStreams);
    std::uint32_t seed = 1;
    for (std::size_t c = 0; c < columns; ++c) {
        const std::int64_t at = begin_ns + static_cast<std::int64_t>(c) * kStep;
        seed = seed * 1664525U + 1013904223U;
        for (std::uint32_t t = 0; t < kThreads; ++t)
            for (std::uint8_t d = kDepth; d-- > 0;)
                batch.spans.push_back(
                    {at + d * 20 + t, at + kStep - 50 - d * 20 - (seed >> 28) * 20 + t, 0, t,
                     1 + (static_cast<std::uint32_t>(c) * (d + 1U) + t) % 200U, d, false});
        for (std::uint32_t s = 0; s < kStreams; ++s) {
            GpuWorkEvent work{.begin_ns = at + 100,
                              .end_ns = at + 900 - (seed >> 28) * 20,
                              .name = 1 + static_cast<std::uint32_t>(c) % 200U,
                              .context = 1,
                              .stream = 7 + s};
            work.grid[0] = 100;
            work.block[0] = 256;
            batch.gpu_work.push_back(work);
        }
        if (batch.spans.size() < 200'000 && c + 1 < columns) continue;
        batch.read_ns = at + kStep;
        batch.written += batch.spans.size();
        store.ingest(batch);
        batch.tracks.clear();
        batch.names.clear();
        batch.spans.clear();
        batch.gpu_work.clear();
    }
}

}  // namespace gs::test
