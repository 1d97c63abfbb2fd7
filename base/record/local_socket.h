// What both ends of the service's socket agree on (protocol.h): where sockets lie, whom to trust,
// and how a message with a descriptor travels. Called by endpoint.cpp in the recording process and
// by profiler/collect/client.cpp in gausscope. Standard library and POSIX only; nothing throws.
#pragma once

#include <sys/socket.h>

#include <cstddef>

#include "base/record/protocol.h"

namespace gs::service {

inline constexpr std::size_t kWhyBytes = 192;  ///< space for a reason (endpoint.h)

/// The runtime directory's path, cut to `capacity`; false when that is too short for it. Where
/// kDirectoryVariable names a directory for all users (root's, open to all, sticky, as /tmp is) it
/// is a directory in that, named by this user's number.
bool runtime_directory_path(char* out, std::size_t capacity) noexcept;

/// The directory for all users, null: there is none.
const char* shared_directory() noexcept;

/// The path of kWatchedName; false when that is too short for it.
bool watched_path(char* out, std::size_t capacity) noexcept;
/// A daemon holds its lock.
bool is_watched() noexcept;

/// Opens `path` (O_PATH) after making it (0700) when `create` and it is missing. -1: it cannot be
/// had, or it is not safe (a link, somebody else's, open to others), and `why` says so. Root may
/// use the directory of any one user.
int open_private_directory(const char* path, bool create, char* why) noexcept;

/// Connects to `name` in `directory`, an opened directory, without waiting; -1 with errno. Where
/// there is no /proc, which makes the length of paths not matter, by `path`, that of the
/// directory.
int connect_in(int directory, const char* path, const char* name) noexcept;
/// Binds `socket` to it likewise.
bool bind_in(int directory, const char* path, const char* name, int socket) noexcept;

/// The other end belongs to this user or to root. With `root_may`, and when this process is root's:
/// to anybody.
bool trusted_peer(int socket, bool root_may = false) noexcept;

/// One Reply, with `descriptor` when that is not -1. False when it cannot be sent at once.
bool send_reply(int socket, const Reply& reply, int descriptor) noexcept;
/// The same to the socket at `path`, by a new connection; that, or -1.
int send_to(const char* path, const Reply& reply, int descriptor) noexcept;
/// One message of at most `capacity` bytes, and a descriptor (-1: none came). Its bytes; 0: the
/// other end is gone; -1 with errno, EMSGSIZE where it was longer.
long receive_message(int socket, void* out, std::size_t capacity, int& descriptor) noexcept;
/// One Reply, and a descriptor (-1: none came). False when none came, it is not one, or the other
/// end is gone.
bool receive_reply(int socket, Reply& reply, int& descriptor) noexcept;

}  // namespace gs::service
