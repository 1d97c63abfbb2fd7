#include "profiler/files/chrome_async.h"

#include <algorithm>

namespace gs {
namespace {

constexpr std::size_t kMostSearched = 4096;  ///< as many as a program may have open at once

}  // namespace

void ChromeAsync::add(const std::string& key, std::uint32_t pid, std::uint32_t track,
                      std::uint64_t byte, const ImportedEvent& span) {
    const auto next = static_cast<std::uint32_t>(number_of_key_.size());
    const std::uint32_t number = number_of_key_.try_emplace(key, next).first->second;
    ends_.push_back({span, byte, number, pid, track});
}

void ChromeAsync::close(const End& end, std::vector<const End*>& open, ImportEvents& out) const {
    const auto outermost =
        open.rbegin() + static_cast<std::ptrdiff_t>(std::min(open.size(), kMostSearched));
    const auto innermost = [&](bool own_process) {
        const auto found = std::find_if(open.rbegin(), outermost, [&](const End* begin) {
            return (end.span.name == 0 || begin->span.name == end.span.name) &&
                   (!own_process || begin->pid == end.pid);
        });
        return found == outermost ? open.end() : found.base() - 1;
    };
    auto found = innermost(true);
    if (found == open.end()) found = innermost(false);
    if (found == open.end()) return out.notes.skip_at("ends without a begin", end.byte);
    ImportedEvent span = (*found)->span;
    span.kind = ImportedEvent::Kind::whole;
    span.end_ns = end.span.begin_ns;
    out.add((*found)->track, span);
    open.erase(found);
}

void ChromeAsync::deliver(ImportEvents& out) {
    std::stable_sort(ends_.begin(), ends_.end(), [](const End& a, const End& b) {
        return a.key != b.key ? a.key < b.key : a.span.begin_ns < b.span.begin_ns;
    });
    std::vector<const End*> open;
    for (std::size_t i = 0; i < ends_.size(); ++i) {
        const End& event = ends_[i];
        if (event.span.kind == ImportedEvent::Kind::begin)
            open.push_back(&event);
        else
            close(event, open, out);
        if (i + 1 < ends_.size() && ends_[i + 1].key == event.key) continue;
        for (const End* begin : open) out.add(begin->track, begin->span);
        open.clear();
    }
    ends_ = {};
}

}  // namespace gs
