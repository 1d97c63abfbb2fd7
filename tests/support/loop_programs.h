// Programs made at random with a training loop in them, or none, as streams of ranges: for the
// tests of how iterations are found.
#pragma once

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "../unit/trace_maker.h"

namespace gs::test {

/// What a program does, thread by thread. Times are milliseconds; `noise` is the sigma of a
/// lognormal factor.
class Program {
  public:
    using Body = std::function<void()>;
    static constexpr std::uint32_t kMain = 1;

    explicit Program(std::uint64_t seed) : random_(seed) {}

    double uniform() { return std::uniform_real_distribution<>(0, 1)(random_); }
    int between(int low, int high) { return std::uniform_int_distribution<>(low, high)(random_); }
    template <class T>
    const T& one_of(const std::vector<T>& items) {
        return items[static_cast<std::size_t>(between(0, static_cast<int>(items.size()) - 1))];
    }
    double lognormal(double sigma) {
        return std::exp(sigma * std::normal_distribution<>()(random_));
    }
    double pareto(double shape) { return std::pow(1 - uniform(), -1 / shape); }

    void op(const std::string& name, double ms = 1, double noise = 0.2,
            std::uint32_t thread = kMain, const Body& inner = {}) {
        const double begin = clock_[thread];
        clock_[thread] += 0.002;
        const int depth = depth_++;
        if (inner) inner();
        depth_ = depth;
        clock_[thread] += std::max(0.001, ms * lognormal(noise));
        events.push_back({thread, name, begin, clock_[thread], depth});
        clock_[thread] += 0.001;
    }
    void around(const std::string& name, const Body& inner) { op(name, 0.1, 0.2, kMain, inner); }
    void ops(const std::vector<std::string>& names, double ms = 1, double noise = 0.2) {
        for (const std::string& name : names) op(name, ms, noise);
    }
    void rest(double ms) { clock_[kMain] += ms; }
    double& clock(std::uint32_t thread) { return clock_[thread]; }

    struct Event {
        std::uint32_t thread;
        std::string name;
        double begin, end;
        int depth;
    };
    /// Gives the store what has happened, in order of the ends, in pieces; `each(end_ns)` after
    /// every one.
    template <class Each>
    void into(TraceStore& store, const Each& each, std::size_t piece = 256) {
        std::ranges::stable_sort(events, {}, &Event::end);
        TraceMaker maker(kMain);
        for (std::size_t i = 0; i < events.size();) {
            maker.batch.spans.clear();
            const std::size_t end = std::min(events.size(), i + piece);
            for (; i < end; ++i) {
                const Event& e = events[i];
                maker.range(e.thread, e.name, 1000 * e.begin, 1000 * e.end, e.depth);
            }
            maker.into(store);
            each(maker.batch.spans.back().end_ns);
        }
    }

    std::vector<Event> events;

  private:
    std::mt19937_64 random_;
    std::map<std::uint32_t, double> clock_;
    int depth_ = 0;
};

}  // namespace gs::test
