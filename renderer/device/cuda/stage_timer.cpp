// GPU times become ticks of this process in two steps. Within a pair the device measures: the
// length is elapsed(begin, end). Its place in time comes from an anchor, an event on an idle stream
// of its own whose host time is known: just before it was recorded. Elapsed times are floats of
// milliseconds, a quarter of a microsecond apart after four seconds, so there is a new anchor every
// quarter of a second, and the clocks' rate is measured from the first anchor to the newest.
#include "renderer/device/cuda/stage_timer.h"

#include <algorithm>
#include <array>
#include <limits>
#include <string>
#include <vector>

#include "base/record/clock.h"
#include "base/record/device_lane.h"
#include "base/record/scope.h"

namespace gs::cuda {
namespace {

constexpr std::size_t kPairs = 256;  ///< several steps of a dozen stages
constexpr std::size_t kAnchors = 4;  ///< a pair may wait this many refreshes, less one, for its end
constexpr int kMaxDepth = 8;
constexpr std::uint64_t kRefreshNs = 250'000'000;
constexpr double kRateBaselineMs = 1000;   ///< shorter than this the host's own rate is better
constexpr double kRateTolerance = 500e-6;  ///< a GPU's clock runs within this of the host's
constexpr double kLateNs =
    20'000;  ///< an anchor that seems later than this was held up; it is of no use

/// GPU milliseconds to ticks.
class DeviceClock {
  public:
    DeviceClock() : ticks0_(read_ticks()), ns0_(monotonic_ns()), stream_("timing") {
        anchors_[0].ticks = static_cast<double>(read_ticks());
        anchors_[0].event.record(stream_);
        stream_.synchronize();  // idle and new: microseconds, once
    }
    std::uint64_t newest() const { return newest_; }
    bool knows(std::uint64_t anchor) const {
        return newest_ + (pending_ ? 1 : 0) < anchor + kAnchors;
    }

    /// Ticks at which `event` was reached; `anchor` was the newest when it was recorded.
    double ticks_at(const Event& event, std::uint64_t anchor) const {
        const Anchor& a = anchors_[anchor % kAnchors];
        return a.ticks + static_cast<double>(event.milliseconds_since(a.event)) * ticks_per_ms();
    }
    double ticks_per_ms() const { return ticks_per_ms_ > 0 ? ticks_per_ms_ : host_ticks_per_ms(); }

    /// Something happened for certain this many ticks later (earlier, when negative) than the clock
    /// says.
    void shift(double ticks) {
        for (Anchor& anchor : anchors_) anchor.ticks += ticks;
    }

    /// Records the next anchor when it is time, and takes it into use when it was reached.
    void refresh() {
        Anchor& next = anchors_[(newest_ + 1) % kAnchors];
        if (pending_) {
            if (next.event.reached()) settle(next);
            return;
        }
        const std::uint64_t now_ns = monotonic_ns();
        if (now_ns - refreshed_ns_ < kRefreshNs) return;
        refreshed_ns_ = now_ns;
        next.ticks = static_cast<double>(read_ticks());
        next.event.record(stream_);
        pending_ = true;
    }

  private:
    struct Anchor {
        Event event{Event::Timing::on};
        double ticks = 0;
    };
    double host_ticks_per_ms() const {
        const std::uint64_t ns = monotonic_ns() - ns0_, ticks = read_ticks() - ticks0_;
        return ns > 0 ? 1e6 * static_cast<double>(ticks) / static_cast<double>(ns) : 1e6;
    }
    // The device reaches an anchor after the host records it, never before: a clock that says
    // otherwise is early and is set right at once. One that says "later" may be right, as the
    // anchor may have waited; it is steered slowly.
    void settle(Anchor& next) {
        const Anchor& before = anchors_[newest_ % kAnchors];
        const double ms = static_cast<double>(next.event.milliseconds_since(before.event));
        const double recorded = next.ticks, host_rate = host_ticks_per_ms();
        const double predicted = before.ticks + ms * ticks_per_ms();
        const double error = recorded - predicted;
        next.ticks =
            error > 0 ? recorded : predicted + std::max(error, -kLateNs * 1e-6 * host_rate) / 8;
        if (since_first_ms_ == 0) first_ticks_ = before.ticks;
        since_first_ms_ += ms;
        if (since_first_ms_ > kRateBaselineMs)
            ticks_per_ms_ =
                std::clamp((next.ticks - first_ticks_) / since_first_ms_,
                           host_rate * (1 - kRateTolerance), host_rate * (1 + kRateTolerance));
        ++newest_;
        pending_ = false;
    }

    std::uint64_t ticks0_, ns0_;
    Stream stream_;
    std::array<Anchor, kAnchors> anchors_;
    std::uint64_t newest_ = 0, refreshed_ns_ = monotonic_ns();
    bool pending_ = false;
    double first_ticks_ = 0, since_first_ms_ = 0, ticks_per_ms_ = 0;
};

struct Pair {
    Event begin{Event::Timing::on}, end{Event::Timing::on};
    StringId name = 0;
    bool has_payload = false;
    int depth = 0;
    std::uint64_t payload = 0, correlation = 0, anchor = 0;
    std::uint64_t launched = 0;  ///< ticks before `begin` was recorded
    LaunchPoint launch{};
};

}  // namespace

struct StageTimers::State {
    explicit State(const Stream& s)
        : stream(s),
          lane_name(std::string("CUDA stream ") + s.name()),
          lane(lane_name.c_str()),
          pairs(kPairs) {
        for (std::size_t i = kPairs; i-- > 0;) free.push_back(static_cast<int>(i));
        ended.reserve(kPairs);
        newest_ms.fill(std::numeric_limits<double>::quiet_NaN());
    }

    const Stream& stream;
    const std::string lane_name;
    DeviceLane lane;
    DeviceClock clock;
    std::vector<Pair> pairs;
    std::vector<int> free, ended;  ///< ended: in order of their ends
    int depth = 0;                 ///< stages begun and not ended
    bool enabled = true;
    std::uint64_t missed = 0, launches = 0;
    std::uint64_t outer_anchor = 0;
    /// Per depth: where the newest span ended, and where the first one inside the span now open
    /// around it began.
    std::array<std::uint64_t, kMaxDepth + 1> last_end{}, first_begin{};
    std::array<double, kStageCount> newest_ms;

    void miss() {
        ++missed;
        lane.count_untimed(1);
    }
    bool capturing() const {
        cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
        check(cudaStreamIsCapturing(stream.get(), &status),
              "asking whether a graph is being captured");
        return status != cudaStreamCaptureStatusNone;
    }
    void write(Pair& pair);
};

StageTimers::StageTimers(const Stream& stream) : state_(std::make_unique<State>(stream)) {}
StageTimers::~StageTimers() {
    try {
        poll();
    } catch (const DeviceError&) {
        // A device that has failed has nothing more to tell; whoever uses it next says so.
    }
}

void StageTimers::enable(bool on) { state_->enabled = on; }
std::uint64_t StageTimers::missed() const { return state_->missed; }
double StageTimers::newest_ms(Stage stage) const {
    return state_->newest_ms[static_cast<std::size_t>(stage)];
}

int StageTimers::begin(StringId name, std::uint64_t payload, bool has_payload) {
    State& s = *state_;
    if (!s.enabled) return -1;
    // In a captured graph an event is a dependency, not a time.
    if (s.free.empty() || s.depth >= kMaxDepth || s.capturing()) {
        s.miss();
        return -1;
    }
    const int handle = s.free.back();
    Pair& pair = s.pairs[static_cast<std::size_t>(handle)];
    if (s.depth == 0) s.outer_anchor = s.clock.newest();
    pair.name = name;
    pair.payload = payload;
    pair.has_payload = has_payload;
    pair.depth = s.depth;
    pair.anchor = s.outer_anchor;
    pair.correlation = ++s.launches;
    pair.launch = launch_point();
    pair.launched = read_ticks();
    pair.begin.record(s.stream);
    s.free.pop_back();
    ++s.depth;
    return handle;
}

void StageTimers::end(int handle) {
    if (handle < 0) return;
    State& s = *state_;
    --s.depth;
    try {  // also called while an exception passes by
        s.pairs[static_cast<std::size_t>(handle)].end.record(s.stream);
        s.ended.push_back(handle);
    } catch (const DeviceError&) {
        s.free.push_back(handle);
        s.miss();
    }
}

void StageTimers::poll() {
    State& s = *state_;
    std::size_t done = 0;
    for (; done < s.ended.size(); ++done) {
        Pair& pair = s.pairs[static_cast<std::size_t>(s.ended[done])];
        if (!pair.end.reached() || !pair.begin.reached())
            break;  // a stream's events are reached in order
        if (s.clock.knows(pair.anchor))
            s.write(pair);
        else
            s.miss();
        s.free.push_back(s.ended[done]);
    }
    s.ended.erase(s.ended.begin(), s.ended.begin() + static_cast<std::ptrdiff_t>(done));
    s.clock.refresh();
}

void StageTimers::State::write(Pair& pair) {
    const double ms = static_cast<double>(pair.end.milliseconds_since(pair.begin));
    if (pair.name > 0 && pair.name <= kStageCount) newest_ms[pair.name - 1] = ms;
    const double length = ms * clock.ticks_per_ms();
    // Nothing begins before it was launched or ends after it was seen to have ended.
    double start = clock.ticks_at(pair.begin, pair.anchor);
    const auto launched = static_cast<double>(pair.launched),
               now = static_cast<double>(read_ticks());
    const double shift = start < launched ? launched - start : std::min(now - length - start, 0.0);
    clock.shift(shift);
    start += shift;

    DeviceSpan span{.payload = pair.payload,
                    .correlation = pair.correlation,
                    .name = pair.name,
                    .depth = static_cast<std::uint8_t>(pair.depth),
                    .has_payload = pair.has_payload,
                    .launch = pair.launch};
    // Spans of one depth follow each other and hold those inside, also when the clock was set
    // meanwhile.
    const auto d = static_cast<std::size_t>(pair.depth);
    span.begin = std::max(static_cast<std::uint64_t>(start), last_end[d]);
    span.end = std::max(static_cast<std::uint64_t>(start + length), span.begin);
    if (first_begin[d + 1] != 0) {
        span.begin = std::max(std::min(span.begin, first_begin[d + 1]), last_end[d]);
        span.end = std::max(span.end, last_end[d + 1]);
    }
    first_begin[d + 1] = 0;
    if (first_begin[d] == 0) first_begin[d] = span.begin;
    last_end[d] = span.end;
    lane.write(span);
}

}  // namespace gs::cuda
