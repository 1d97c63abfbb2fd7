// A training program shaped like a PyTorch trainer of Gaussians, on the mock CUDA driver: loader
// threads that fill pinned memory, a main thread that annotates its iterations with NVTX and
// launches the forward pass, an autograd thread that launches the backward pass without any
// annotation, reading the loss back every few iterations
// (.item()), densification that reallocates, and kernels under the names of gsplat, ATen and CUB.
// Its times are made up.
//
//   fake_trainer [--iterations N] [--item-every N] [--densify-every N] [--loaders N] [--graph]
//   [--no-nvtx]
//                [--truth FILE] [--linger MS] [--exit] [--fork]
//
// --truth writes a line for each kernel: correlation, thread id, innermost NVTX range of that
// thread or "-", symbol.
// --exit ends by _exit(), as Python's multiprocessing workers do. Exit code 0 when every call
// succeeded.

#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "tests/support/fork_at_rest.h"
#include "tests/support/mock_cuda/mock_cuda.h"
#include "tests/support/nvtx_client.h"

namespace {

using namespace std::chrono_literals;

constexpr std::uint64_t us = 1000;
constexpr mock::Kernel kProject{"_ZN6gsplat36projection_ewa_3dgs_fused_fwd_kernelIfEEvjjPKT_PS1_",
                                60 * us, 64};
constexpr mock::Kernel kHarmonics{"_ZN6gsplat30spherical_harmonics_fwd_kernelIfEEvjPKT_PS1_",
                                  25 * us, 40};
constexpr mock::Kernel kIntersect{"_ZN6gsplat21intersect_tile_kernelIfEEvbjPKT_Pl", 30 * us, 32};
constexpr mock::Kernel kSort{
    "_ZN3cub29DeviceRadixSortOnesweepKernelINS_6PolicyImLi256EEEmiEEvPKT0_PT1_", 50 * us, 72};
constexpr mock::Kernel kRaster{
    "_ZN6gsplat35rasterize_to_pixels_3dgs_fwd_kernelILj3EfEEvjjPKT0_PS1_", 200 * us, 56, 8192};
constexpr mock::Kernel kElementwise{
    "_ZN2at6native29vectorized_elementwise_kernelILi4ENS0_13BinaryFunctorINS0_10AddFunctorEEENS0_"
    "5ArrayIPcLi3EEEEEviT0_T1_",
    4 * us, 24};
constexpr mock::Kernel kReduce{"_ZN2at6native13reduce_kernelILi512ENS0_8ReduceOpIfEEEEvT0_", 9 * us,
                               38};
constexpr mock::Kernel kRasterBack{
    "_ZN6gsplat35rasterize_to_pixels_3dgs_bwd_kernelILj3EfEEvjjPKT0_PS1_", 500 * us, 96, 12288};
constexpr mock::Kernel kHarmonicsBack{"_ZN6gsplat30spherical_harmonics_bwd_kernelIfEEvjPKT_PS1_",
                                      40 * us, 48};
constexpr mock::Kernel kProjectBack{
    "_ZN6gsplat36projection_ewa_3dgs_fused_bwd_kernelIfEEvjjPKT_PS1_", 110 * us, 80};
constexpr mock::Kernel kAdam{"_ZN6gsplat11adam_kernelIfEEvjPT_", 70 * us, 28};
constexpr mock::Kernel kRelocate{"_ZN6gsplat17relocation_kernelIfEEvjPT_", 45 * us, 34};

struct Options {
    int iterations = 20, item_every = 5, densify_every = 10, loaders = 2;
    int linger_ms = 0;
    bool graph = false, nvtx = true, hard_exit = false, fork = false;
    const char* truth = nullptr;
};

bool parse(int argc, char** argv, Options& o) {
    const auto number = [&](int& i) { return i + 1 < argc ? std::atoi(argv[++i]) : 0; };
    for (int i = 1; i < argc; ++i) {
        const std::string a = argv[i];
        if (a == "--iterations")
            o.iterations = number(i);
        else if (a == "--item-every")
            o.item_every = number(i);
        else if (a == "--densify-every")
            o.densify_every = number(i);
        else if (a == "--loaders")
            o.loaders = number(i);
        else if (a == "--linger")
            o.linger_ms = number(i);
        else if (a == "--graph")
            o.graph = true;
        else if (a == "--no-nvtx")
            o.nvtx = false;
        else if (a == "--exit")
            o.hard_exit = true;
        else if (a == "--fork")
            o.fork = true;
        else if (a == "--truth" && i + 1 < argc)
            o.truth = argv[++i];
        else
            return false;
    }
    return true;
}

Options options;
std::FILE* truth = nullptr;
std::mutex truth_mutex;
std::atomic<int> failures{0};
thread_local std::vector<const char*> ranges;
nvtxDomainHandle_t
    domain{};  // made before there are threads, one of which may be in the midst of it at a fork

void check(int result) {
    if (result != 0) ++failures;
}

/// Between a range's ends and the calls beside them real programs do something. A range's time and
/// a call's are of two clocks, which agree to a fraction of a microsecond, not to nothing.
void do_something() {
    const auto until = std::chrono::steady_clock::now() + std::chrono::microseconds(20);
    while (truth != nullptr && std::chrono::steady_clock::now() < until) continue;
}

/// An NVTX range of the domain "gsplat" with a payload, as the nvtx package of Python writes it.
class Range {
  public:
    explicit Range(const char* name, std::uint64_t payload = 0) {
        if (!options.nvtx) return;
        nvtxEventAttributes_t e{};
        e.version = NVTX_VERSION;
        e.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
        e.messageType = NVTX_MESSAGE_TYPE_ASCII;
        e.message.ascii = name;
        e.payloadType = NVTX_PAYLOAD_TYPE_UNSIGNED_INT64;
        e.payload.ullValue = payload;
        nvtxDomainRangePushEx(domain, &e);
        ranges.push_back(name);
        do_something();
    }
    ~Range() {
        if (!options.nvtx) return;
        ranges.pop_back();
        nvtxDomainRangePop(domain);
        do_something();
    }
    Range(const Range&) = delete;
    Range& operator=(const Range&) = delete;
};

void launch(const mock::Kernel& kernel, unsigned blocks, void* stream = nullptr,
            std::size_t shared = 0) {
    check(cudaLaunchKernel(&kernel, {blocks, 1, 1}, {256, 1, 1}, nullptr, shared, stream));
    if (truth == nullptr) return;
    const std::lock_guard lock(truth_mutex);
    std::fprintf(truth, "%u %ld %s %s\n", mock_cuda_last_correlation(), ::syscall(SYS_gettid),
                 ranges.empty() ? "-" : ranges.back(), kernel.symbol);
}

/// One thread that does what others give it and lets them wait for it.
class Worker {
  public:
    explicit Worker(const char* name) : thread_([this, name] { run(name); }) {}
    ~Worker() {
        post({});
        thread_.join();
    }
    void post(std::function<void()> job) {
        const std::lock_guard lock(mutex_);
        jobs_.push_back(std::move(job));
        wake_.notify_all();
    }
    void wait() {
        std::unique_lock lock(mutex_);
        wake_.wait(lock, [&] { return jobs_.empty() && !busy_; });
    }

  private:
    void run(const char* name) {
        ::pthread_setname_np(::pthread_self(), name);
        std::unique_lock lock(mutex_);
        for (;;) {
            wake_.wait(lock, [&] { return !jobs_.empty(); });
            const std::function<void()> job = std::move(jobs_.front());
            jobs_.pop_front();
            if (!job) return;
            busy_ = true;
            lock.unlock();
            job();
            lock.lock();
            busy_ = false;
            wake_.notify_all();
        }
    }
    std::mutex mutex_;
    std::condition_variable wake_;
    std::deque<std::function<void()>> jobs_;
    bool busy_ = false;
    std::thread thread_;
};

/// Decoded images on their way to the device.
class Loader {
  public:
    explicit Loader(int threads) {
        for (int i = 0; i < threads; ++i) threads_.emplace_back([this] { run(); });
    }
    ~Loader() {
        {
            const std::lock_guard lock(mutex_);
            stop_ = true;
        }
        wake_.notify_all();
        for (std::thread& t : threads_) t.join();
    }
    int next() {
        std::unique_lock lock(mutex_);
        if (threads_.empty()) return 0;
        wake_.wait(lock, [&] { return !ready_.empty(); });
        const int image = ready_.front();
        ready_.pop_front();
        wake_.notify_all();
        return image;
    }

  private:
    void run() {
        ::pthread_setname_np(::pthread_self(), "pt_data_worker");
        for (;;) {
            {
                const Range decode("decode image");
                std::this_thread::sleep_for(300us);
            }
            std::unique_lock lock(mutex_);
            wake_.wait(lock, [&] { return stop_ || ready_.size() < 4; });
            if (stop_) return;
            ready_.push_back(image_++);
            wake_.notify_all();
        }
    }
    std::mutex mutex_;
    std::condition_variable wake_;
    std::deque<int> ready_;
    int image_ = 0;
    bool stop_ = false;
    std::vector<std::thread> threads_;
};

struct Trainer {
    Worker autograd{"pt_autograd_0"};
    Loader loader{options.loaders};
    void *model = nullptr, *image = nullptr, *loss = nullptr, *pinned = nullptr,
         *copy_stream = nullptr;
    unsigned blocks = 4000;
    static constexpr std::size_t kImageBytes = 3u << 20;

    Trainer() {
        check(cudaMalloc(&model, std::size_t{256} << 20));
        check(cudaMalloc(&image, kImageBytes));
        check(cudaMalloc(&loss, 4));
        check(cudaMallocHost(&pinned, kImageBytes));
        check(cudaStreamCreate(&copy_stream));
    }

    void forward() {
        const Range range("forward");
        if (options.graph) {
            const mock::Kernel* nodes[] = {&kProject, &kHarmonics, &kIntersect};
            check(mock_cuda_graph_launch(1, nodes, 3, nullptr));
        } else {
            const Range project("project-fwd", blocks);
            launch(kProject, blocks);
            launch(kHarmonics, blocks);
        }
        {
            const Range sort("isect-camera");
            launch(kIntersect, blocks);
            launch(kSort, 2 * blocks);
        }
        const Range raster("raster3D-fwd");
        launch(kRaster, 5000, nullptr, 4096);
    }

    void backward() {
        const Range range("backward");
        launch(kReduce, 64);
        autograd.post([this] {
            launch(kRasterBack, 5000, nullptr, 4096);
            launch(kHarmonicsBack, blocks);
            launch(kProjectBack, blocks);
        });
        autograd.wait();
    }

    void densify() {
        const Range range("densify");
        for (int i = 0; i < 6; ++i) {
            void* grown = nullptr;
            check(cudaMalloc(&grown, std::size_t{8} << 20));
            launch(kRelocate, blocks);
            check(cudaFree(grown));
        }
        check(cudaDeviceSynchronize());
        blocks += 200;
    }

    void iterate(int i) {
        const Range range("iteration", static_cast<std::uint64_t>(i));
        loader.next();
        check(cudaMemcpyAsync(image, pinned, kImageBytes, 1, copy_stream));
        check(cudaStreamSynchronize(copy_stream));
        check(cudaMemsetAsync(loss, 0, 4, nullptr));
        forward();
        launch(kElementwise, 128);
        backward();
        {
            const Range step("optimizer");
            for (int group = 0; group < 6; ++group) launch(kAdam, blocks);
        }
        if (options.item_every > 0 && i % options.item_every == options.item_every - 1) {
            const Range item("item");
            float host = 0;
            check(cudaMemcpyAsync(&host, loss, sizeof host, 2, nullptr));
            check(cudaStreamSynchronize(nullptr));
        }
        if (options.densify_every > 0 && i % options.densify_every == options.densify_every - 1)
            densify();
    }
};

/// What a data loader of Python does: a child that must not disturb its parent's recording.
void fork_child() {
    const pid_t child = gs::test::fork_at_rest();
    if (child == 0) {
        { const Range range("in the child"); }
        ::_exit(0);
    }
    int status = 0;
    if (::waitpid(child, &status, 0) != child || status != 0) ++failures;
}

}  // namespace

int main(int argc, char** argv) {
    if (!parse(argc, argv, options)) {
        std::fprintf(stderr, "fake_trainer: unknown option; its source names them\n");
        return 2;
    }
    if (options.truth != nullptr) truth = std::fopen(options.truth, "w");
    if (options.nvtx) domain = nvtxDomainCreateA("gsplat");
    {
        Trainer trainer;
        if (options.fork) fork_child();
        for (int i = 0; i < options.iterations; ++i) trainer.iterate(i);
        check(cudaDeviceSynchronize());
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(options.linger_ms));
    if (truth != nullptr) std::fclose(truth);
    const int code = failures.load() == 0 ? 0 : 1;
    if (options.hard_exit) ::_exit(code);
    return code;
}
