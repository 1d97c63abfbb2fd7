// Runs the threads of one thread block as fibers. A fiber runs CUDA threads one after another until
// one reaches a collective that others are missing from; then the next runnable thread of the warp
// runs, then the next warp, in an order that the seed decides. So blocks whose threads never meet a
// collective need one fiber and no switches.
#pragma once

#include <array>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <vector>

#include "tests/support/emulator/collectives.h"
#include "tests/support/emulator/fiber.h"
#include "tests/support/emulator/shared_memory.h"

namespace gs::emulator {

class EmulatorError;
enum class Fault;

constexpr std::uint32_t bit(unsigned lane) { return 1u << lane; }

/// 32 lanes and what each brought to the collective it waits at.
struct Warp {
    std::uint32_t unstarted, ready, arrived, at_barrier, ended;  ///< a bit per lane
    unsigned cursor;                                             ///< lane that ran last
    std::array<Fiber*, 32> fiber;
    std::array<Collective, 32> kind;
    std::array<std::uint32_t, 32> mask;
    std::array<Place, 32> where;  ///< of a warp collective or a barrier
    std::array<std::uint64_t, 32> value;
    std::array<std::uint8_t, 32> source;
    std::array<std::uint64_t, 32> result;
    std::array<Barrier, 32> barrier;
};

class Block {
  public:
    Block();
    ~Block();
    /// What the launch is; the same for all its blocks.
    struct Launch {
        const char* name;
        unsigned blocks, threads;
        const std::function<void()>* body;
        std::uint64_t seed;
    };
    /// Runs block `index` to its end. EmulatorError, or what the kernel threw.
    void run(const Launch& launch, unsigned index);
    /// The same in parts: begin(), then go() until it is true. go() comes back with false where a
    /// thread looks at a word that other blocks write.
    void begin(const Launch& launch, unsigned index);
    bool go();
    /// Stops the block that begin() started, for good.
    void abandon();

    std::uint64_t switches() const { return switches_; }
    SharedMemory& shared() { return shared_; }

    // ---- for the running thread
    void look();
    std::uint64_t collective(Collective kind, unsigned mask, std::uint64_t value, unsigned source,
                             Place where);
    int barrier(Barrier kind, int predicate, Place where);
    /// Message with block, thread and place.
    [[noreturn]] void report(Fault fault, const std::string& what, Place where) const;

  private:
    static void fiber_entry(void* block);
    void run_threads(Fiber& fiber);
    Fiber& idle_fiber();
    /// Leaves the running fiber for the next runnable thread, or for run() when there is none.
    void yield(Context& from);
    /// Picks the next thread; false: all have ended.
    bool choose();
    void end_thread();
    bool complete(Warp& warp, unsigned mask, unsigned lane) const;
    void finish(Warp& warp, unsigned mask, unsigned lane);
    void finish_waiting(Warp& warp);
    bool release_barrier();
    [[noreturn]] void report_stuck() const;

    Launch launch_{};
    unsigned index_ = 0, warps_used_ = 0;
    std::uint64_t random_ = 0, switches_ = 0;
    std::uint32_t runnable_ = 0;             ///< warps with unstarted or ready lanes
    unsigned warp_ = 0;                      ///< the running one
    unsigned thread_ = 0;                    ///< paused: which thread of the block looks
    bool pausing_ = false, paused_ = false;  ///< begun in parts; within go()
    bool forward_ = true;                    ///< direction in which lanes follow one another
    int barrier_result_ = 0, predicates_ = 0;
    std::uint32_t waiting_ = 0, live_ = 0;  ///< threads at the barrier, threads not ended
    Fiber* next_ = nullptr;                 ///< chosen
    Fiber* running_ = nullptr;
    std::exception_ptr error_;
    Context host_;
    SharedMemory shared_;
    std::vector<std::unique_ptr<Fiber>> fibers_;
    std::vector<Fiber*> idle_;
    std::vector<Warp> warps_;
};

/// The block whose thread runs here, or null.
Block*& current_block();

}  // namespace gs::emulator
