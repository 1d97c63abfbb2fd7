#include "tests/support/ptx_launches/launch_executor.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstring>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "renderer/raster/cuda/blend.cuh"
#include "renderer/raster/cuda/blend_backward.h"
#include "tests/support/emulator/kernel_name.h"
#include "tests/support/ptx_launches/adam_noise.h"
#include "trainer/cuda/beams.h"
#include "trainer/cuda/loss.h"

namespace gs::ptx {
namespace {

constexpr std::size_t kMostComplaints = 4;  // of one kernel

struct KernelTolerance {
    std::string_view kernel;  ///< how its name begins
    Tolerance tolerance;
    std::string_view why;
};
/// nvcc fuses multiplications with additions where the host compiler does not, and inlines libm's
/// functions as its own. All other kernels move, count, compare, or request each rounding by name
/// (blending, so that all kernels decide alike): their bits must be equal.
constexpr KernelTolerance kTolerances[] = {
    {"blend_backward",
     {1e-4, 2e-6},
     "sums over pixels; what lies behind is the whole less the seen"},
    {"photo_loss", {5e-4, 2e-6}, "variances are differences of squares"},
    {"finish_loss", {1e-12, 0, true}, "sums in double"},
    {"show_look", {1e-5, 1e-7}, "powers by libm's logarithm and exponential"},
    {"pull_look", {1e-3, 2e-6}, "sums over pixels of the slopes of those"},
    {"step_look", {1e-4, 1e-7}, "the same, and Adam's root"},
    {"draw_sky", {1e-4, 1e-6}, "directions and harmonics are fused; a lens is inverted by steps"},
    {"pull_sky", {1e-3, 2e-6}, "sums over pixels of those"},
    {"step_sky", {1e-4, 1e-7}, "a step of Adam, fused"},
    {"emit_beam_pairs", {1e-5, 0}, "whitening is fused"},
    {"trace_beams_backward", {1e-4, 2e-6}, "sums over rays; what lies behind adds up"},
    {"trace_beams", {1e-5, 1e-7}, "weights by libm's power of two"},
    {"add_beams", {1e-4, 2e-6}, "rounded from doubles; terms of their sums cancel"},
    {"project<", {1e-4, 0}, "conics of needles cancel"},
    {"project_backward<", {1e-3, 2e-6}, "through those conics, and back"},
    {"project_lens<", {1e-4, 0}, "the same, through a lens's own slopes"},
    {"project_backward_lens<", {1e-3, 2e-6}, "through those conics and slopes, and back"},
    {"project_unscented<", {1e-4, 0}, "the same, by differences of seven places"},
    {"project_coded<", {1e-4, 0}, "as project"},
    {"project_lens_coded<", {1e-4, 0}, "as project_lens"},
    {"project_unscented_coded<", {1e-4, 0}, "as project_unscented"},
    {"project_backward_unscented<", {1e-3, 2e-6}, "through those, and back"},
    {"sum_intrinsics", {1e-3, 0, true}, "sums of slopes through those conics"},
    {"step_batch", {1e-5, 1e-7}, "a step of Adam, fused"},
    {"refresh_bounds", {1e-6, 0}, "drifts are fused"},
    {"nudge", {1e-6, 1e-6}, "the same, and noise by libm's logarithm and cosine"},
    {"sum_absolute<AbsoluteStatistics>", {1e-6, 0}, "a length's squares are fused"},
    {"settle_all", {1e-6, 0}, "the steps slept through are fused"},
    {"read_plane", {1e-6, 0}, "the same"},
    {"project_entries<", {1e-6, 0}, "rounded from doubles"},
    {"project_rows_vjp<", {1e-5, 1e-6}, "the same; terms of their sums cancel"},
    {"shade_entries", {1e-6, 0}, "rounded from doubles"},
    {"shade_rows_vjp", {1e-5, 1e-6}, "the same; terms of their sums cancel"},
    {"add_centres", {1e-6, 1e-6}, "rounded from doubles"},
    {"cover_entries", {1e-6, 0}, "the same, through libm's logarithm"},
    {"blend_channels_vjp", {5e-4, 2e-6}, "as blend_backward"},
    {"blend_channels", {1e-5, 1e-6}, "sums over splats, weights by libm's power of two"},
    {"gather_entries", {1e-5, 1e-6}, "rounded from doubles"},
};

std::span<const std::uint32_t> words_of(const void* at, std::size_t bytes) {
    return {static_cast<const std::uint32_t*>(at), bytes / sizeof(std::uint32_t)};
}

/// Where the loss, beams and the backward of tensors leave sums that are doubles; 0: another
/// kernel.
std::uintptr_t partials_of(const std::string& kernel, std::span<const std::byte> parameters) {
    std::uintptr_t address = 0;
    if (kernel.starts_with("photo_loss") && parameters.size() == sizeof(cuda::LossJob))
        std::memcpy(&address, parameters.data() + offsetof(cuda::LossJob, partials),
                    sizeof address);
    if (kernel.starts_with("trace_beams"))
        std::memcpy(&address, parameters.data() + offsetof(cuda::BeamJob, beams.off),
                    sizeof address);
    if (kernel.starts_with("project_rows_vjp<") || kernel == "shade_rows_vjp")
        std::memcpy(&address, parameters.data(), sizeof address);  // the first of them
    return address;
}

/// Where the kernel adds clock cycles up, which no two machines agree on; 0: nowhere.
std::uintptr_t clocks_of(const std::string& kernel, std::span<const std::byte> parameters) {
    constexpr std::size_t kForward = offsetof(cuda::BlendParams, picture.costs.tile_cycles),
                          kBackward =
                              offsetof(cuda::BlendBackwardParams, gradients.costs.tile_cycles);
    const std::size_t at = kernel.starts_with("blend<")            ? kForward
                           : kernel.starts_with("blend_backward<") ? kBackward
                                                                   : parameters.size();
    std::uintptr_t address = 0;
    if (at + sizeof address <= parameters.size())
        std::memcpy(&address, parameters.data() + at, sizeof address);
    return address;
}

}  // namespace

Tolerance tolerance_of(const std::string& kernel) {
    for (const KernelTolerance& one : kTolerances)
        if (kernel.starts_with(one.kernel)) return one.tolerance;
    return {};
}

LaunchExecutor::LaunchExecutor(const std::filesystem::path& folder) : compiled_(folder) {}

void LaunchExecutor::complain(const std::string& kernel, const std::string& text) {
    std::vector<std::string>& list = complaints_[kernel];
    if (list.size() < kMostComplaints) list.push_back(text);
}
std::string LaunchExecutor::take_complaints() {
    std::string out;
    for (const auto& [kernel, list] : std::exchange(complaints_, {}))
        for (const std::string& text : list) out += fmt::format("{}: {}\n", kernel, text);
    return out;
}

void LaunchExecutor::before(const emulator::Launched& launched) {
    before_ = memory_of(launched);
    if (!before_) ++kernels_[emulator::kernel_name(launched.function)].left_out;
}

void LaunchExecutor::after(const emulator::Launched& launched) {
    if (!before_) return;
    const Memory before = std::move(*before_);
    before_.reset();
    const std::string& name = emulator::kernel_name(launched.function);
    KernelRecord& record = kernels_[name];
    ++record.launches;
    record.blocks += launched.blocks;
    const auto kernel = compiled_.find(name);
    if (!kernel || *kernel == nullptr) {
        ++record.wrong;
        return complain(name,
                        kernel ? "no .ptx file has an entry of that name" : kernel.error().text());
    }
    if (execute_once(**kernel, launched, before, record)) ++record.wrong;
}

bool LaunchExecutor::execute_once(const Kernel& kernel, const emulator::Launched& launched,
                                  const Memory& before, KernelRecord& record) {
    const std::string& name = emulator::kernel_name(launched.function);
    if (kernel.parameter_bytes() != launched.parameters.size()) {
        complain(name, fmt::format("takes {} bytes of parameters, the emulator gave {}",
                                   kernel.parameter_bytes(), launched.parameters.size()));
        return true;
    }
    Memory memory = before;
    const auto begin = std::chrono::steady_clock::now();
    Report report =
        execute(kernel, {launched.blocks, launched.threads}, launched.parameters, memory);
    record.seconds +=
        std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    const std::vector<Fault> faults = std::exchange(report.faults, {});
    record.costs.add(report);
    bool wrong = false;
    for (const Fault& fault : faults) {
        wrong = true;
        complain(name, fault.text());
    }
    const Tolerance of_kernel = tolerance_of(name);
    const AdamNoise noise(name, launched.parameters);
    const std::uintptr_t clocks = clocks_of(name, launched.parameters),
                         partials = partials_of(name, launched.parameters);
    for (std::size_t i = 0; i < memory.regions().size(); ++i) {
        const Region &found = before.regions()[i], &left = memory.regions()[i];
        if (left.address == clocks) continue;
        const std::size_t bytes = left.bytes.size();
        Tolerance tolerance = of_kernel;
        if (partials != 0 && left.holds(partials, sizeof(cuda::LossPartial)))
            tolerance.doubles = true;
        const auto at = [&](std::size_t word) {
            return left.address + word * sizeof(std::uint32_t);
        };
        const WordDifferences words = compare_words(
            words_of(found.bytes.data(), bytes),
            words_of(reinterpret_cast<const void*>(left.address), bytes),  // NOLINT: still there
            words_of(left.bytes.data(), bytes), tolerance,
            {[&](std::size_t word) { return noise.kind_of(at(word)); },
             [&](std::size_t word) { return noise.excuses(at(word)); },
             [&](std::size_t word, std::uint32_t expected, std::uint32_t got) {
                 return noise.codes_alike(at(word), expected, got);
             }});
        record.words.add(words);
        if (words.beyond == 0) continue;
        wrong = true;
        complain(name, fmt::format("\"{}\", {} blocks: {} of {} changed words of an allocation "
                                   "of {} bytes beyond {:.0e} nearby; {}",
                                   launched.name, launched.blocks, words.beyond, words.changed,
                                   bytes, tolerance.nearby, text_of(words.examples.front())));
    }
    return wrong;
}

std::map<std::string, Report> LaunchExecutor::costs() const {
    std::map<std::string, Report> out;
    for (const auto& [name, r] : kernels_)
        if (r.launches > 0) out.emplace(name, r.costs);
    return out;
}

std::string LaunchExecutor::table() const {
    std::string out =
        fmt::format("{:<56} {:>8} {:>9} {:>12} {:>10} {:>8} {:>8} {:>7}\n", "kernel", "launches",
                    "left out", "words", "differing", "worst", "wrong", "seconds");
    KernelRecord all;
    const auto line = [&](const std::string& name, const KernelRecord& r) {
        out += fmt::format("{:<56} {:>8} {:>9} {:>12} {:>10} {:>8.1e} {:>8} {:>7.2f}\n", name,
                           r.launches, r.left_out, r.words.changed, r.words.differing,
                           r.words.worst, r.wrong, r.seconds);
    };
    for (const auto& [name, r] : kernels_) {
        line(name, r);
        all.launches += r.launches;
        all.left_out += r.left_out;
        all.wrong += r.wrong;
        all.seconds += r.seconds;
        all.words.add(r.words);
    }
    line("all", all);
    return out;
}

}  // namespace gs::ptx
