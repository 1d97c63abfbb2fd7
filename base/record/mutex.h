// Holding a mutex for a scope. POSIX's own, for the recorder's mutexes are constant-initialised and
// recreated in the child of a fork, where nobody is left who could let them go.
#pragma once

#include <pthread.h>

namespace gs::detail {

class Locked {
  public:
    explicit Locked(pthread_mutex_t& mutex) noexcept : mutex_(mutex) {
        ::pthread_mutex_lock(&mutex_);
    }
    ~Locked() { ::pthread_mutex_unlock(&mutex_); }
    Locked(const Locked&) = delete;
    Locked& operator=(const Locked&) = delete;

  private:
    pthread_mutex_t& mutex_;
};

}  // namespace gs::detail
