// Would anybody notice? Each barrier of a block, barrier of a warp and lane of a membermask is
// taken out of every kernel in turn, and the kernel executed on the smallest launches of the
// directed cases that reach the place: a fault or another result must come of it, or the table
// below says why it cannot matter. Barriers and masks are counted apart: a barrier is found by what
// it kept in order, a mask by the executor's own comparison with the lanes that came.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "app/cli/cases/cases.h"
#include "renderer/raster/cuda/cuda_rasterizer.h"
#include "tests/support/emulator/kernel_name.h"
#include "tests/support/emulator/observer.h"
#include "tests/support/ptx/mutants.h"
#include "tests/support/ptx_launches/compiled_kernels.h"
#include "trainer/cuda/cuda_training.h"

namespace gs::ptx {
namespace {

constexpr int kMostTries = 16;          // launches on which a mutant may live on
constexpr unsigned kMostBlocks = 1000;  // of a launch that is hunted on

struct Hunted {
    Mutant mutant;
    enum class Fate { unreached, alive, by_fault, by_result } fate = Fate::unreached;
    int tries = 0;
};
struct Prey {
    Kernel kernel;
    std::vector<Hunted> mutants;
    int launches = 0;
};

/// What may be taken away and does not matter. A place of the source by its file and by what stands
/// within four lines from it.
struct Spare {
    std::string_view file, text;
    Hunted::Fate fate;  ///< the worst that may become of it
    std::string_view why;
};
constexpr Spare kSpare[] = {
    {"blend.cuh", "clock64()", Hunted::Fate::alive, "before a clock is read"},
    {"blend_backward.cu", "clock64()", Hunted::Fate::alive, "before a clock is read"},
};

bool is_spare(const Source& place, Hunted::Fate fate) {
    std::ifstream file(place.file);
    std::string line, near;
    for (int n = 1; std::getline(file, line) && n < place.line + 4; ++n) {
        if (n >= place.line) near += line + "\n";
    }
    return std::ranges::any_of(kSpare, [&](const Spare& spare) {
        return place.file.ends_with(spare.file) && near.find(spare.text) != near.npos &&
               fate <= spare.fate;
    });
}

bool same_memory(const Memory& a, const Memory& b) {
    for (std::size_t n = 0; n < a.regions().size(); ++n) {
        const auto &one = a.regions()[n].bytes, &other = b.regions()[n].bytes;
        if (std::memcmp(one.data(), other.data(), one.size()) != 0) return false;
    }
    return true;
}

class Hunter final : public emulator::LaunchObserver {
  public:
    explicit Hunter(const std::filesystem::path& folder) : code_(folder) {}

    void before(const emulator::Launched& launched) override {
        const std::string& name = emulator::kernel_name(launched.function);
        Prey* const found = prey_of(name);
        if (found == nullptr || launched.blocks > kMostBlocks) return;
        const std::size_t takes = found->kernel.parameter_bytes();
        EXPECT_EQ(takes, launched.parameters.size()) << name << ": PTX of another build";
        if (takes != launched.parameters.size()) return;
        const auto left = std::ranges::any_of(found->mutants, [](const Hunted& one) {
            return one.tries < kMostTries && one.fate <= Hunted::Fate::alive;
        });
        if (!left) return;
        const auto memory = memory_of(launched);
        if (memory) hunt(*found, launched, *memory);
    }

    std::map<std::string, Prey> prey;

  private:
    Prey* prey_of(const std::string& name) {
        if (const auto known = prey.find(name); known != prey.end()) return &known->second;
        const auto kernel = code_.find(name);
        EXPECT_TRUE(kernel.has_value()) << name << ": " << kernel.error().text();
        if (!kernel || *kernel == nullptr) return nullptr;  // CUB's stand-ins have no entry
        Prey fresh{**kernel, {}, 0};
        for (Mutant& mutant : mutants_of(**kernel)) fresh.mutants.push_back({std::move(mutant)});
        return &prey.emplace(name, std::move(fresh)).first->second;
    }

    static void hunt(Prey& of, const emulator::Launched& launched, const Memory& before) {
        const Grid grid{launched.blocks, launched.threads};
        Memory expected = before;
        const Report whole = execute(of.kernel, grid, launched.parameters, expected);
        ++of.launches;
        // A kernel whose own faults are known (launch_executor.cpp) runs on past them.
        const Options options{.stop_at_fault = whole.faults.empty()};
        for (Hunted& one : of.mutants) {
            if (one.fate > Hunted::Fate::alive || one.tries >= kMostTries) continue;
            if (whole.instructions[one.mutant.instruction].counts.lanes == 0) continue;
            ++one.tries;
            Memory memory = before;
            const Report report =
                execute(mutated(of.kernel, one.mutant), grid, launched.parameters, memory, options);
            one.fate = report.faults.size() > whole.faults.size() ? Hunted::Fate::by_fault
                       : same_memory(expected, memory)            ? Hunted::Fate::alive
                                                                  : Hunted::Fate::by_result;
        }
    }

    CompiledKernels code_;
};

/// What became of barriers, and of masks.
struct Tally {
    std::map<Hunted::Fate, int> barriers, masks;
    void add(const Hunted& one) { ++(one.mutant.of_mask ? masks : barriers)[one.fate]; }
    std::string text() const {
        const auto of = [](std::map<Hunted::Fate, int> fates) {
            using enum Hunted::Fate;
            return fmt::format("{:>8} {:>7} {:>6} {:>10}", fates[by_fault], fates[by_result],
                               fates[alive], fates[unreached]);
        };
        return of(barriers) + " |" + of(masks);
    }
};

void print_table(const std::map<std::string, Prey>& all) {
    const std::string columns =
        fmt::format("{:>8} {:>7} {:>6} {:>10}", "by fault", "result", "lived", "unreached");
    fmt::print("{:<52} {:>8} | barriers {:>26} | lanes of masks\n{:<52} {:>8} {} |{}\n", "", "", "",
               "kernel", "launches", columns, columns);
    Tally whole;
    for (const auto& [name, one] : all) {
        if (one.mutants.empty()) continue;
        Tally tally;
        for (const Hunted& h : one.mutants) {
            tally.add(h);
            whole.add(h);
        }
        fmt::print("{:<52} {:>8} {}\n", name, one.launches, tally.text());
        for (const Hunted& h : one.mutants) {
            if (h.fate != Hunted::Fate::alive) continue;
            fmt::print("  lived: {}, {}:{}\n", h.mutant.what,
                       std::filesystem::path(h.mutant.source.file).filename().string(),
                       h.mutant.source.line);
        }
    }
    fmt::print("{:<52} {:>8} {}\n", "all", "", whole.text());
}

TEST(PtxMutants, AreFoundInEveryKernel) {
    if (std::string_view(GAUSSCOPE_PTX_FOLDER).empty()) {
        GTEST_SKIP() << "no PTX: this build found no nvcc";
    }
    Hunter hunter(GAUSSCOPE_PTX_FOLDER);
    const Backend backend{"CUDA (emulated)",
                          true,
                          [] { return make_cuda_rasterizer(0); },
                          [] { return make_cuda_training(0); },
                          {},
                          0};
    cli::CaseList list;
    cli::add_cases(list, backend);
    for (const cli::DirectedCase& one : list)
        if (!one.large()) one.check();
    print_table(hunter.prey);
    // A place of the source may be in many kernels, of which one is enough: "project" of
    // "project<true, false>" and its line.
    struct Place {
        bool found = false, reached = false;
        Source source;
        std::string example;
    };
    std::map<std::string, Place> places;
    for (const auto& [name, one] : hunter.prey) {
        for (const Hunted& h : one.mutants) {
            Place& place =
                places[fmt::format("{}, {}:{}, {}", name.substr(0, name.find('<')),
                                   h.mutant.source.file, h.mutant.source.line, h.mutant.what)];
            place.found = place.found || h.fate > Hunted::Fate::alive;
            place.reached = place.reached || h.fate != Hunted::Fate::unreached;
            if (h.fate > Hunted::Fate::alive) continue;
            place.example = name;
            place.source = h.mutant.source;
        }
    }
    EXPECT_GT(places.size(), 30u);
    for (const auto& [where, place] : places) {
        const auto fate = place.reached ? Hunted::Fate::alive : Hunted::Fate::unreached;
        EXPECT_TRUE(place.found || is_spare(place.source, fate))
            << where << ": "
            << (place.reached ? "nobody notices" : "no case of app/cli/cases reaches it") << " in "
            << place.example;
    }
}

}  // namespace
}  // namespace gs::ptx
