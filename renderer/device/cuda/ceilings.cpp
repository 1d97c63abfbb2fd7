#include "renderer/device/cuda/ceilings.h"

#include <algorithm>
#include <chrono>
#include <limits>
#include <string>
#include <vector>

#include "renderer/device/cuda/ceiling_kernels.h"

namespace gs::cuda {
namespace {

class CeilingRun {
  public:
    CeilingRun(const CudaDeviceInfo& device, const CeilingEffort& effort)
        : device_(device),
          effort_(effort),
          blocks_(static_cast<std::uint32_t>(std::max(device.multiprocessors, 1)) *
                  effort.blocks_per_multiprocessor) {}

    Ceilings run() {
        const auto begin = now();
        Ceilings out{.machine = device_.name, .cuda = true};
        out_.resize_discard(1, stream_);
        copy(out);
        arithmetic(out);
        atomics(out);
        launches(out);
        out.measured_in_seconds = now() - begin;
        return out;
    }

  private:
    static double now() {
        return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch())
            .count();
    }
    /// Seconds on the device, the best of several after one that does not count.
    template <class F>
    double best_seconds(F enqueue) {
        double best = std::numeric_limits<double>::infinity();
        for (int i = 0; i <= effort_.repeats; ++i) {
            begin_.record(stream_);
            enqueue();
            end_.record(stream_);
            stream_.synchronize();
            if (i > 0)
                best = std::min(best, 1e-3 * static_cast<double>(end_.milliseconds_since(begin_)));
        }
        return best;
    }
    double threads() const { return static_cast<double>(blocks_) * kCeilingThreads; }

    void copy(Ceilings& out) {
        const std::size_t bytes = std::min<std::size_t>(effort_.copy_bytes, device_.free_bytes / 8);
        const std::size_t count = std::max<std::size_t>(bytes / sizeof(float4), 1);
        DeviceBuffer<float4> from("what a copy reads"), to("what a copy writes");
        from.resize_discard(count, stream_);
        to.resize_discard(count, stream_);
        fill_bytes(from.data(), 0, count * sizeof(float4), stream_);
        const double moved = 2.0 * static_cast<double>(count * sizeof(float4));
        // A thread per 16 bytes, and a few threads for all of it: which is faster differs between
        // GPUs.
        double best = std::numeric_limits<double>::infinity();
        for (const std::uint32_t blocks :
             {static_cast<std::uint32_t>((count + kCeilingThreads - 1) / kCeilingThreads), blocks_})
            best = std::min(best, best_seconds([&] {
                                launch_copy(stream_, blocks, from.data(), to.data(), count);
                            }));
        out.copy_bytes = moved / best;
    }
    void arithmetic(Ceilings& out) {
        const double turns = threads() * effort_.rounds;
        const auto seconds = [&](Arithmetic kind) {
            return best_seconds(
                [&] { launch_arithmetic(stream_, kind, blocks_, effort_.rounds, out_.data()); });
        };
        out.lane_operations = turns * kCeilingChains / seconds(Arithmetic::multiply_add);
        out.special_operations = turns * kCeilingChains / seconds(Arithmetic::special);
        out.shared_bytes = turns * sizeof(float4) / seconds(Arithmetic::shared);
    }
    void atomics(Ceilings& out) {
        const std::uint32_t rounds = std::max(effort_.rounds / 16, 1u);
        constexpr std::uint32_t kSpread = 1u << 20;
        DeviceBuffer<float> to("what atomics add to");
        to.resize_discard(kSpread, stream_);
        fill_bytes(to.data(), 0, kSpread * sizeof(float), stream_);
        const auto rate = [&](std::uint32_t mask) {
            const double seconds =
                best_seconds([&] { launch_atomics(stream_, blocks_, rounds, to.data(), mask); });
            return threads() * rounds / seconds;
        };
        out.atomics_spread = rate(kSpread - 1);
        out.atomics_contended = rate(0);
    }
    void launches(Ceilings& out) {
        const auto nothing = [&] { launch_nothing(stream_); };
        std::vector<double> alone;
        for (int i = 0; i < 51; ++i) {
            const double begin = now();
            nothing();
            stream_.synchronize();
            alone.push_back(now() - begin);
        }
        std::sort(alone.begin(), alone.end());
        out.launch_seconds = alone[alone.size() / 2];
        out.launch_interval_seconds = best_seconds([&] {
                                          for (int i = 0; i < effort_.launches; ++i) nothing();
                                      }) /
                                      effort_.launches;
    }

    const CudaDeviceInfo& device_;
    CeilingEffort effort_;
    std::uint32_t blocks_;
    Stream stream_{"ceilings"};
    Event begin_{Event::Timing::on}, end_{Event::Timing::on};
    DeviceBuffer<float> out_{"results of the ceilings"};
};

}  // namespace
}  // namespace gs::cuda

namespace gs {

Result<Ceilings> measure_cuda_ceilings(int index, const CeilingEffort& effort) {
    const auto device = cuda_device_info(index);
    if (!device) return tl::unexpected<Error>(device.error());
    try {
        cuda::use_device(index);
        return cuda::CeilingRun(*device, effort).run();
    } catch (const DeviceError& error) {
        return fail(ErrorKind::unsupported, "",
                    std::string("the GPU's ceilings could not be measured: ") + error.what());
    }
}

}  // namespace gs
