// A trainer shaped like PyTorch's, traced through the injection library and the mock CUPTI: does
// every kernel come out with the call and the NVTX range it was launched in? The trainer itself
// writes down what is true.
#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include "tests/unit/cupti_program.h"

namespace gs::cupti_test {
namespace {

/// What the trainer says it launched.
struct Launched {
    std::uint32_t tid = 0;
    std::string range, symbol;
};
std::map<std::uint64_t, Launched> truth_of(const std::filesystem::path& file) {
    std::map<std::uint64_t, Launched> all;
    std::ifstream in(file);
    for (std::string line; std::getline(in, line);) {
        std::istringstream words(line);
        std::uint64_t correlation = 0;
        Launched l;
        words >> correlation >> l.tid;
        words.get();
        std::getline(words, l.range);
        const std::size_t at = l.range.rfind(' ');
        l.symbol = l.range.substr(at + 1);
        l.range.resize(at);
        all[correlation] = l;
    }
    return all;
}

/// "gsplat::adam_kernel<float>" -> "adam_kernel".
std::string identifier_of(const std::string& name) {
    const std::string plain = name.substr(0, name.find('<'));
    return plain.substr(plain.rfind(':') + 1);
}

std::string truth_file() {
    static int number = 0;
    return (std::filesystem::temp_directory_path() /
            ("gs-cupti-truth-" + std::to_string(::getpid()) + "-" + std::to_string(++number)))
        .string();
}

struct Kind {
    const char* name;
    Environment environment;
};
std::ostream& operator<<(std::ostream& out, const Kind& k) { return out << k.name; }

class Generation : public testing::TestWithParam<Kind> {};

/// The same on CUPTI 13.0 and 12.4, in any order, by a clock of its own, and with records of an
/// intermediate generation.
INSTANTIATE_TEST_SUITE_P(
    Cupti, Generation,
    testing::Values(Kind{"v13", {}}, Kind{"v12", {{"MOCK_CUDA_VERSION", "12040"}}},
                    Kind{"v12_8", {{"MOCK_CUDA_VERSION", "12080"}, {"MOCK_CUPTI_VERSION", "26"}}},
                    Kind{"shuffled", {{"MOCK_CUPTI_SHUFFLE", "1"}}},
                    Kind{"own_clock", {{"MOCK_CUPTI_CLOCK_OFFSET", "3600000000000"}}}),
    [](const auto& kind) { return std::string(kind.param.name); });

TEST_P(Generation, EveryKernelHasItsCallAndItsRange) {
    const std::string file = truth_file();
    Program program(trainer_path(), {"--iterations", "20", "--truth", file},
                    GetParam().environment);
    ASSERT_EQ(program.finish(), 0);
    const auto truth = truth_of(file);
    std::filesystem::remove(file);
    const std::vector<Work> works = program.works();
    ASSERT_GT(truth.size(), 250u);
    EXPECT_EQ(works.size(), truth.size());
    EXPECT_EQ(program.store().sources().loss().total(), 0u);
    EXPECT_EQ(program.service().cupti_dropped, 0u);
    std::set<std::uint64_t> seen;
    std::size_t inferred = 0;
    for (const Work& w : works) {
        const auto found = truth.find(w.detail.correlation);
        ASSERT_NE(found, truth.end()) << w.detail.correlation;
        EXPECT_TRUE(seen.insert(w.detail.correlation).second) << "twice: " << w.detail.correlation;
        const Launched& t = found->second;
        EXPECT_NE(t.symbol.find(identifier_of(w.name)), std::string::npos)
            << t.symbol << " became " << w.name;
        EXPECT_EQ(w.tid, t.tid) << w.name;
        EXPECT_LE(w.launch_ns, w.begin_ns) << w.name << ": ran before it was launched";
        // The autograd thread opens no ranges: its kernels belong to what the main thread was
        // doing.
        EXPECT_EQ(w.inferred, t.range == "-") << w.name;
        EXPECT_EQ(w.range, t.range == "-" ? "backward" : t.range) << w.name;
        inferred += w.inferred;
    }
    EXPECT_EQ(inferred, 20u * 3);
}

TEST(Trainer, NamesAndNumbersOfKernels) {
    Program program(trainer_path(), {"--iterations", "3"});
    ASSERT_EQ(program.finish(), 0);
    std::map<std::string, Work> by_name;
    for (const Work& w : program.works()) by_name[w.name] = w;
    ASSERT_TRUE(by_name.contains("gsplat::rasterize_to_pixels_3dgs_fwd_kernel<3u, float>"));
    ASSERT_TRUE(
        by_name.contains("at::native::vectorized_elementwise_kernel<4, "
                         "at::native::BinaryFunctor<at::native::AddFunctor>, "
                         "at::native::Array<char*, 3> >"));
    const Work& raster = by_name["gsplat::rasterize_to_pixels_3dgs_fwd_kernel<3u, float>"];
    EXPECT_EQ(raster.detail.registers, 56);
    EXPECT_EQ(raster.detail.static_shared, 8192u);
    EXPECT_EQ(raster.detail.dynamic_shared, 4096u);
    EXPECT_EQ(raster.detail.grid[0], 5000u);
    EXPECT_EQ(raster.detail.block[0], 256);
    EXPECT_NEAR(static_cast<double>(raster.end_ns - raster.begin_ns), 200e3, 1e3);
}

TEST(Trainer, CopiesWaitsAllocationsAndTheGpu) {
    Program program(trainer_path(),
                    {"--iterations", "10", "--item-every", "5", "--densify-every", "10"});
    ASSERT_EQ(program.finish(), 0);
    std::size_t uploads = 0, items = 0;
    for (const Work& w : program.works(GpuWorkKind::copy)) {
        if (w.name == "copy host to device") {
            ++uploads;
            EXPECT_EQ(w.detail.source, MemoryType::pinned);
            EXPECT_EQ(w.detail.bytes, 3u << 20);
            EXPECT_EQ(w.range, "iteration");
        } else if (w.name == "copy device to host") {
            ++items;
            EXPECT_EQ(w.detail.target, MemoryType::pageable);
            EXPECT_EQ(w.detail.bytes, 4u);
            EXPECT_EQ(w.range, "item");
        }
    }
    EXPECT_EQ(uploads, 10u);
    EXPECT_EQ(items, 2u);
    EXPECT_EQ(program.works(GpuWorkKind::fill).size(), 10u);
    const TraceProcess& process = program.store().processes()[0];
    std::size_t streams = 0, contexts = 0, taken = 0, given_back = 0;
    for (const SyncEvent& s : process.syncs.view()) {
        streams += s.type == SyncType::stream;
        contexts += s.type == SyncType::context;
    }
    for (const MemoryEvent& m : process.memory.view()) (m.released ? given_back : taken) += 1;
    EXPECT_EQ(streams, 12u);
    EXPECT_EQ(contexts, 2u);
    EXPECT_EQ(taken, 3u + 6);
    EXPECT_EQ(given_back, 6u);
    EXPECT_EQ(program.calls("cudaMemcpyAsync"), 12u);
    EXPECT_EQ(program.calls("cudaDeviceSynchronize"), 2u);
    ASSERT_EQ(process.devices.size(), 1u);
    EXPECT_EQ(process.devices[0].name, "Mock GPU (no hardware)");
    EXPECT_EQ(process.devices[0].multiprocessors, 132);
    EXPECT_EQ(process.devices[0].compute_major, 9);
    EXPECT_EQ(process.devices[0].warps_per_multiprocessor, 64u);
    EXPECT_EQ(process.devices[0].memory_bytes, std::size_t{80} << 30);
}

TEST(Trainer, GraphsNodeByNodeOrAsAWhole) {
    {
        Program program(trainer_path(), {"--iterations", "4", "--graph"},
                        {{"GAUSSCOPE_CUPTI_GRAPHS", "nodes"}});
        ASSERT_EQ(program.finish(), 0);
        std::map<std::uint64_t, int> nodes;
        for (const Work& w : program.works())
            if (w.detail.graph == 1) {
                ++nodes[w.detail.correlation];
                EXPECT_EQ(w.range, "forward");
            }
        EXPECT_EQ(nodes.size(), 4u);
        for (const auto& [correlation, count] : nodes) EXPECT_EQ(count, 3);
        EXPECT_TRUE(program.works(GpuWorkKind::graph).empty());
    }
    Program program(trainer_path(), {"--iterations", "4", "--graph"});
    ASSERT_EQ(program.finish(), 0);
    const std::vector<Work> graphs = program.works(GpuWorkKind::graph);
    ASSERT_EQ(graphs.size(), 4u);
    for (const Work& w : graphs) EXPECT_EQ(w.range, "forward");
    for (const Work& w : program.works()) EXPECT_EQ(w.detail.graph, 0u);
}

// CUDA came before us and did not call us: CUPTI is taken while the program runs.
TEST(Trainer, FoundWhenOnlyNvtxLoadedUs) {
    Program program(program_path(), {}, {{"CUDA_INJECTION64_PATH", ""}});
    EXPECT_EQ(program.tell("launch 1"), "ok");
    program.drain_until([&] { return program.service().cupti == abi::CuptiState::recording; });
    EXPECT_EQ(program.tell("range later 4"), "ok");
    program.drain_until([&] { return program.kernels() >= 4; });
    std::size_t later = 0;
    for (const Work& w : program.works()) later += w.range == "later";
    EXPECT_EQ(later, 4u);
    EXPECT_EQ(program.finish(), 0);
}

// The driver alone loads us.
TEST(Trainer, WithoutNvtxKernelsAreThere) {
    Program program(trainer_path(), {"--iterations", "3", "--no-nvtx"},
                    {{"NVTX_INJECTION64_PATH", ""}});
    ASSERT_EQ(program.finish(), 0);
    ASSERT_GE(program.kernels(), 45u);
    for (const Work& w : program.works()) {
        EXPECT_TRUE(w.range.empty());
        EXPECT_NE(w.tid, 0u);
    }
}

TEST(Trainer, AForkedChildDisturbsNothing) {
    Program program(trainer_path(), {"--iterations", "5", "--fork"});
    ASSERT_EQ(program.finish(), 0);
    EXPECT_EQ(program.works().size(), 5u * 16);
    EXPECT_EQ(program.store().sources().loss().total(), 0u);
}

// Records arrive without waiting for the end of the program.
TEST(Trainer, RecordsComeWhileTheProgramRuns) {
    Program program(trainer_path(), {"--iterations", "5", "--linger", "60000"});
    program.drain_until([&] { return program.kernels() == 5u * 16; });
    EXPECT_EQ(program.works(GpuWorkKind::copy).size(), 5u + 1);
}

// _exit() runs no handlers: what was fetched by then is kept, whole.
TEST(Trainer, EndsWithoutNotice) {
    Program program(trainer_path(), {"--iterations", "40", "--exit"});
    ASSERT_EQ(program.finish(), 0);
    EXPECT_LE(program.works().size(), 40u * 16 + 4 * 6);
    EXPECT_EQ(program.store().sources().loss().total(), 0u);
    EXPECT_EQ(program.service().cupti_dropped, 0u);
}

}  // namespace
}  // namespace gs::cupti_test
