// careless_program SCENARIO [FILE [NUMBER]]: a program that uses NVTX and does to descriptors,
// limits and system calls what daemons, launchers and sandboxes do. It knows nothing of gausscope;
// what it prints, writes and exits with must be the same with and without the injection library.
// Built three times: as usual, statically, and as a static PIE.
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "tests/support/fork_at_rest.h"
#include "tests/support/nvtx_client.h"

namespace {

constexpr int kFiles = 8;

struct Call {
    std::string file;
    long number = 0;
};

void range(const char* name, unsigned pause_us = 0) {
    nvtxRangePushA(name);
    if (pause_us > 0) ::usleep(pause_us);
    nvtxRangePop();
}
/// Long enough for every kind of work that a recorder does beside the program.
constexpr int kFew = 40;
void ranges(int count = 400) {
    for (int i = 0; i < count; ++i) range("after", 3000);
}

[[noreturn]] void fail(const char* what) {
    std::printf("%s: %s\n", what, std::strerror(errno));
    std::fflush(stdout);
    ::_exit(9);
}

/// Files of the program's own, still empty.
std::vector<int> open_files(const Call& call) {
    std::vector<int> out;
    for (int i = 0; i < kFiles; ++i) {
        const std::string name = call.file + "." + std::to_string(i);
        out.push_back(::open(name.c_str(), O_RDWR | O_CREAT | O_TRUNC, 0600));
        if (out.back() < 0) fail("open");
    }
    return out;
}
/// They are as they were, and can be written.
void finish_files(const std::vector<int>& files) {
    for (const int fd : files)
        if (::lseek(fd, 0, SEEK_END) != 0 || ::write(fd, "x", 1) != 1) fail("a file was touched");
}

// ---- descriptors ----

void close_one_by_one(const Call& call) {
    range("before");
    ::usleep(300'000);
    for (int fd = 3; fd < 1100; ++fd) ::close(fd);
    const std::vector<int> files = open_files(call);
    ranges();
    finish_files(files);
}

/// On every number that is in use, and on those that a recorder may choose next.
void replace(const Call& call) {
    range("before");
    ::usleep(300'000);
    const int file = ::open(call.file.c_str(), O_RDWR | O_CREAT | O_TRUNC, 0600);
    for (int fd = 3; fd < 1100; ++fd)
        if (fd != file) ::dup2(file, fd);
    ranges();
    struct stat status {};
    for (int fd = 3; fd < 1100; ++fd)
        if (::fstat(fd, &status) != 0 || status.st_size != 0) fail("a duplicate was touched");
    if (::write(file, "x", 1) != 1) fail("write");
}

/// A thread that closes whatever it did not open, all the time; from after the first range on, for
/// while NVTX loads a library it would close the loader's file, whosever library that is.
void close_in_a_thread(const Call& call) {
    range("before");
    std::atomic<bool> stop{false};
    std::thread closer([&] {
        for (int round = 0; !stop; ++round) {
            ::syscall(SYS_close_range, 3u, ~0u, 0u);
            const std::vector<int> files = open_files(call);
            if (round % 16 == 0) ::usleep(500);
            finish_files(files);
            for (const int fd : files)
                if (::close(fd) != 0) fail("somebody closed a file");
        }
    });
    ranges(700);
    stop = true;
    closer.join();
}

/// As daemon(3) does it, twice over; the parent waits for the file of the daemon.
void become_daemon(const Call& call) {
    range("before");
    int ended[2];
    if (::pipe(ended) != 0) fail("pipe");
    if (gs::test::fork_at_rest() != 0) {
        ::close(ended[1]);
        char byte = 0;
        while (::read(ended[0], &byte, 1) > 0) {
        }
        struct stat status {};
        if (::stat((call.file + ".0").c_str(), &status) != 0 || status.st_size != 1)
            fail("the daemon's file");
        return;
    }
    ::setsid();
    if (::fork() != 0) ::_exit(0);
    const int still = ::dup2(ended[1], 1100);
    for (int fd = 3; fd < 1100; ++fd) ::close(fd);
    const std::vector<int> files = open_files(call);
    ranges();
    finish_files(files);
    ::close(still);
    ::_exit(0);
}

/// The first thread ends, and the process with the last one, which is not the first.
void end_with_a_thread(const Call& call) {
    range("before");
    std::atexit([] { std::printf("handlers ran\n"); });
    if (call.number == 0) ::pthread_exit(nullptr);
    std::thread([] {
        ::usleep(300'000);
        ranges(kFew);
        std::printf("the last thread\n");
    }).detach();
    ::pthread_exit(nullptr);
}

/// Somebody waits for the end of its output, and the program runs on.
void leave_output(const Call&) {
    range("before");
    std::printf("ready\n");
    std::fflush(stdout);
    ::close(STDOUT_FILENO);
    ::close(STDERR_FILENO);
    ::usleep(1'500'000);
    range("after");
}

/// The numbers that the program's own files get.
void print_numbers(const Call& call) {
    range("before", 300'000);
    for (const int fd : open_files(call)) std::printf("%d ", fd);
    range("after", 300'000);
    for (const int fd : open_files(call)) std::printf("%d ", fd);
    std::printf("\n");
}

// ---- limits ----

void limit(int resource, rlim_t value) {
    const rlimit both{value, value};
    if (::setrlimit(static_cast<__rlimit_resource>(resource), &both) != 0) fail("setrlimit");
}

/// All that can be opened, before the first range or after it.
void few_files(const Call& call) {
    limit(RLIMIT_NOFILE, static_cast<rlim_t>(call.number));
    if (call.file == "before") range("before", 300'000);
    int count = 0;
    while (::open("/dev/null", O_RDONLY) >= 0) ++count;
    std::printf("%d files\n", count);
    ranges(kFew);
}

/// Nearly all of what is left of its address space, in pieces.
void little_memory(const Call& call) {
    char text[128] = {};
    const int statm = ::open("/proc/self/statm", O_RDONLY);
    if (statm < 0 || ::read(statm, text, sizeof text - 1) <= 0) fail("statm");
    ::close(statm);
    const rlim_t used = std::strtoull(text, nullptr, 10) * 4096;
    const rlim_t left = static_cast<rlim_t>(call.number) << 20;
    // The injection library itself takes a little, and that the loader decides.
    constexpr rlim_t kLibrary = 4u << 20;
    limit(RLIMIT_AS, used + left + kLibrary);
    range("before", 100'000);
    int pieces = 0;
    for (rlim_t got = 0; got < left * 15 / 16; got += 1u << 20, ++pieces)
        if (std::malloc(1u << 20) == nullptr) fail("malloc");
    ranges(kFew);
    std::printf("%d pieces\n", pieces);
}

void short_files(const Call& call) {
    limit(RLIMIT_FSIZE, static_cast<rlim_t>(call.number) << 10);
    ranges(kFew);
    finish_files(open_files(call));
}

void no_threads(const Call& call) {
    if (::setuid(65534) != 0) fail("setuid");
    limit(RLIMIT_NPROC, 1);
    ranges(kFew);
    std::printf("%s\n", call.file.c_str());
}

// ---- system calls ----

/// Forbids system calls to the process from here on.
void forbid(const std::vector<unsigned>& calls, unsigned action) {
    std::vector<sock_filter> program;
    program.push_back(BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)));
    for (const unsigned call : calls) {
        program.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, call, 0, 1));
        program.push_back(BPF_STMT(BPF_RET | BPF_K, action));
    }
    program.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
    const sock_fprog filter{static_cast<unsigned short>(program.size()), program.data()};
    if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
        ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) != 0)
        fail("seccomp");
}
constexpr unsigned kRefuse = SECCOMP_RET_ERRNO | EPERM;

/// What a recorder may need and this program does not.
void without_calls(const Call& call, unsigned action) {
    forbid({SYS_memfd_create, SYS_socket, SYS_close_range, SYS_unshare, SYS_signalfd4, SYS_eventfd2,
            SYS_clone, SYS_clone3, SYS_setpriority, SYS_prlimit64, SYS_connect},
           action);
    const std::vector<int> files = open_files(call);
    ranges(kFew);
    finish_files(files);
}
void calls_are_errors(const Call& call) { without_calls(call, kRefuse); }
void calls_are_deadly(const Call& call) { without_calls(call, SECCOMP_RET_KILL_PROCESS); }

/// What a thread needs to leave the process's table of descriptors.
void without_own_table(const Call& call) {
    forbid({SYS_close_range, SYS_unshare}, kRefuse);
    close_one_by_one(call);
}

void only_ranges(const Call& call) {
    const std::vector<int> files = open_files(call);
    ranges(kFew);
    finish_files(files);
}

struct Scenario {
    const char* name;
    void (*run)(const Call&);
};
constexpr Scenario kScenarios[] = {
    {"close", close_one_by_one},         {"replace", replace},
    {"thread", close_in_a_thread},       {"daemon", become_daemon},
    {"last_thread", end_with_a_thread},  {"output", leave_output},
    {"numbers", print_numbers},          {"few_files", few_files},
    {"little_memory", little_memory},    {"short_files", short_files},
    {"no_threads", no_threads},          {"errors", calls_are_errors},
    {"deadly", calls_are_deadly},        {"ranges", only_ranges},
    {"no_own_table", without_own_table},
};

}  // namespace

int main(int argc, char** argv) {
    const Call call{argc > 2 ? argv[2] : "", argc > 3 ? std::strtol(argv[3], nullptr, 10) : 0};
    for (const Scenario& s : kScenarios) {
        if (argc < 2 || std::strcmp(s.name, argv[1]) != 0) continue;
        s.run(call);
        return 0;
    }
    std::fprintf(stderr, "usage: careless_program SCENARIO [FILE [NUMBER]]\n");
    return 2;
}
