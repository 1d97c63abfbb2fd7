// TrainerLink: the connection to a training in another process that calls gausscope.attach()
// (python/gausscope/viewer.py, the other side). The trainer listens on PID.training, a
// SOCK_SEQPACKET socket in the runtime directory (base/record/protocol.h); both sides check the
// other's user. Messages are records of one size. A snapshot of the Gaussians comes as a memfd of
// the trainer's, which it writes again once it was released. Everything in it is copied and checked
// before use: the trainer may be wrong, or somebody else. Used by FollowedTraining
// (app/session/parts/followed_training.h), which reads it with app/session/trainer_snapshot.h.
//
// There is no shared page of counters: Python has no atomic operations, and a message orders what
// was written before it on every machine.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/expected.h"
#include "profiler/collect/descriptor.h"

namespace gs::service {

struct TrainerRecord {
    static constexpr std::uint32_t kMagic = 0x52545347;  ///< "GSTR"
    static constexpr std::uint16_t kVersion = 1;
    enum Kind : std::uint16_t {
        hello = 1,  ///< text: its name; a: how many steps there will be (0: unknown); b: its pid
        parameter = 2,  ///< text: name; values: present, lowest, highest, first
        step = 3,       ///< step was done; a: Gaussians; values: see StepValue
        value = 4,      ///< text: name of a number it logs; values[0]
        snapshot = 5,   ///< a: Gaussians; b: bases of SH | SnapshotFlag << 8; and a memfd
        goodbye = 6,    ///< text: why
        capture = 7,    ///< text: the folder of its photos
        // ---- from the viewer
        want = 16,     ///< the next snapshot; the one before is released
        release = 17,  ///< only that
        run_to = 18,   ///< a: the step to pause at: 0: now, kNever: not at all
        set = 19       ///< text: name of a parameter; values[0]
    };
    enum StepValue { loss, milliseconds, share, waiting, can_wait };
    enum SnapshotFlag { stored = 1, antialiased = 2, gradients = 4, second_moments = 8 };
    static constexpr std::uint64_t kNever = ~std::uint64_t{0};

    std::uint32_t magic = kMagic;
    std::uint16_t version = kVersion, kind = 0;
    std::uint64_t number = 0;  ///< of the step
    std::uint64_t a = 0, b = 0;
    double values[8] = {};
    char text[416] = {};  ///< zero-terminated
};
static_assert(sizeof(TrainerRecord) == 512);

class TrainerLink {
  public:
    /// Errors: not_found (it does not call attach(), or has ended), unreadable.
    static Result<TrainerLink> open(std::uint32_t pid);
    /// Whether the process calls attach(), or did until it was killed.
    static bool exists(std::uint32_t pid);
    /// Processes that do, alive or not.
    static std::vector<std::uint32_t> list();
    /// For tests: takes over a connected socket.
    explicit TrainerLink(int socket) : socket_(socket) {}

    struct Message {
        TrainerRecord record;
        Descriptor memory;  ///< of a snapshot
    };
    /// What has come, at most `most` of it. Without waiting.
    std::vector<Message> take(std::size_t most);
    /// Why nothing comes any more; empty: it is connected.
    const std::string& ended() const { return ended_; }
    void send(TrainerRecord::Kind kind, std::uint64_t a = 0, const std::string& text = {},
              double value = 0);

  private:
    Descriptor socket_;
    std::string ended_;
};

}  // namespace gs::service
