#include "profiler/insights/ranks.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "profiler/analysis/activity.h"
#include "profiler/analysis/collectives.h"
#include "profiler/analysis/compare.h"
#include "profiler/analysis/own_time.h"
#include "profiler/store/statistics.h"

namespace gs::insights {
namespace {

constexpr double kStraggler = 1.10;  // R23: times the usual rank, the lower median

Iterations iterations_of(const TraceStore& store, std::uint32_t process,
                         const InsightOptions& options) {
    Iterations out = find_iterations(store, process, options.begin_ns);
    std::erase_if(out.items, [&](const Iteration& i) {
        return i.begin_ns < options.begin_ns || i.end_ns > options.end_ns;
    });
    if (out.items.size() > options.max_iterations)
        out.items.erase(out.items.begin(),
                        out.items.end() - static_cast<std::ptrdiff_t>(options.max_iterations));
    return out;
}

void take_traffic(const TraceStore& store, const Iterations& its, RankLoad& out) {
    Intervals inside;
    for (const Iteration& i : its.items) append(inside, {i.begin_ns, i.end_ns});
    const auto all =
        collectives(store, its.process, {its.items.front().begin_ns, its.items.back().end_ns});
    for (const Collective& c : all[its.process]) {
        const Interval at{c.begin_ns, c.end_ns};
        if (c.bytes == 0 || length_within(inside, at) == 0) continue;
        out.bytes += static_cast<double>(c.bytes);
        if (c.enqueues) continue;
        out.timed_bytes += static_cast<double>(c.bytes);
        out.sized_ns += static_cast<double>(at.length());
    }
}

RankLoad load_of(const TraceStore& store, std::uint32_t process, const InsightOptions& options) {
    RankLoad out{.process = process};
    const Iterations its = iterations_of(store, process, options);
    if (its.items.size() < kLeastSamples) return out;
    out.track = its.track;
    const OwnTimes times = own_times(store, its);
    out.communicates = times.communicates;
    const ProcessActivity activity =
        activity_of(store, process, its.items.front().begin_ns, its.items.back().end_ns);
    std::vector<double> walls, exposed, kernels;
    for (std::size_t i = 0; i < its.items.size(); ++i) {
        const OwnTime& time = times.items[i];
        const Interval whole{its.items[i].begin_ns, its.items[i].end_ns};
        out.own.push_back(time.own_ms());
        walls.push_back(time.wall_ms);
        exposed.push_back(time.exposed_ms);
        kernels.push_back(1e-6 * static_cast<double>(length_within(activity.kernels, whole)) -
                          (times.on_gpu ? time.exposed_ms : 0));
        if (its.items[i].milliseconds() > out.slowest.milliseconds()) out.slowest = its.items[i];
    }
    out.own_ms = median_of(out.own);
    out.kernel_ms = median_of(kernels);
    out.iteration_ms = median_of(walls);
    out.exposed_ms = median_of(exposed);
    const MachineUse machine =
        machine_use(store, process, its.items.front().begin_ns, its.items.back().end_ns, its.track);
    out.held_ms = machine.doubt() * out.iteration_ms;
    take_traffic(store, its, out);
    return out;
}

/// What the waiting for peers is: beyond that of the rank that waits least.
RankFigures figures_of(const TraceStore& store, const RankLoad& load, double least_ms) {
    const TraceProcess& process = store.processes()[load.process];
    RankFigures out{.process = load.process,
                    .pid = process.pid,
                    .rank = process.labels.rank,
                    .job = process.labels.job,
                    .iterations = load.own.size(),
                    .iteration_ms = load.iteration_ms};
    if (load.communicates) {
        out.own_ms = load.own_ms;
        out.exposed_ms = load.exposed_ms;
        out.waiting_ms = load.exposed_ms - least_ms;
    }
    if (load.bytes > 0) out.megabytes = load.bytes * 1e-6 / static_cast<double>(out.iterations);
    if (load.sized_ns > 0) out.gb_per_s = load.timed_bytes / load.sized_ns;
    return out;
}

}  // namespace

void gather_job(const Subject& s) {
    for (std::uint32_t p = 0; p < s.store.processes().size(); ++p) {
        const ProcessLabels& labels = s.store.processes()[p].labels;
        if (labels.rank < 0 || labels.job != s.traced().labels.job) continue;
        std::shared_ptr<const RankLoad>& load = s.loads[p];
        if (!load) load = std::make_shared<RankLoad>(load_of(s.store, p, s.options));
    }
}

std::map<std::string_view, JobLoads> jobs_of(const TraceStore& store, const RankLoads& loads) {
    std::map<std::string_view, JobLoads> out;
    for (const auto& [process, load] : loads)
        if (load->own_ms > 0) out[store.processes()[process].labels.job].push_back(load.get());
    return out;
}

bool all_communicate(const JobLoads& loads) {
    return std::all_of(loads.begin(), loads.end(), [](auto* l) { return l->communicates; });
}

const RankLoad* usual_of(JobLoads loads) {
    const auto middle = loads.begin() + static_cast<std::ptrdiff_t>((loads.size() - 1) / 2);
    std::nth_element(loads.begin(), middle, loads.end(),
                     [](const RankLoad* a, const RankLoad* b) { return a->own_ms < b->own_ms; });
    return *middle;
}

Pace pace_of(const RankLoad& rank, const RankLoad& usual) {
    if (rank.pace) return *rank.pace;
    rank.pace = Pace::usual;
    const double least = (kStraggler - 1) * usual.own_ms;
    // The interval, which costs most, is only asked for where it may decide.
    if (!(rank.own_ms - usual.own_ms > least)) return Pace::usual;
    const Shift shift = shift_of(usual.own, rank.own);
    const bool sure = widened(shift, usual.held_ms, rank.held_ms).low > least;
    if (shift.low > least) rank.pace = sure ? Pace::slow : Pace::unclear;
    return *rank.pace;
}

std::vector<RankFigures> rank_figures(const TraceStore& store, const RankLoads& loads) {
    std::vector<RankFigures> out;
    for (auto& [job, ranks] : jobs_of(store, loads)) {
        if (ranks.size() < 2) continue;
        const auto less = [](auto* a, auto* b) { return a->exposed_ms < b->exposed_ms; };
        const RankLoad& first = **std::min_element(ranks.begin(), ranks.end(), less);
        const RankLoad& usual = *usual_of(ranks);
        const bool known = all_communicate(ranks);
        for (const RankLoad* const load : ranks) {
            out.push_back(figures_of(store, *load, first.exposed_ms));
            if (!known) {
                out.back().waiting_ms.reset();
            } else if (const Pace pace = pace_of(*load, usual); pace != Pace::unclear) {
                out.back().slow = pace == Pace::slow;
            }
        }
    }
    std::stable_sort(out.begin(), out.end(), [](const RankFigures& a, const RankFigures& b) {
        return std::tie(a.job, a.rank) < std::tie(b.job, b.rank);
    });
    return out;
}

}  // namespace gs::insights

namespace gs {

Table ranks_table(std::vector<RankFigures> ranks) {
    using Row = RankFigures;
    const bool several = !ranks.empty() && ranks.front().job != ranks.back().job;
    return table_of<Row>(
        std::move(ranks),
        {{"job", several ? "job" : "", nullptr, &Row::job},
         {"pid", "", nullptr, &Row::pid},
         {"rank", "rank", fixed<0>,
          [](const Row& r) {
              return TableCell(r.rank, r.slow == true ? Tone::warning : Tone::normal);
          }},
         {"iterations", "iterations", fixed<0>, &Row::iterations},
         {"iteration_ms", "iteration ms", fixed<3>, &Row::iteration_ms, 0, "median"},
         {"own_ms", "own ms", fixed<3>, &Row::own_ms, 0,
          "without communication that nothing hides, and waiting for other ranks"},
         {"exposed_ms", "exposed ms", fixed<3>, &Row::exposed_ms, 0,
          "communication that nothing hides, with the waiting in it"},
         {"waiting_ms", "waiting ms", fixed<3>, &Row::waiting_ms, 0,
          "of it, what the rank that waits least does not need"},
         {"megabytes", "MB", fixed<2>, &Row::megabytes, 0,
          "that its collectives move per iteration, where known"},
         {"gb_per_s", "GB/s", fixed<2>, &Row::gb_per_s, 0,
          "of those, over the time that they take"},
         {"slow", "", nullptr, &Row::slow},
         {"", "slowest", nullptr, [](const Row& r) {
              return r.slow == true        ? TableCell("keeps the others waiting", Tone::warning)
                     : r.slow || !r.own_ms ? TableCell()
                                           : TableCell("cannot tell", Tone::dim);
          }}});
}

}  // namespace gs
