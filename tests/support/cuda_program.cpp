// A program that uses the mock CUDA driver step by step as a test requests, and that can play the
// other tool that wants CUPTI. Reads a command a line from stdin and answers each with a line:
//
//   init               cuInit()
//   launch N           N kernels, waited for
//   range NAME N       the same in an NVTX range
//   driver N           the same by the driver's API
//   graph ID           a graph of two kernels
//   copy               one of every kind of copy, and a fill
//   poll N             N calls that nobody records
//   busy US / quiet    a thread that launches, with pauses of US microseconds, on and off
//   saturate MS N      N kernels of MS milliseconds each, three of them waiting at any time
//   forget             a child that does nothing and is waited for
//   child              a child that launches in a range; answers with its exit code
//   hold NAME / unhold another tool has CUPTI
//   subscribe / unsubscribe   another tool tries: CUPTI's answer
//   steal              another tool registers its callbacks
//   hoard N            keeps N of our buffers; 0: gives them back
//   status             what the mock CUPTI says
//   quit

#include <dlfcn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <sstream>
#include <string>
#include <thread>

#include "tests/support/fork_at_rest.h"
#include "tests/support/mock_cuda/mock_cuda.h"
#include "tests/support/mock_cuda/mock_cupti.h"
#include "tests/support/nvtx_client.h"

namespace {

constexpr mock::Kernel kStep{"_Z4stepPfi", 5000, 32, 1024};
constexpr mock::Kernel kOther{"_Z5otherPKfPf", 8000, 255};

/// A function of the CUPTI that is in this process, whoever brought it.
template <class F>
F cupti(const char* name) {
    for (const char* library : {"libcupti.so.13", "libcupti.so.12"})
        if (void* handle = ::dlopen(library, RTLD_LAZY | RTLD_NOLOAD))
            return reinterpret_cast<F>(::dlsym(handle, name));
    return nullptr;
}

void launch(int count) {
    cuInit(0);
    for (int i = 0; i < count; ++i)
        cudaLaunchKernel(&kStep, {7, 2, 1}, {128, 2, 1}, nullptr, 512, nullptr);
    cudaStreamSynchronize(nullptr);
}

/// The GPU has work all the time, and its host is never far ahead of it.
void saturate(int milliseconds, int count) {
    static mock::Kernel slow{"_Z4slowPf", 0};
    slow.duration_ns = static_cast<std::uint64_t>(milliseconds) * 1'000'000;
    cuInit(0);
    const auto begin = std::chrono::steady_clock::now();
    for (int i = 0; i < count; ++i) {
        std::this_thread::sleep_until(begin + (i - 3) * std::chrono::milliseconds(milliseconds));
        cudaLaunchKernel(&slow, {1, 1, 1}, {32, 1, 1}, nullptr, 0, nullptr);
    }
}

void launch_by_driver(int count) {
    cuInit(0);
    for (int i = 0; i < count; ++i)
        cuLaunchKernel(&kOther, 3, 1, 1, 64, 1, 1, 0, nullptr, nullptr, nullptr);
    cuStreamSynchronize(nullptr);
}

void copy() {
    void *device = nullptr, *pinned = nullptr;
    static char pageable[4096];
    cudaMalloc(&device, 1 << 20);
    cudaMallocHost(&pinned, 4096);
    cudaMemcpyAsync(device, pinned, 4096, 1, nullptr);
    cudaMemcpyAsync(device, pageable, 2048, 1, nullptr);
    cudaMemcpyAsync(pageable, device, 16, 2, nullptr);
    cudaMemcpyAsync(static_cast<char*>(device) + 512, device, 256, 3, nullptr);
    cudaMemcpyPeerAsync(device, 1, device, 0, 128, nullptr);
    cudaMemsetAsync(device, 0, 1 << 20, nullptr);
    cudaDeviceSynchronize();
    cudaFree(device);
}

class Busy {
  public:
    void start(int pause_us) {
        stop_ = false;
        thread_ = std::thread([this, pause_us] {
            while (!stop_.load()) {
                launch(2);
                if (pause_us > 0) ::usleep(static_cast<useconds_t>(pause_us));
            }
        });
    }
    void stop() {
        stop_ = true;
        if (thread_.joinable()) thread_.join();
    }

  private:
    std::atomic<bool> stop_{false};
    std::thread thread_;
};

std::string status() {
    auto* ask = cupti<decltype(&mock_cupti_status)>("mock_cupti_status");
    if (ask == nullptr) return "no CUPTI";
    MockCuptiStatus s{};
    ask(&s);
    std::ostringstream out;
    out << "version " << s.version << " subscribed " << s.subscribed << " finalized " << s.finalized
        << " kinds " << s.kinds << " calls " << s.calls << " domains " << s.domains << " made "
        << s.made << " delivered " << s.delivered << " dropped " << s.dropped << " out "
        << s.buffers_out << " changes " << s.changes << " pinned " << s.host_pinned;
    return out.str();
}

/// The other tool's way, as CUPTI has it: nothing of ours involved.
struct OtherTool {
    void* subscriber = nullptr;
    static void callback(void*, int, std::uint32_t, const void*) {}
    int subscribe() {
        auto* f = cupti<int (*)(void**, void (*)(void*, int, std::uint32_t, const void*), void*)>(
            "cuptiSubscribe");
        return f != nullptr ? f(&subscriber, callback, nullptr) : -1;
    }
    /// As tools do that do not subscribe: whose callbacks were registered last gets every buffer.
    int steal() {
        auto* f =
            cupti<int (*)(void (*)(std::uint8_t**, std::size_t*, std::size_t*),
                          void (*)(void*, std::uint32_t, std::uint8_t*, std::size_t, std::size_t))>(
                "cuptiActivityRegisterCallbacks");
        return f == nullptr
                   ? -1
                   : f(
                         [](std::uint8_t** buffer, std::size_t* size, std::size_t* most) {
                             alignas(8) static std::uint8_t memory[65536];
                             *buffer = memory;
                             *size = sizeof memory;
                             *most = 0;
                         },
                         [](void*, std::uint32_t, std::uint8_t*, std::size_t, std::size_t) {});
    }
    int unsubscribe() const {
        auto* f = cupti<int (*)(void*)>("cuptiUnsubscribe");
        return f != nullptr ? f(subscriber) : -1;
    }
};

int in_child() {
    const pid_t child = gs::test::fork_at_rest();
    if (child == 0) ::_exit(0);
    int status = -1;
    ::waitpid(child, &status, 0);
    return status;
}

/// A child that records by itself: ranges of handles that its parent made, and kernels.
int launch_in_child(nvtxDomainHandle_t domain) {
    const pid_t child = gs::test::fork_at_rest();
    if (child == 0) {
        nvtxEventAttributes_t e{};
        e.version = NVTX_VERSION;
        e.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
        e.messageType = NVTX_MESSAGE_TYPE_ASCII;
        e.message.ascii = "in the child";
        nvtxDomainRangePushEx(domain, &e);
        launch(2);
        nvtxDomainRangePop(domain);
        std::exit(0);
    }
    int status = -1;
    ::waitpid(child, &status, 0);
    return status;
}

std::string obey(const std::string& line, Busy& busy, OtherTool& tool) {
    std::istringstream in(line);
    std::string command, name;
    in >> command;
    if (command == "range") in >> name;
    int n = 0;
    if (command == "hold")
        std::getline(in >> std::ws, name);
    else
        in >> n;
    if (command == "init") return std::to_string(cuInit(0));
    if (command == "launch") return launch(n), "ok";
    if (command == "driver") return launch_by_driver(n), "ok";
    if (command == "saturate") {
        int count = 0;
        in >> count;
        return saturate(n, count), "ok";
    }
    if (command == "range") {
        nvtxRangePushA(name.c_str());
        launch(n);
        nvtxRangePop();
        return "ok";
    }
    if (command == "graph") {
        const mock::Kernel* nodes[] = {&kStep, &kOther};
        mock_cuda_graph_launch(static_cast<std::uint32_t>(n), nodes, 2, nullptr);
        return std::to_string(cudaDeviceSynchronize());
    }
    if (command == "copy") return copy(), "ok";
    if (command == "poll") {
        for (int i = 0; i < n; ++i) cudaGetLastError();
        return "ok";
    }
    if (command == "busy") return busy.start(n), "ok";
    if (command == "quiet") return busy.stop(), "ok";
    if (command == "child") {
        static const nvtxDomainHandle_t domain = nvtxDomainCreateA("forked");
        return std::to_string(launch_in_child(domain));
    }
    if (command == "forget") return std::to_string(in_child());
    if (command == "steal") return std::to_string(tool.steal());
    if (command == "subscribe") return std::to_string(tool.subscribe());
    if (command == "unsubscribe") return std::to_string(tool.unsubscribe());
    if (command == "status") return status();
    if (command == "hold" || command == "unhold") {
        auto* hold = cupti<decltype(&mock_cupti_hold)>("mock_cupti_hold");
        if (hold == nullptr) return "no CUPTI";
        hold(command == "hold" ? name.c_str() : nullptr);
        return "ok";
    }
    if (command == "hoard") {
        auto* hoard = cupti<decltype(&mock_cupti_hoard)>("mock_cupti_hoard");
        return hoard == nullptr ? "no CUPTI" : std::to_string(hoard(static_cast<std::uint32_t>(n)));
    }
    return "not understood: " + line;
}

}  // namespace

int main() {
    Busy busy;
    OtherTool tool;
    // Loads the tool, as a program's first NVTX call does.
    nvtxMarkA("begin");
    for (std::string line; std::getline(std::cin, line) && line != "quit";)
        std::cout << obey(line, busy, tool) << std::endl;
    busy.stop();
    return 0;
}
