#include "profiler/files/import_passes.h"

#include <algorithm>
#include <unordered_map>

namespace gs {
namespace {

/// The event of `sorted` (by begin, the outer first) that begins last at `begin_ns`; null: none.
ImportedEvent* innermost_at(const std::vector<ImportedEvent*>& sorted, std::int64_t begin_ns) {
    const auto after = std::upper_bound(
        sorted.begin(), sorted.end(), begin_ns,
        [](std::int64_t t, const ImportedEvent* event) { return t < event->begin_ns; });
    if (after == sorted.begin() || (*(after - 1))->begin_ns != begin_ns) return nullptr;
    return *(after - 1);
}

std::vector<ImportedEvent*> sorted_spans(std::vector<ImportedEvent>& events) {
    std::vector<ImportedEvent*> out;
    for (ImportedEvent& event : events)
        if (event.kind == ImportedEvent::Kind::whole) out.push_back(&event);
    std::stable_sort(out.begin(), out.end(), [](const ImportedEvent* a, const ImportedEvent* b) {
        return a->begin_ns != b->begin_ns ? a->begin_ns < b->begin_ns : a->end_ns > b->end_ns;
    });
    return out;
}

}  // namespace

void ImportPasses::tell(ImportEvents& events) {
    if (ends_.empty()) return;
    const std::uint8_t category[] = {events.category("forward", ""),
                                     events.category("backward", "")};
    std::unordered_map<std::uint64_t, int> sides;  // of a number: 1 forward, 2 backward
    for (const End& end : ends_) sides[end.number] |= end.backward ? 2 : 1;
    std::unordered_map<std::uint32_t, std::vector<ImportedEvent*>> spans;
    for (const End& end : ends_) {
        auto& of_track = spans[end.track];
        if (of_track.empty()) of_track = sorted_spans(events.events(end.track));
        ImportedEvent* const at =
            sides[end.number] == 3 ? innermost_at(of_track, end.begin_ns) : nullptr;
        if (at == nullptr || at->has_payload) {
            events.notes.pass_over("arrows from forward to backward without both operators");
            continue;
        }
        at->payload = end.number;
        at->has_payload = true;
        at->category = category[end.backward ? 1 : 0];
    }
}

}  // namespace gs
