#include "base/record/local_socket.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "base/record/descriptors.h"

namespace gs::service {
namespace {

union ControlMessage {
    cmsghdr header;
    char room[CMSG_SPACE(sizeof(int))];
};

// What makes an open directory unusable, or null.
const char* flaw_of(const struct stat& status) {
    if (!S_ISDIR(status.st_mode)) return "it is not a directory";
    const uid_t user = ::geteuid();
    if (status.st_uid != user && user != 0) return "it belongs to another user";
    if ((status.st_mode & 077) != 0) return "others can access it: chmod 700";
    return nullptr;
}

/// The first descriptor that came with a message; all others are closed.
int take_descriptor(msghdr& message) {
    int found = -1;
    for (cmsghdr* c = CMSG_FIRSTHDR(&message); c != nullptr; c = CMSG_NXTHDR(&message, c)) {
        if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS) continue;
        const std::size_t count = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
        for (std::size_t i = 0; i < count; ++i) {
            int fd = -1;
            std::memcpy(&fd, CMSG_DATA(c) + i * sizeof fd, sizeof fd);
            if (found < 0)
                found = fd;
            else
                ::close(fd);
        }
    }
    return found;
}

const char* given(const char* variable) {
    const char* value = std::getenv(variable);
    return value != nullptr && value[0] == '/' ? value : nullptr;
}

/// `call` with the address of `name` in an opened directory, whatever the length of its path. The
/// thread's own number: it may have a table of its own (descriptors.h). Without /proc only `path`
/// leads there.
template <class Call>
bool at_address(int directory, const char* path, const char* name, Call call) {
    constexpr const char* kNumber = "/proc/thread-self/fd/%d";
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    constexpr std::size_t kMost = sizeof address.sun_path;
    struct stat status {};
    int length = std::snprintf(address.sun_path, kMost, kNumber, directory);
    if (directory >= 0 && ::lstat(address.sun_path, &status) == 0)
        length += std::snprintf(address.sun_path + length, kMost - static_cast<std::size_t>(length),
                                "/%s", name);
    else
        length = std::snprintf(address.sun_path, kMost, "%s/%s", path, name);
    if (length > 0 && static_cast<std::size_t>(length) < kMost)
        return call(reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
    errno = ENAMETOOLONG;
    return false;
}

}  // namespace

// In one of root's that is sticky nobody can take another user's directory away.
const char* shared_directory() noexcept {
    struct stat status {};
    const char* path = given(kDirectoryVariable);
    constexpr mode_t kForAll = S_ISVTX | S_IWOTH | S_IXOTH;
    const bool shared = path != nullptr && ::lstat(path, &status) == 0 && S_ISDIR(status.st_mode) &&
                        status.st_uid == 0 && (status.st_mode & kForAll) == kForAll;
    return shared ? path : nullptr;
}

bool runtime_directory_path(char* out, std::size_t capacity) noexcept {
    int length = 0;
    if (const char* shared = shared_directory())
        length = std::snprintf(out, capacity, "%s/%u", shared, static_cast<unsigned>(::geteuid()));
    else if (const char* own = given(kDirectoryVariable))
        length = std::snprintf(out, capacity, "%s", own);
    else if (const char* user = given("XDG_RUNTIME_DIR"))
        length = std::snprintf(out, capacity, "%s/gausscope", user);
    else
        length =
            std::snprintf(out, capacity, "/tmp/gausscope-%u", static_cast<unsigned>(::geteuid()));
    return length > 0 && static_cast<std::size_t>(length) < capacity;
}

bool watched_path(char* out, std::size_t capacity) noexcept {
    char folder[512];
    const char* shared = shared_directory();
    if (shared == nullptr && !runtime_directory_path(folder, sizeof folder)) return false;
    const int length =
        std::snprintf(out, capacity, "%s/%s", shared != nullptr ? shared : folder, kWatchedName);
    return length > 0 && static_cast<std::size_t>(length) < capacity;
}

bool is_watched() noexcept {
    char path[560];
    if (!watched_path(path, sizeof path)) return false;
    const int fd = ::open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd < 0) return false;
    const bool locked = ::flock(fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;
    ::close(fd);
    return locked;
}

int open_private_directory(const char* path, bool create, char* why) noexcept {
    if (create) ::mkdir(path, 0700);
    const int fd = ::open(path, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    struct stat status {};
    const char* flaw = nullptr;
    if (fd < 0)
        flaw = errno == ELOOP || errno == ENOTDIR ? "it is a link, or not a directory"
                                                  : std::strerror(errno);
    else if (::fstat(fd, &status) != 0)
        flaw = std::strerror(errno);
    else
        flaw = flaw_of(status);
    // In a directory that all may write, anybody may have been first with root's name.
    if (flaw == nullptr && create && status.st_uid != ::geteuid() && shared_directory() != nullptr)
        flaw = "it belongs to another user";
    if (flaw == nullptr) return fd;
    if (why != nullptr) std::snprintf(why, kWhyBytes, "%.120s cannot be used: %s", path, flaw);
    if (fd >= 0) ::close(fd);
    return -1;
}

int connect_in(int directory, const char* path, const char* name) noexcept {
    const int fd = ::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0) return -1;
    if (at_address(directory, path, name, [&](const sockaddr* address, socklen_t bytes) {
            return ::connect(fd, address, bytes);
        }))
        return fd;
    const int error = errno;
    ::close(fd);
    errno = error;
    return -1;
}

bool bind_in(int directory, const char* path, const char* name, int socket) noexcept {
    return at_address(directory, path, name, [&](const sockaddr* address, socklen_t bytes) {
        return ::bind(socket, address, bytes);
    });
}

bool trusted_peer(int socket, bool root_may) noexcept {
    struct {
        pid_t pid;
        uid_t uid;
        gid_t gid;
    } peer{};  // struct ucred, which only _GNU_SOURCE declares
    socklen_t bytes = sizeof peer;
    if (::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &bytes) != 0 || bytes != sizeof peer)
        return false;
    const uid_t user = ::geteuid();
    return peer.uid == user || peer.uid == 0 || (root_may && user == 0);
}

bool send_reply(int socket, const Reply& reply, int descriptor) noexcept {
    iovec part{const_cast<Reply*>(&reply), sizeof reply};
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    ControlMessage control{};
    if (descriptor >= 0) {
        message.msg_control = &control;
        message.msg_controllen = sizeof control;
        cmsghdr* c = CMSG_FIRSTHDR(&message);
        c->cmsg_level = SOL_SOCKET;
        c->cmsg_type = SCM_RIGHTS;
        c->cmsg_len = CMSG_LEN(sizeof descriptor);
        std::memcpy(CMSG_DATA(c), &descriptor, sizeof descriptor);
    }
    return ::sendmsg(socket, &message, MSG_DONTWAIT | MSG_NOSIGNAL) ==
           static_cast<ssize_t>(sizeof reply);
}

int send_to(const char* path, const Reply& reply, int descriptor) noexcept {
    const char* slash = std::strrchr(path, '/');
    if (slash == nullptr) return -1;
    char folder[512];
    const int length =
        std::snprintf(folder, sizeof folder, "%.*s", static_cast<int>(slash - path), path);
    if (length <= 0 || static_cast<std::size_t>(length) >= sizeof folder) return -1;
    OwnedDescriptor directory(open_private_directory(folder, false, nullptr));
    if (!directory.is_open()) return -1;
    OwnedDescriptor socket(connect_in(directory.get(), folder, slash + 1));
    directory.close();
    if (trusted_peer(socket.get()) && send_reply(socket.get(), reply, descriptor))
        return socket.get();
    socket.close();
    return -1;
}

long receive_message(int socket, void* out, std::size_t capacity, int& descriptor) noexcept {
    iovec part{out, capacity};
    ControlMessage control{};
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    message.msg_control = &control;
    message.msg_controllen = sizeof control;
    descriptor = -1;
    const ssize_t bytes = ::recvmsg(socket, &message, MSG_CMSG_CLOEXEC);
    if (bytes < 0) return -1;
    descriptor = take_descriptor(message);
    if ((message.msg_flags & MSG_TRUNC) == 0) return bytes;
    if (descriptor >= 0) ::close(descriptor);
    descriptor = -1;
    errno = EMSGSIZE;
    return -1;
}

bool receive_reply(int socket, Reply& reply, int& descriptor) noexcept {
    const long bytes = receive_message(socket, &reply, sizeof reply, descriptor);
    if (bytes < 0) return false;
    if (bytes == static_cast<long>(sizeof reply) && reply.magic == kProtocolMagic &&
        reply.version == kProtocolVersion) {
        reply.role[sizeof reply.role - 1] = '\0';
        reply.text[sizeof reply.text - 1] = '\0';
        return true;
    }
    if (descriptor >= 0) ::close(descriptor);
    descriptor = -1;
    return false;
}

}  // namespace gs::service
