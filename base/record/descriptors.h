// Descriptors of ours in a program that is not ours. Programs close descriptors that they did not
// open (closefrom, daemon, os.closerange) and put their own files on numbers they choose (dup2); a
// number that we remember may be theirs by then. So the service's thread leaves the program's table
// of descriptors where the kernel allows it, and where it does not, every descriptor of ours sits
// high and is compared with what it was opened as before it is used or closed. Used by the recorder
// and its endpoint. POSIX and Linux only; nothing throws.
#pragma once

#include <cstdint>

namespace gs::service {

/// A descriptor and the identity of its file. A plain value: it closes nothing by itself, because
/// it is kept in objects that outlive everything. Use it for files that have an inode of their own
/// (sockets, memfds, directories), not for eventfds and the like, which all share one.
class OwnedDescriptor {
  public:
    constexpr OwnedDescriptor() noexcept = default;
    /// Takes over `fd`. `high`: moves it to a number that programs rarely choose.
    explicit OwnedDescriptor(int fd, bool high = false) noexcept;

    /// The number, for use right now. -1: there is none, or the program has closed or replaced it;
    /// then it is forgotten, without touching what is there now, and counted in the ring's header.
    /// A program that does so between this call and the use of its result cannot be noticed.
    int get() noexcept;
    /// Closes it if it is still ours.
    void close() noexcept;
    /// The number is not in this thread's table (any more): nothing is closed.
    void forget() noexcept { *this = OwnedDescriptor(); }
    /// Whether one was taken over; it may be lost by now.
    bool is_open() const noexcept { return fd_ >= 0; }

  private:
    bool is_ours() const noexcept;
    int fd_ = -1;
    std::uint64_t device_ = 0, inode_ = 0;
};

/// Gives the calling thread a table of descriptors of its own. Only `kept` (-1: none) stays in it;
/// nothing is closed in the program's table. Numbers 0 to 2 become something that cannot be
/// written to, so that no library's message goes into a socket. False: the kernel or a sandbox
/// refuses, and the thread shares the table as before.
bool take_own_table(int kept) noexcept;

}  // namespace gs::service
