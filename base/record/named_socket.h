// The socket under which an endpoint is found: <pid>.<role>.sock in the runtime directory
// (protocol.h). Made, renewed and removed by the endpoint's thread alone, in whose table of
// descriptors it is.
#pragma once

#include <sys/types.h>

#include "base/record/descriptors.h"

namespace gs::service {

class NamedSocket {
  public:
    /// `high`: descriptors share the program's table (descriptors.h). False: `why` (kWhyBytes) says
    /// why not.
    bool open(pid_t pid, const char* role, int queue, bool high, char* why) noexcept;
    /// Makes it again if a cleaner of temporary folders has removed it, or the program has closed
    /// it.
    void renew() noexcept;
    /// Nobody can connect any more; the name is gone.
    void close() noexcept;
    /// Takes the name away, from a thread with another table of descriptors.
    void remove_by_path() noexcept;
    /// In the child of a fork: the file is the parent's. `shared`: its descriptors have come along.
    void leave_to_parent(bool shared) noexcept;

    int listener() noexcept { return listener_.get(); }
    bool is_open() const noexcept { return name_[0] != '\0'; }

  private:
    bool choose_name() noexcept;
    bool is_alive(const char* name) noexcept;
    bool listen_on(const char* name) noexcept;
    bool open_directory(char* why) noexcept;

    pid_t pid_ = 0;
    int queue_ = 0;
    bool high_ = false;
    char role_[8] = {};
    char path_[512] = {};  // of the directory, as the environment named it at the start
    char name_[48] = {};   // empty: there is no socket
    OwnedDescriptor directory_, listener_;
};

}  // namespace gs::service
