#include "profiler/sample/blocked_threads.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <sstream>
#include <utility>

namespace gs::sample {
namespace {

std::string read_small(std::uint32_t pid, std::uint32_t tid, const char* name) {
    const int fd =
        ::open(fmt::format("/proc/{}/task/{}/{}", pid, tid, name).c_str(), O_RDONLY | O_CLOEXEC);
    if (fd < 0) return {};
    char text[1024];
    const ssize_t bytes = ::read(fd, text, sizeof text);
    ::close(fd);
    return {text, bytes > 0 ? static_cast<std::size_t>(bytes) : 0};
}

/// The calls that threads wait in; others have their number.
std::string call_name(long number) {
    constexpr std::pair<long, const char*> kNames[] = {
        {SYS_futex, "futex"},
        {SYS_read, "read"},
        {SYS_write, "write"},
        {SYS_pread64, "pread"},
        {SYS_pwrite64, "pwrite"},
        {SYS_readv, "readv"},
        {SYS_writev, "writev"},
        {SYS_ppoll, "poll"},
        {SYS_pselect6, "select"},
        {SYS_epoll_pwait, "epoll_wait"},
        {SYS_nanosleep, "sleep"},
        {SYS_clock_nanosleep, "sleep"},
        {SYS_wait4, "wait"},
        {SYS_waitid, "wait"},
        {SYS_recvfrom, "recv"},
        {SYS_recvmsg, "recv"},
        {SYS_sendto, "send"},
        {SYS_sendmsg, "send"},
        {SYS_accept, "accept"},
        {SYS_accept4, "accept"},
        {SYS_connect, "connect"},
        {SYS_fsync, "fsync"},
        {SYS_fdatasync, "fsync"},
        {SYS_openat, "open"},
        {SYS_ioctl, "ioctl"},
        {SYS_mmap, "mmap"},
        {SYS_munmap, "munmap"},
        {SYS_flock, "flock"},
        {SYS_fcntl, "fcntl"},
        {SYS_rt_sigtimedwait, "sigwait"},
#ifdef SYS_poll  // not on every machine
        {SYS_poll, "poll"},
        {SYS_select, "select"},
        {SYS_epoll_wait, "epoll_wait"},
        {SYS_pause, "pause"},
        {SYS_open, "open"},
#endif
    };
    for (const auto& [known, name] : kNames)
        if (known == number) return name;
    return fmt::format("system call {}", number);
}

/// The state letter follows the name in parentheses, which may hold any.
char state_in(const std::string& stat) {
    const std::size_t end = stat.rfind(')');
    return end != stat.npos && end + 2 < stat.size() ? stat[end + 2] : '?';
}

/// The injection library's own threads are no part of what the program does.
bool is_own_thread(const std::string& stat) {
    return stat.find(" (gs-service) ") != stat.npos || stat.find(" (gs-cupti) ") != stat.npos;
}

/// False: it runs, or is none of the program's. "202 0x... (six arguments) sp pc", or "-1 sp pc"
/// outside of any call.
bool is_blocked(std::uint32_t pid, std::uint32_t tid, BlockedThread& out) {
    const std::string stat = read_small(pid, tid, "stat");
    const char state = state_in(stat);
    if ((state != 'S' && state != 'D') || is_own_thread(stat)) return false;
    const std::string text = read_small(pid, tid, "syscall");
    std::istringstream in(text);
    long number = -1;
    in >> number >> std::hex;
    std::uint64_t word = 0;
    while (in >> word) {
        out.stack_pointer = out.program_counter;
        out.program_counter = word;
    }
    if (text.starts_with("running")) return false;
    if (number >= 0 && !text.empty()) {
        out.where = call_name(number);
        return true;
    }
    out.where = read_small(pid, tid, "wchan");
    if (out.where.empty() || out.where == "0") out.where = "the kernel";
    return true;
}

}  // namespace

std::vector<BlockedThread> BlockedThreads::look(const std::vector<std::uint32_t>& threads) {
    std::vector<BlockedThread> out;
    std::unordered_map<std::uint32_t, Last> now;
    for (const std::uint32_t tid : threads) {
        std::string ran = read_small(pid_, tid, "schedstat");
        if (ran.empty()) continue;  // it has ended
        Last& last = last_[tid];
        const bool moved = last.ran != ran || !last.blocked;
        if (moved) {
            last.thread = {};
            last.thread.tid = tid;
            last.blocked = is_blocked(pid_, tid, last.thread);
        }
        last.ran = std::move(ran);
        last.thread.moved = moved;
        if (last.blocked) out.push_back(last.thread);
        now.emplace(tid, std::move(last));
    }
    last_ = std::move(now);
    return out;
}

}  // namespace gs::sample
