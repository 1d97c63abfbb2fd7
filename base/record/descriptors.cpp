#include "base/record/descriptors.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>

#include "base/record/service_status.h"

namespace gs::service {
namespace {

bool identity_of(int fd, std::uint64_t& device, std::uint64_t& inode) {
    struct stat status {};
    if (::fstat(fd, &status) != 0) return false;
    device = status.st_dev;
    inode = status.st_ino;
    return true;
}

rlim_t most_descriptors() {
    rlimit limit{};
    return ::getrlimit(RLIMIT_NOFILE, &limit) == 0 ? limit.rlim_cur : 0;
}

/// Half-way up a small table, above what `select` can watch in a large one. `fd` itself where
/// there is no such number.
int move_high(int fd) {
    constexpr rlim_t kHigh = 1024;
    const auto least = static_cast<int>(std::min(kHigh, most_descriptors() / 2));
    if (fd < 0 || fd >= least) return fd;
    const int moved = ::fcntl(fd, F_DUPFD_CLOEXEC, least);
    if (moved < 0) return fd;
    ::close(fd);
    return moved;
}

// Numbers of newer headers than the oldest that we build with.
constexpr long kCloseRange = 436;
constexpr unsigned kUnshare = 2, kLast = ~0u;

bool close_range_from(unsigned first, unsigned last, unsigned flags) {
    return first > last || ::syscall(kCloseRange, first, last, flags) == 0;
}

/// For kernels before 5.9.
void close_one_by_one(int kept) {
    const rlim_t most = std::min<rlim_t>(most_descriptors(), 1u << 20);
    for (int fd = 0; fd < static_cast<int>(most); ++fd)
        if (fd != kept) ::close(fd);
}

/// Reading finds the end there, writing an error.
void occupy_standard_numbers() {
    constexpr rlim_t kScarce = 16;
    int ends[2];
    if (most_descriptors() < kScarce || ::pipe2(ends, O_CLOEXEC) != 0) return;
    ::close(ends[1]);
    int last = ends[0];
    while (last >= 0 && last <= STDERR_FILENO) last = ::fcntl(ends[0], F_DUPFD_CLOEXEC, 0);
    if (last > STDERR_FILENO) ::close(last);
}

}  // namespace

OwnedDescriptor::OwnedDescriptor(int fd, bool high) noexcept : fd_(high ? move_high(fd) : fd) {
    if (fd_ >= 0 && !identity_of(fd_, device_, inode_)) fd_ = -1;
}

bool OwnedDescriptor::is_ours() const noexcept {
    std::uint64_t device = 0, inode = 0;
    return fd_ >= 0 && identity_of(fd_, device, inode) && device == device_ && inode == inode_;
}

int OwnedDescriptor::get() noexcept {
    if (fd_ < 0 || is_ours()) return fd_;
    detail::count(&abi::RingHeader::lost_descriptors);
    forget();
    return -1;
}

void OwnedDescriptor::close() noexcept {
    if (is_ours()) ::close(fd_);
    forget();
}

bool take_own_table(int kept) noexcept {
    const auto above = static_cast<unsigned>(kept + 1);
    // At once, and only what is kept is copied; or the whole table, and then the rest is closed.
    if (!close_range_from(above, kLast, kUnshare)) {
        if (::unshare(CLONE_FILES) != 0) return false;
        if (!close_range_from(above, kLast, 0)) close_one_by_one(kept);
    }
    for (int fd = 0; fd < kept; ++fd) ::close(fd);
    occupy_standard_numbers();
    return true;
}

}  // namespace gs::service
