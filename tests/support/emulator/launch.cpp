#include "tests/support/emulator/launch.h"

#include <fmt/format.h>
#include <tbb/blocked_range.h>
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>

#include <atomic>
#include <memory>
#include <numeric>
#include <vector>

#include "tests/support/emulator/block.h"
#include "tests/support/emulator/observer.h"
#include "tests/support/emulator/runtime_state.h"

namespace gs::emulator {
namespace {

Block& block_of_this_host_thread() {
    static thread_local const std::unique_ptr<Block> block = std::make_unique<Block>();
    return *block;
}

/// Blocks in scrambled order: i -> (first + i * stride) mod blocks, stride without a common factor.
struct Order {
    std::uint64_t first, stride, blocks;
    Order(std::uint64_t seed, unsigned count)
        : first(seed % count), stride(seed / 7 % count | 1), blocks(count) {
        while (std::gcd(stride, blocks) != 1) stride += 2;
    }
    unsigned operator()(std::uint64_t i) const {
        return static_cast<unsigned>((first + i * stride) % blocks);
    }
};

/// Runs `places` blocks at a time, like a device that holds that many. The next one is chosen at
/// random wherever one reads what another writes; a block that has not begun waits for an end.
void run_together(const Block::Launch& launch, const Order& order, unsigned places) {
    constexpr std::uint64_t kMostLooks = 1'000'000;  ///< until one ends, of all that run
    std::vector<std::unique_ptr<Block>> running, ended;
    const auto give_up = [&] {
        for (const auto& block : running) block->abandon();
    };
    std::uint64_t random = launch.seed, looks = 0;
    for (unsigned next = 0; next < launch.blocks || !running.empty();) {
        if (next < launch.blocks && running.size() < places) {
            if (ended.empty()) ended.push_back(std::make_unique<Block>());
            running.push_back(std::move(ended.back()));
            ended.pop_back();
            running.back()->begin(launch, order(next++));
            continue;
        }
        random = random * 6364136223846793005u + 1442695040888963407u;
        auto& block = running[(random >> 33) % running.size()];
        bool at_end = false;
        try {
            at_end = block->go();
        } catch (...) {
            give_up();
            throw;
        }
        if (at_end) {
            ended.push_back(std::move(block));
            block = std::move(running.back());
            running.pop_back();
            looks = 0;
        } else if (++looks > kMostLooks) {
            give_up();
            throw EmulatorError(
                Fault::no_progress,
                fmt::format("kernel {}: {} blocks wait for what no block that runs will write",
                            launch.name, running.size()),
                "", 0);
        }
    }
}

void run_grid(Runtime& runtime, const std::string& name, unsigned blocks, unsigned threads,
              const std::function<void()>& body, const KernelCall& call) {
    const Launched launched{call.function, name, blocks, threads, call.parameters};
    const std::size_t observers = call.function != nullptr ? runtime.observers.size() : 0;
    for (std::size_t i = 0; i < observers; ++i) runtime.observers[i]->before(launched);
    const std::uint64_t seed =
        (runtime.seed * 0x9e3779b97f4a7c15u) ^ (runtime.statistics.launches * 0xff51afd7ed558ccdu);
    const Block::Launch launch{name.c_str(), blocks, threads, &body, seed};
    const Order order(seed >> 8, blocks);
    std::atomic<std::uint64_t> switches{0};
    const auto run = [&](std::size_t begin, std::size_t end) {
        Block& block = block_of_this_host_thread();
        const std::uint64_t before = block.switches();
        for (std::size_t i = begin; i < end; ++i) block.run(launch, order(i));
        switches += block.switches() - before;
    };
    if (runtime.together > 1) {
        run_together(launch, order, runtime.together);
    } else if (runtime.deterministic || blocks == 1) {
        run(0, blocks);
    } else {
        // Isolated: while it waits, this thread must not pick up unrelated work that comes back
        // into the runtime.
        tbb::this_task_arena::isolate([&] {
            tbb::parallel_for(tbb::blocked_range<std::size_t>(0, blocks),
                              [&](const tbb::blocked_range<std::size_t>& part) {
                                  run(part.begin(), part.end());
                              });
        });
    }
    runtime.statistics.launches += 1;
    runtime.statistics.blocks += blocks;
    runtime.statistics.threads += std::uint64_t{blocks} * threads;
    runtime.statistics.switches += switches;
    runtime.allocations.verify("kernel " + name);
    for (std::size_t i = 0; i < observers; ++i) runtime.observers[i]->after(launched);
}

}  // namespace

void launch(cudaStream_t stream, const char* name, unsigned blocks, unsigned threads,
            std::function<void()> thread_body, KernelCall call) {
    Runtime& runtime = Runtime::instance();
    const Guard guard(runtime.mutex);
    if (threads == 0 || threads > 1024 || threads % 32 != 0) {
        throw EmulatorError(
            Fault::bad_launch,
            fmt::format("kernel {}: blocks of {} threads; a multiple of 32 up to 1024 is needed",
                        name, threads),
            "", 0);
    }
    if (blocks == 0 || blocks > 0x7fffffffu) {
        throw EmulatorError(Fault::bad_launch,
                            fmt::format("kernel {}: a grid of {} blocks", name, blocks), "", 0);
    }
    if (runtime.stream_of(stream)->device != Runtime::current_device) {
        throw EmulatorError(
            Fault::bad_launch,
            fmt::format("kernel {}: the stream is of device {}, the thread works on device {}",
                        name, runtime.stream_of(stream)->device, Runtime::current_device),
            "", 0);
    }
    if (runtime.device == Device::absent || runtime.device == Device::no_driver) {
        throw EmulatorError(Fault::bad_launch,
                            fmt::format("kernel {} launched without a device", name), "", 0);
    }
    runtime.enqueue(
        stream, name, true,
        [&runtime, kernel = std::string(name), blocks, threads, body = std::move(thread_body),
         known = std::move(call)] { run_grid(runtime, kernel, blocks, threads, body, known); });
}

LaunchObserver::LaunchObserver() {
    Runtime& runtime = Runtime::instance();
    const Guard guard(runtime.mutex);
    runtime.observers.push_back(this);
}
LaunchObserver::~LaunchObserver() {
    Runtime& runtime = Runtime::instance();
    const Guard guard(runtime.mutex);
    std::erase(runtime.observers, this);
}

}  // namespace gs::emulator
