// nvtx_program SCENARIO [ARGUMENT...]: a program that uses NVTX as real ones do, for the tests of
// the injection library. It knows nothing of gausscope. Scenarios talk to the test over stdin and
// stdout: at "ready" they wait for a line.
//
// Built with the small client of nvtx_client.h, and a second time with the toolkit's headers where
// those are found.
#ifdef GAUSSCOPE_TOOLKIT_NVTX
#include <nvtx3/nvToolsExt.h>
#else
#include "tests/support/nvtx_client.h"
#endif

#include <dlfcn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "tests/support/fork_at_rest.h"
#include "tests/support/nvtx_loop_program.h"
#include "tests/support/nvtx_payload_program.h"

namespace {

using loop_program::Arguments, loop_program::meet;

nvtxEventAttributes_t attributes() {
    nvtxEventAttributes_t e{};
    e.version = NVTX_VERSION;
    e.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
    return e;
}
nvtxEventAttributes_t named(const char* text) {
    nvtxEventAttributes_t e = attributes();
    e.messageType = NVTX_MESSAGE_TYPE_ASCII;
    e.message.ascii = text;
    return e;
}
nvtxEventAttributes_t registered(nvtxStringHandle_t handle) {
    nvtxEventAttributes_t e = attributes();
    e.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
    e.message.registered = handle;
    return e;
}

std::uint32_t own_tid() { return static_cast<std::uint32_t>(::syscall(SYS_gettid)); }

// ---- one of everything ----

void push_and_pop(const nvtxEventAttributes_t& e) {
    nvtxRangePushEx(&e);
    nvtxRangePop();
}

void payloads() {
    nvtxEventAttributes_t e = named("payload");
    e.payloadType = NVTX_PAYLOAD_TYPE_UNSIGNED_INT64;
    e.payload.ullValue = 18'000'000'000'000'000'000u;
    push_and_pop(e);
    e.payloadType = NVTX_PAYLOAD_TYPE_INT64;
    e.payload.llValue = -5'000'000'000;
    push_and_pop(e);
    e.payloadType = NVTX_PAYLOAD_TYPE_DOUBLE;
    e.payload.dValue = 0.25;
    push_and_pop(e);
    e.payload.ullValue = ~0ull;  // what lies beside a 32-bit payload
    e.payloadType = NVTX_PAYLOAD_TYPE_UNSIGNED_INT32;
    e.payload.uiValue = 4'000'000'000u;
    push_and_pop(e);
    e.payloadType = NVTX_PAYLOAD_TYPE_INT32;
    e.payload.iValue = -7;
    push_and_pop(e);
    e.payloadType = NVTX_PAYLOAD_TYPE_FLOAT;
    e.payload.fValue = -1.5f;
    push_and_pop(e);
}

void domains() {
    const nvtxDomainHandle_t domain = nvtxDomainCreateA("gsplat");
    nvtxDomainNameCategoryA(domain, 3, "raster");
    nvtxEventAttributes_t e = registered(nvtxDomainRegisterStringA(domain, "render"));
    e.category = 3;
    e.colorType = NVTX_COLOR_ARGB;
    e.color = 0xFF76B900u;
    nvtxDomainRangePushEx(domain, &e);
    const nvtxEventAttributes_t inner =
        registered(nvtxDomainRegisterStringW(domain, L"isect-t\u00EFles \U0001F600"));
    nvtxDomainRangePushEx(domain, &inner);
    nvtxDomainRangePop(domain);
    nvtxDomainRangePop(domain);
    const nvtxEventAttributes_t mark = named("reset");
    nvtxDomainMarkEx(domain, &mark);
    // The same name in another domain is another name.
    const nvtxEventAttributes_t same = named("render");
    push_and_pop(same);
    nvtxDomainDestroy(domain);
}

void overlapping() {
    const nvtxRangeId_t a = nvtxRangeStartA("download");
    const nvtxEventAttributes_t e = named("upload");
    const nvtxRangeId_t b = nvtxRangeStartEx(&e);
    nvtxRangeEnd(a);
    std::thread([b] { nvtxRangeEnd(b); }).join();  // by another thread than it began on
}

void everything(const Arguments&) {
    nvtxNameOsThreadA(own_tid(), "trainer");
    nvtxRangePushA("iteration");
    nvtxRangePushW(L"forw\u00E4rd");
    nvtxRangePop();
    nvtxRangePop();
    nvtxMarkA("checkpoint");
    nvtxMarkW(L"eval");
    payloads();
    domains();
    overlapping();
    char temporary[] = "short-lived name";
    nvtxRangePushA(temporary);
    std::memset(temporary, '!', sizeof temporary - 1);  // the caller's memory is the caller's again
    nvtxRangePop();
    meet();
}

// ---- what programs do wrong ----

void mistakes(const Arguments&) {
    nvtxRangePop();
    nvtxRangePop();
    nvtxRangeEnd(123456789);
    for (int i = 0; i < 100; ++i) nvtxRangePushA("deep");
    for (int i = 0; i < 100; ++i) nvtxRangePop();
    nvtxRangePushA(nullptr);
    nvtxRangePop();
    nvtxRangePushEx(nullptr);
    nvtxRangePop();
    nvtxEventAttributes_t e{};
    push_and_pop(e);  // neither version nor size
    e = named("wrong handles");
    int here = 0;
    nvtxDomainRangePushEx(reinterpret_cast<nvtxDomainHandle_t>(&here), &e);
    nvtxDomainRangePop(reinterpret_cast<nvtxDomainHandle_t>(&here));
    push_and_pop(registered(reinterpret_cast<nvtxStringHandle_t>(&here)));
    push_and_pop(named(std::string(5000, 'x').c_str()));
    nvtxRangePushA("left open");
    nvtxRangePushA("after all that");
    nvtxRangePop();
    meet();
}

/// Domains nest each by itself.
void crossing(const Arguments&) {
    const nvtxDomainHandle_t a = nvtxDomainCreateA("a"), b = nvtxDomainCreateA("b");
    const nvtxEventAttributes_t in_a = named("in a"), in_b = named("in b");
    nvtxDomainRangePushEx(a, &in_a);
    nvtxDomainRangePushEx(b, &in_b);
    nvtxDomainRangePop(a);
    nvtxDomainRangePop(a);  // one too many
    nvtxDomainRangePop(b);
    meet();
}

void own_domain(const Arguments&) {
    const nvtxDomainHandle_t domain = nvtxDomainCreateA("gausscope");
    if (domain != nullptr) {  // gausscope's own programs also check
        const nvtxEventAttributes_t e = named("of gausscope");
        nvtxDomainRangePushEx(domain, &e);
        nvtxDomainRangePop(domain);
    }
    nvtxRangePushA("of somebody else");
    nvtxRangePop();
    meet();
}

// ---- processes ----

/// The child of a fork records nothing and disturbs nothing; the parent keeps recording.
void forks(const Arguments&) {
    nvtxRangePushA("around the fork");
    meet();
    const pid_t child = gs::test::fork_at_rest();
    if (child == 0) {
        for (int i = 0; i < 1000; ++i) {
            nvtxRangePushA("in the child");
            nvtxRangePop();
        }
        const nvtxDomainHandle_t domain = nvtxDomainCreateA("child");
        const nvtxEventAttributes_t e =
            registered(nvtxDomainRegisterStringA(domain, "child's string"));
        nvtxDomainRangePushEx(domain, &e);
        nvtxDomainRangePop(domain);
        nvtxNameOsThreadA(own_tid(), "child");
        std::thread([] { nvtxRangePushA("in the child's thread"); }).join();
        nvtxRangePop();
        std::exit(0);  // also runs exit handlers
    }
    int status = -1;
    ::waitpid(child, &status, 0);
    nvtxRangePop();
    nvtxRangePushA(status == 0 ? "child was well" : "child was not well");
    nvtxRangePop();
    meet();
}

void executes(const Arguments& arguments) {
    nvtxRangePushA("before exec");
    nvtxRangePop();
    meet();
    ::execl("/proc/self/exe", arguments[0].c_str(), "one", "after exec", nullptr);
    std::abort();
}

void one(const Arguments& arguments) {
    nvtxRangePushA(arguments.at(1).c_str());
    nvtxRangePop();
    meet();
}

void leaves(const Arguments& arguments) {
    nvtxRangePushA("outer");
    nvtxRangePushA("last words");
    nvtxRangePop();
    meet();
    nvtxRangePushA("after the meeting");
    nvtxRangePop();
    if (arguments.at(1) == "_exit") ::_exit(7);
    if (arguments.at(1) == "abort") std::abort();
    std::exit(7);
}

// Its destructor runs after main's, and after the exit handler of the library, which came later.
struct Late {
    bool used = false;
    ~Late() {
        if (!used) return;
        nvtxRangePushA("in a static destructor");
        nvtxRangePop();
    }
} late;

void ends_late(const Arguments&) {
    late.used = true;
    nvtxRangePushA("in main");
    nvtxRangePop();
    meet();
}

// ---- shared objects ----

using UseNvtx = void (*)(const char*);

/// ARGUMENT: a shared object that uses NVTX, loaded twice over.
void unloads(const Arguments& arguments) {
    nvtxRangePushA("program");
    nvtxRangePop();
    for (const char* name : {"first time", "second time"}) {
        void* library = ::dlopen(arguments.at(1).c_str(), RTLD_NOW | RTLD_LOCAL);
        if (library == nullptr) std::abort();
        reinterpret_cast<UseNvtx>(::dlsym(library, "use_nvtx"))(name);
        meet();  // arm or disarm while it is loaded
        reinterpret_cast<UseNvtx>(::dlsym(library, "use_nvtx"))(name);
        ::dlclose(library);
        if (::dlopen(arguments[1].c_str(), RTLD_NOW | RTLD_NOLOAD) != nullptr)
            std::abort();  // it is really gone
        meet();            // and while it is not
    }
    nvtxRangePushA("program again");
    nvtxRangePop();
    meet();
}

/// ARGUMENTS: shared objects that use NVTX.
void several(const Arguments& arguments) {
    nvtxRangePushA("from the program");
    nvtxRangePop();
    for (std::size_t i = 1; i < arguments.size(); ++i) {
        void* library = ::dlopen(arguments[i].c_str(), RTLD_NOW | RTLD_LOCAL);
        if (library == nullptr) std::abort();
        reinterpret_cast<UseNvtx>(::dlsym(library, "use_nvtx"))(
            ("from object " + std::to_string(i)).c_str());
    }
    meet();
}

// ---- threads ----

/// ARGUMENTS: threads, ranges of each.
void threads(const Arguments& arguments) {
    const int count = std::atoi(arguments.at(1).c_str()),
              ranges = std::atoi(arguments.at(2).c_str());
    std::vector<std::thread> all;
    std::atomic<int> waiting{0};
    for (int t = 0; t < count; ++t) {
        all.emplace_back([=, &waiting] {
            nvtxNameOsThreadA(own_tid(), ("worker " + std::to_string(t)).c_str());
            for (++waiting; waiting < count;) std::this_thread::yield();  // all at once
            nvtxEventAttributes_t e = named("outer");
            e.payloadType = NVTX_PAYLOAD_TYPE_UNSIGNED_INT64;
            for (int i = 0; i < ranges; ++i) {
                e.payload.ullValue = static_cast<std::uint64_t>(i);
                nvtxRangePushEx(&e);
                nvtxRangePushA("inner");
                nvtxRangePop();
                nvtxRangePop();
            }
        });
    }
    for (std::thread& t : all) t.join();
    meet();
}

/// More threads than there are lanes, one after the other.
void thread_exits(const Arguments&) {
    for (int t = 0; t < 300; ++t) {
        std::thread([] {
            nvtxRangePushA("short life");
            nvtxRangePop();
        }).join();
    }
    meet();
}

/// Names another thread before it has recorded anything, and after.
void names(const Arguments&) {
    std::atomic<std::uint32_t> tid{0};
    std::atomic<int> step{0};
    const auto wait = [&](int value) {
        while (step < value) std::this_thread::yield();
    };
    std::thread other([&] {
        tid = own_tid();
        wait(1);
        nvtxRangePushA("as first");
        nvtxRangePop();
        step = 2;
        wait(3);
        nvtxRangePushA("as second");
        nvtxRangePop();
    });
    while (tid == 0) std::this_thread::yield();
    nvtxNameOsThreadA(tid, "first name");
    step = 1;
    wait(2);
    nvtxNameOsThreadA(tid, "second name");
    step = 3;
    other.join();
    meet();
}

/// A name of its own for every step.
void many_names(const Arguments&) {
    for (int i = 0; i < 100'000; ++i) {
        nvtxRangePushA(("iteration " + std::to_string(i)).c_str());
        nvtxRangePop();
    }
    nvtxRangePushA("a name without digits");
    nvtxRangePop();
    meet();
}

// ---- armed and disarmed ----

/// Ranges are open and handles are made on both sides of every meeting.
void toggled(const Arguments&) {
    const nvtxDomainHandle_t domain = nvtxDomainCreateA("early domain");
    const nvtxEventAttributes_t e = registered(nvtxDomainRegisterStringA(domain, "early string"));
    nvtxRangePushA("open across");
    const nvtxRangeId_t started = nvtxRangeStartA("started before");
    for (const char* name : {"phase 0", "phase 1", "phase 2", "phase 3"}) {
        nvtxRangePushA(name);
        nvtxDomainRangePushEx(domain, &e);
        nvtxDomainRangePop(domain);
        nvtxRangePop();
        meet();
    }
    nvtxRangeEnd(started);
    nvtxRangePop();
    nvtxRangePushA("the end");
    nvtxRangePop();
    meet();
}

/// Prints at every meeting whether a range leads anywhere.
void pointers(const Arguments&) {
    nvtxRangePushA("first");
    nvtxRangePop();
    for (int i = 0; i < 3; ++i) {
        meet();
#ifdef GAUSSCOPE_TOOLKIT_NVTX
        const bool leads =
            NVTX_VERSIONED_IDENTIFIER(nvtxGlobals).nvtxRangePushA_impl_fnptr != nullptr;
#else
        const bool leads =
            gs::test_nvtx::client.functions[gs_abi::kCore][gs_abi::kRangePushA] != nullptr;
#endif
        std::printf(leads ? "leads somewhere\n" : "leads nowhere\n");
    }
    meet();
}

/// Ranges from several threads until the test says stop, while it arms and disarms.
void busy(const Arguments&) {
    std::atomic<bool> stop{false};
    std::vector<std::thread> all;
    for (int t = 0; t < 3; ++t) {
        all.emplace_back([&] {
            for (int i = 0; !stop; ++i) {
                if (i % 64 == 0) std::this_thread::sleep_for(std::chrono::microseconds(50));
                nvtxRangePushA("outer");
                nvtxRangePushA("inner");
                nvtxRangePop();
                nvtxRangeEnd(nvtxRangeStartA("async"));
                nvtxRangePop();
            }
        });
    }
    meet();
    stop = true;
    for (std::thread& t : all) t.join();
    meet();
}

// ---- the payload extension ----

void extended_payloads(const Arguments&) {
    payload_program::collectives(nvtxDomainCreateA("NCCL"));
    payload_program::layouts(nvtxDomainCreateA("layouts"));
    meet();
}

void payload_lies(const Arguments&) {
    payload_program::lies(nvtxDomainCreateA("liar"));
    meet();
}

struct Scenario {
    const char* name;
    void (*run)(const Arguments&);
};
constexpr Scenario kScenarios[] = {
    {"everything", everything},
    {"mistakes", mistakes},
    {"crossing", crossing},
    {"forks", forks},
    {"executes", executes},
    {"one", one},
    {"leaves", leaves},
    {"late", ends_late},
    {"unloads", unloads},
    {"several", several},
    {"threads", threads},
    {"thread_exits", thread_exits},
    {"names", names},
    {"many_names", many_names},
    {"toggled", toggled},
    {"busy", busy},
    {"own_domain", own_domain},
    {"pointers", pointers},
    {"iterations", loop_program::iterations},
    {"long_iterations", loop_program::long_iterations},
    {"hangs", loop_program::hangs},
    {"payloads", extended_payloads},
    {"payload_lies", payload_lies},
};

}  // namespace

int main(int argc, char** argv) {
    if (argc > 1) {
        Arguments arguments(argv + 2, argv + argc);
        arguments.insert(arguments.begin(), argv[0]);
        for (const Scenario& s : kScenarios) {
            if (std::strcmp(s.name, argv[1]) != 0) continue;
            s.run(arguments);
            return 0;
        }
    }
    std::fprintf(stderr, "usage: nvtx_program SCENARIO [ARGUMENT...]\n");
    return 2;
}
