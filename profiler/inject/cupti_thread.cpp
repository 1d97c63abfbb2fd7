#include "profiler/inject/cupti_thread.h"

#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>

#include "base/record/clock.h"
#include "base/record/service_thread.h"

namespace gs::inject::cupti_thread {
namespace {

// Never ends and is never destroyed: CUPTI may be called until the process has gone.
struct Worker {
    bool running = false;
    sem_t asked{}, done{};
    void (*work)(void*) = nullptr;
    void* context = nullptr;
    std::atomic<std::uint64_t> cpu_ns{0};
};
constinit Worker worker;

void wait(sem_t& semaphore) {
    while (::sem_wait(&semaphore) != 0 && errno == EINTR) {
    }
}

void* loop(void*) {
    ::pthread_setname_np(::pthread_self(), "gs-cupti");
    service::lower_own_priority();
    for (;;) {
        wait(worker.asked);
        worker.work(worker.context);
        worker.cpu_ns.store(clock_ns(CLOCK_THREAD_CPUTIME_ID), std::memory_order_relaxed);
        ::sem_post(&worker.done);
    }
    return nullptr;
}

}  // namespace

void start() noexcept {
    if (worker.running) return;
    pthread_t thread;
    ::sem_init(&worker.asked, 0, 0);
    ::sem_init(&worker.done, 0, 0);
    worker.running = service::start_service_thread(thread, loop);
    if (worker.running) ::pthread_detach(thread);
}

bool run(void (*work)(void*), void* context) noexcept {
    if (!worker.running) return false;
    worker.work = work;
    worker.context = context;
    ::sem_post(&worker.asked);
    wait(worker.done);
    return true;
}

bool is_running() noexcept { return worker.running; }
std::uint64_t cpu_ns() noexcept { return worker.cpu_ns.load(std::memory_order_relaxed); }

void forget_in_child() noexcept {
    worker.running = false;
    worker.cpu_ns.store(0, std::memory_order_relaxed);
}

}  // namespace gs::inject::cupti_thread
