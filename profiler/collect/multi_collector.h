// Collector: one thread that reads rings every few milliseconds and hands batches over through a
// queue, so that the thread that shows or saves measurements never reads a ring itself. Rings of
// this process (`train`, `bench`, the studio), or of all processes under the profiling service,
// which it finds and keeps recording (`record`, `attach`, `serve`, the studio); `source`
// distinguishes them.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "profiler/collect/batch_queue.h"
#include "profiler/collect/client.h"
#include "profiler/collect/device_sampler.h"
#include "profiler/collect/discovery.h"

namespace gs::service {

struct MultiCollectorOptions : DiscoveryOptions {
    bool own = false;  ///< this process's own ring, too, started if need be
    // ---- what is asked of them
    bool arm = true;   ///< they record as long as this is here
    bool past = true;  ///< also what they recorded before, as far as their rings hold it
    std::optional<std::uint64_t> budget_ppm;        ///< set at the beginning
    bool release_cupti = false;                     ///< and this asked once
    std::chrono::milliseconds interval{5};          ///< between two looks at the least
    std::chrono::milliseconds idle_interval{20};    ///< it grows to this while rings stay empty
    std::optional<DeviceSamplerOptions> devices{};  ///< also sample their GPUs with NVML
};

/// A process as the collecting thread saw it last.
struct SourceState {
    std::uint64_t source = 0;  ///< TraceBatch::source
    std::uint32_t pid = 0;
    std::string role, name;
    bool alive = true;
    std::string note;  ///< what it refused, empty: nothing
    bool read = true;  ///< false: it only said, in `note`, why it cannot be recorded
};

class MultiCollector {
  public:
    /// Errors: the runtime directory, the collector socket or the own ring cannot be had. No
    /// process at all is none.
    static Result<std::unique_ptr<MultiCollector>> start(MultiCollectorOptions options);
    /// Of this process alone. `past`: also what it recorded before, as far as the ring holds it.
    static std::unique_ptr<MultiCollector> of_own_ring(bool past = true);
    ~MultiCollector();

    /// Moves everything handed over before this call into `store`; call it from the store's thread,
    /// every frame or every second. The number of batches taken. Never waits.
    std::size_t drain_into(TraceStore& store) {
        return batches_.take_into(store) + (devices_ ? devices_->take_into(store) : 0);
    }
    /// Looks a last time, stops the thread, gives the leases back and moves everything into
    /// `store`.
    void finish(TraceStore& store);

    /// False where the system refused this process a ring: then there is nothing to collect.
    bool has_own_ring() const { return own_ != nullptr; }
    /// The processes seen so far, the dead included; from the thread that calls drain_into().
    const std::vector<SourceState>& sources();
    /// Asks every live process; what one refuses appears as its note.
    void ask_all(Op op, std::uint64_t value = 0);
    /// For kCollectorVariable; empty without options.accept.
    const fs::path& collector_path() const { return discovery_.collector_path(); }

  private:
    struct Source {
        SourceState state;
        fs::path socket;
        std::uint64_t process_start = 0;
        std::uint32_t visible_pid = 0;
        std::optional<Connection> connection{};  ///< none once everything has been read
        std::shared_ptr<TraceBatch> pending = std::make_shared<TraceBatch>();
        std::set<std::string> gpus{};  ///< uuids
        std::int64_t silent_since_ns = 0;
        bool last_look = false;
    };
    struct OwnRing {
        TraceReader reader;
        std::shared_ptr<TraceBatch> pending = std::make_shared<TraceBatch>();
        std::int64_t clock_ns = 0;  ///< when a clock snapshot was published last
    };
    struct Question {
        Op op;
        std::uint64_t value;
    };

    MultiCollector(MultiCollectorOptions options, Discovery discovery)
        : options_(std::move(options)), discovery_(std::move(discovery)) {}
    void run();
    void take_new(std::chrono::milliseconds patience = {});
    bool is_known(const Source& source) const;
    void forget_some();
    void add(Connection connection);
    void add(Discovery::Excuse excuse);
    void hear(Source& source);
    void note_gpus(Source& source);
    void pass_on_questions();
    double read_all();
    std::chrono::milliseconds next_interval(std::chrono::milliseconds last, double fullest);
    void read_own(OwnRing& own);
    double read(Source& source);
    void hand_over(TraceReader& reader, std::shared_ptr<TraceBatch>& pending);
    void follow_life(Source& source);
    void give_leases_back();
    void publish();

    MultiCollectorOptions options_;
    Discovery discovery_;
    std::unique_ptr<OwnRing> own_;
    std::unique_ptr<DeviceSampler> devices_;
    std::vector<std::unique_ptr<Source>> all_;  // the thread's
    bool changed_ = false;
    std::chrono::steady_clock::time_point burst_until_{};  // rings are read at the least interval
    BatchQueue batches_{256};
    Queue<Question> questions_{64};
    Latest<std::vector<SourceState>> newest_;
    std::vector<SourceState> states_;  // the consumer's
    std::atomic<bool> stop_{false};
    std::thread thread_;
};

}  // namespace gs::service
