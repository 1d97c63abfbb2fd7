#include "base/record/named_socket.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "base/record/local_socket.h"

namespace gs::service {

bool NamedSocket::open(pid_t pid, const char* role, int queue, bool high, char* why) noexcept {
    pid_ = pid;
    queue_ = queue;
    high_ = high;
    std::snprintf(role_, sizeof role_, "%s", role);
    if (!runtime_directory_path(path_, sizeof path_)) {
        std::snprintf(why, kWhyBytes, "the runtime directory's path is too long");
        return false;
    }
    if (!open_directory(why)) return false;
    if (choose_name() && listen_on(name_)) return true;
    std::snprintf(why, kWhyBytes, "no socket in %.100s: %s%s", path_, std::strerror(errno),
                  errno == ENAMETOOLONG ? " (there is no /proc)" : "");
    name_[0] = '\0';
    directory_.close();
    return false;
}

bool NamedSocket::open_directory(char* why) noexcept {
    directory_ = OwnedDescriptor(open_private_directory(path_, true, why), high_);
    return directory_.is_open();
}

bool NamedSocket::is_alive(const char* name) noexcept {
    const int fd = connect_in(directory_.get(), path_, name);
    if (fd >= 0) ::close(fd);
    return fd >= 0 || errno == EAGAIN;
}

/// A name that no living process uses: in another container somebody may have our number.
bool NamedSocket::choose_name() noexcept {
    std::snprintf(name_, sizeof name_, "%d.%s.sock", pid_, role_);
    for (int i = 2; is_alive(name_); ++i) {
        if (i > 9) return false;
        std::snprintf(name_, sizeof name_, "%d-%d.%s.sock", pid_, i, role_);
    }
    return true;
}

/// Binds under another name first: a socket that can be seen can also be connected to.
bool NamedSocket::listen_on(const char* name) noexcept {
    const int directory = directory_.get();
    char hidden[64];
    std::snprintf(hidden, sizeof hidden, ".%s", name);
    ::unlinkat(directory, hidden, 0);
    const int fd = ::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0) return false;
    const bool listening = bind_in(directory, path_, hidden, fd) && ::listen(fd, queue_) == 0 &&
                           ::renameat(directory, hidden, directory, name) == 0;
    if (!listening) {
        const int error = errno;
        ::close(fd);
        ::unlinkat(directory, hidden, 0);
        errno = error;
        return false;
    }
    listener_.close();
    listener_ = OwnedDescriptor(fd, high_);
    return true;
}

void NamedSocket::renew() noexcept {
    if (!is_open()) return;
    struct stat status {};
    char why[kWhyBytes];
    if (directory_.get() < 0 && !open_directory(why)) return;
    const bool there = ::fstatat(directory_.get(), name_, &status, AT_SYMLINK_NOFOLLOW) == 0;
    if ((there && listener_.get() >= 0) || listen_on(name_)) return;
    // The directory itself has gone.
    directory_.close();
    if (open_directory(why)) listen_on(name_);
}

void NamedSocket::close() noexcept {
    if (const int directory = is_open() ? directory_.get() : -1; directory >= 0)
        ::unlinkat(directory, name_, 0);
    listener_.close();
    directory_.close();
    name_[0] = '\0';
}

void NamedSocket::remove_by_path() noexcept {
    char path[sizeof path_ + sizeof name_];
    std::snprintf(path, sizeof path, "%s/%s", path_, name_);
    if (is_open()) ::unlink(path);
    name_[0] = '\0';
}

void NamedSocket::leave_to_parent(bool shared) noexcept {
    if (shared) {
        listener_.close();
        directory_.close();
    }
    *this = NamedSocket();
}

}  // namespace gs::service
