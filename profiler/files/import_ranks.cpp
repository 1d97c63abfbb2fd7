#include "profiler/files/import_ranks.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "base/try.h"
#include "profiler/analysis/clock_offsets.h"
#include "profiler/analysis/collectives.h"

namespace gs {
namespace {

/// Files whose times are of one clock.
struct Host {
    std::string name;  ///< "host a", or the file's name if no label names the host
    std::vector<std::size_t> files;
};

void add_summary(const ImportSummary& more, const std::string& file, ImportSummary& all) {
    if (all.format.find(more.format) == std::string::npos)
        all.format += (all.format.empty() ? "" : ", ") + more.format;
    all.spans += more.spans;
    all.instants += more.instants;
    all.points += more.points;
    all.threads += more.threads;
    all.streams += more.streams;
    all.processes += more.processes;
    all.calls += more.calls;
    all.work += more.work;
    all.samples += more.samples;
    all.open += more.open;
    all.skipped += more.skipped;
    all.lost += more.lost;
    all.cut = all.cut || more.cut;
    for (const std::string& note : more.notes)
        all.notes.push_back(file.empty() ? note : file + ": " + note);
}

/// `shifts`: of each file. `first`: where each file's processes begin, and their number at last.
Result<ImportSummary> read(std::span<const std::string> files,
                           const std::vector<ClockShift>& shifts, TraceStore& store,
                           std::vector<std::size_t>& first) {
    ImportSummary all;
    first.clear();
    for (std::size_t f = 0; f < files.size(); ++f) {
        first.push_back(store.processes().size());
        ImportOptions options;
        options.shift = shifts[f];
        GS_TRY(const auto one, import_trace(files[f], store, options));
        add_summary(one, f == 0 ? std::string() : files[f], all);
    }
    first.push_back(store.processes().size());
    return all;
}

std::vector<Host> hosts_of(std::span<const std::string> files, const TraceStore& store,
                           const std::vector<std::size_t>& first) {
    std::vector<Host> out;
    for (std::size_t f = 0; f < files.size(); ++f) {
        std::string name;
        for (std::size_t p = first[f]; p < first[f + 1] && name.empty(); ++p)
            if (const std::string& host = store.processes()[p].labels.host; !host.empty())
                name = "host " + host;
        auto at = std::ranges::find_if(
            out, [&](const Host& host) { return !name.empty() && host.name == name; });
        if (at == out.end())
            at = out.insert(out.end(),
                            {name.empty() ? fs::path(files[f]).filename().string() : name, {}});
        at->files.push_back(f);
    }
    return out;
}

std::vector<CollectiveCall> calls_together(const std::vector<Collective>& all) {
    std::vector<CollectiveCall> out;
    for (const Collective& c : all)
        if (c.together)
            out.push_back({c.begin_ns, c.end_ns, c.name ^ c.communicator * 0x9E3779B97F4A7C15u});
    return out;
}

/// By host, of the first's; all that says is of one rank each.
std::vector<std::optional<ClockOffset>> clocks_of(const std::vector<Host>& hosts,
                                                  const TraceStore& store,
                                                  const std::vector<std::size_t>& first) {
    const auto all = collectives(store);
    std::vector<HostCalls> calls(hosts.size());
    for (std::size_t h = 0; h < hosts.size(); ++h)
        for (const std::size_t f : hosts[h].files)
            for (std::size_t p = first[f]; p < first[f + 1]; ++p)
                if (auto of = calls_together(all[p]); !of.empty())
                    calls[h].push_back(std::move(of));
    return host_clocks(calls);
}

std::string note_of(const Host& host, const Host& anchor, const std::optional<ClockOffset>& clock) {
    if (!clock)
        return fmt::format(
            "the clocks of {} and {} are not aligned: no collectives show their difference",
            host.name, anchor.name);
    return fmt::format("the clock of {} is {}{}", host.name, clock_text(*clock, anchor.name),
                       clock->differs() ? "; its times are corrected" : "");
}

}  // namespace

Result<ImportSummary> import_ranks(std::span<const std::string> files,
                                   const std::function<TraceStore()>& empty, TraceStore& store) {
    std::vector<ClockShift> shifts(files.size());
    std::vector<std::size_t> first;
    store = empty();
    GS_TRY(auto summary, read(files, shifts, store, first));
    const std::vector<Host> hosts = hosts_of(files, store, first);
    if (hosts.size() < 2) return summary;
    const auto clocks = clocks_of(hosts, store, first);
    bool again = false;
    for (std::size_t h = 1; h < hosts.size(); ++h) {
        if (!clocks[h]) continue;
        again = again || clocks[h]->differs();
        ClockShift shift{.text = clock_text(*clocks[h], hosts[0].name)};
        if (clocks[h]->differs()) {
            shift.offset_ns = clocks[h]->offset_ns;
            shift.drift = clocks[h]->drift;
            shift.at_ns = clocks[h]->at_ns;
        }
        for (const std::size_t f : hosts[h].files) shifts[f] = shift;
    }
    if (again) {
        store = empty();
        GS_TRY(summary, read(files, shifts, store, first));
    }
    for (std::size_t h = 1; h < hosts.size(); ++h)
        summary.notes.push_back(note_of(hosts[h], hosts[0], clocks[h]));
    return summary;
}

}  // namespace gs
