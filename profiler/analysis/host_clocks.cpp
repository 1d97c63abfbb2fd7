// Clocks of several hosts from the offsets between each two of them.
#include <algorithm>
#include <cmath>

#include "profiler/analysis/clock_offsets.h"

namespace gs {
namespace {

constexpr std::size_t kRankPairs = 4;   ///< looked at of two hosts
constexpr std::size_t kNeighbours = 4;  ///< that a host is compared with, beside the first

double weight(double error) { return 1 / (error * error); }

/// What host `to` shows more than host `from`.
struct Edge {
    std::size_t from = 0, to = 0;
    ClockOffset clock;
};

std::optional<ClockOffset> best_of_ranks(const HostCalls& a, const HostCalls& b) {
    std::optional<ClockOffset> best;
    for (std::size_t r = 0; r < std::min({a.size(), b.size(), kRankPairs}); ++r) {
        const auto one = clock_offset(a[r], b[r]);
        if (one && (!best || one->error_ns < best->error_ns)) best = one;
    }
    return best;
}

std::vector<Edge> edges_between(std::span<const HostCalls> hosts) {
    std::vector<Edge> edges;
    for (std::size_t i = 0; i < hosts.size(); ++i)
        for (std::size_t j = i + 1; j < hosts.size() && (i == 0 || j <= i + kNeighbours); ++j)
            if (const auto clock = best_of_ranks(hosts[i], hosts[j]))
                edges.push_back({i, j, *clock});
    // All at the time of the first; a drift that was not seen may yet be there.
    for (Edge& e : edges) {
        const auto by = static_cast<double>(edges.front().clock.at_ns - e.clock.at_ns);
        e.clock.offset_ns += e.clock.drift * by;
        e.clock.error_ns += e.clock.drift_error * std::abs(by);
        e.clock.at_ns = edges.front().clock.at_ns;
    }
    return edges;
}

/// Each host by the way to it whose errors add up to least.
void take_shortest_ways(const std::vector<Edge>& edges,
                        std::vector<std::optional<ClockOffset>>& clocks) {
    for (bool changed = true; changed;) {
        changed = false;
        const auto go = [&](std::size_t from, std::size_t to, const ClockOffset& c, double sign) {
            if (!clocks[from] || to == 0) return;
            ClockOffset way = *clocks[from];
            way.offset_ns += sign * c.offset_ns;
            way.drift += sign * c.drift;
            way.error_ns += c.error_ns;
            way.drift_error += c.drift_error;
            way.at_ns = c.at_ns;
            way.collectives = from == 0 ? c.collectives : std::min(way.collectives, c.collectives);
            if (clocks[to] && clocks[to]->error_ns <= way.error_ns) return;
            clocks[to] = way;
            changed = true;
        };
        for (const Edge& e : edges) {
            go(e.from, e.to, e.clock, 1);
            go(e.to, e.from, e.clock, -1);
        }
    }
}

/// Moves every host to the weighted mean of what its neighbours say of it, until they agree: least
/// squares over all pairs. Errors stay those of the shortest way, which this can only improve on.
void settle(const std::vector<Edge>& edges, std::vector<std::optional<ClockOffset>>& clocks) {
    for (int sweep = 0; sweep < 100; ++sweep)
        for (std::size_t h = 1; h < clocks.size(); ++h) {
            double sum = 0, drift = 0, weights = 0;
            for (const Edge& e : edges) {
                if (e.from != h && e.to != h) continue;
                const ClockOffset& other = *clocks[e.from == h ? e.to : e.from];
                const double w = weight(e.clock.error_ns), sign = e.from == h ? -1 : 1;
                sum += w * (other.offset_ns + sign * e.clock.offset_ns);
                drift += w * (other.drift + sign * e.clock.drift);
                weights += w;
            }
            if (weights == 0) continue;
            clocks[h]->offset_ns = sum / weights;
            clocks[h]->drift = drift / weights;
        }
}

}  // namespace

std::vector<std::optional<ClockOffset>> host_clocks(std::span<const HostCalls> hosts) {
    std::vector<std::optional<ClockOffset>> clocks(hosts.size());
    if (hosts.empty()) return clocks;
    const std::vector<Edge> edges = edges_between(hosts);
    clocks[0] = ClockOffset{};
    if (!edges.empty()) clocks[0]->at_ns = edges.front().clock.at_ns;
    take_shortest_ways(edges, clocks);
    std::vector<Edge> reached;
    for (const Edge& e : edges)
        if (clocks[e.from]) reached.push_back(e);
    settle(reached, clocks);
    for (auto& clock : clocks)
        if (clock && std::abs(clock->drift) <= clock->drift_error) clock->drift = 0;
    return clocks;
}

}  // namespace gs
