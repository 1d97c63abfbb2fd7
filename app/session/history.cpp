#include "app/session/history.h"

#include <algorithm>
#include <utility>

#include "base/format.h"

namespace gs {
namespace {

bool is_of(const HistoryEntry& entry, History::Kinds kinds) {
    return kinds.size() == 0 || std::ranges::find(kinds, entry.of) != kinds.end();
}

}  // namespace

void History::add(HistoryEntry entry) {
    entries_.resize(done_);
    entry.command = events_.command;
    entries_.push_back(std::make_shared<const HistoryEntry>(std::move(entry)));
    done_ = entries_.size();
    std::uint64_t held = 0, dropped = 0;
    for (const Entry& e : entries_) held += e->bytes();
    // The newest step stays, however large it is.
    while ((held > kMostBytes || done_ > kMostEntries) && steps(done_) > 1) {
        for (bool whole = false; !whole; ++dropped) {
            whole = !is_joined(1);
            held -= entries_.front()->bytes();
            erase(entries_.begin());
        }
    }
    if (dropped > 0 && dropped_ == 0)
        events_.done("the undo history is full: the oldest edits can no longer be undone", true);
    dropped_ += dropped;
    publish();
}

void History::erase(std::deque<Entry>::const_iterator at) {
    if (at - entries_.cbegin() < static_cast<std::ptrdiff_t>(done_)) --done_;
    entries_.erase(at);
}

void History::forget(Kinds of) {
    for (std::size_t i = entries_.size(); i-- > 0;)
        if (is_of(*entries_[i], of)) erase(entries_.cbegin() + static_cast<std::ptrdiff_t>(i));
    if (entries_.empty()) dropped_ = 0;
    publish();
}

void History::record(std::uint64_t scene, StudioEdit edit) {
    if (scene != scenes_) return;  // it was closed in the meantime
    add({edit.of, std::move(edit.label),
         [this, put = std::move(edit.put)](bool back) {
             return events_.ask_studio([put, back](StudioState& s) { put(s, back); });
         },
         [bytes = edit.bytes] { return bytes; }});
}

void History::scene_changed(SceneChange change) {
    if (change == SceneChange::scene) ++scenes_, forget({});
    if (change == SceneChange::restarted) forget({EditOf::gaussians, EditOf::fix});
}

/// The entry to undo or redo.
std::optional<std::size_t> History::next(bool back, Kinds of) const {
    if (back) {
        for (std::size_t i = done_; i-- > 0;)
            if (is_of(*entries_[i], of)) return i;
    } else {
        for (std::size_t i = done_; i < entries_.size(); ++i)
            if (is_of(*entries_[i], of)) return i;
    }
    return std::nullopt;
}

const HistoryEntry* History::newest(Kinds of) const {
    const auto index = next(true, of);
    return index ? entries_[*index].get() : nullptr;
}

/// Whether the command of the entry before made this one too: a crop of a run is a setting and a
/// deletion.
bool History::is_joined(std::size_t index) const {
    if (index == 0 || index >= entries_.size()) return false;
    const HistoryEntry &before = *entries_[index - 1], &entry = *entries_[index];
    return entry.command != 0 && entry.command == before.command && entry.of != before.of;
}

std::size_t History::steps(std::size_t entries) const {
    std::size_t count = 0;
    for (std::size_t i = 0; i < entries; ++i) count += is_joined(i) ? 0 : 1;
    return count;
}

bool History::toggle(std::size_t index, bool back) {
    const Entry entry = entries_[index];
    const bool toggled = entry->toggle(back);
    // Meanwhile it may have discarded others: a setting that restarts the run does.
    const auto at = std::ranges::find(entries_, entry);
    if (at == entries_.end()) return toggled;
    const auto bound = entries_.begin() + static_cast<std::ptrdiff_t>(done_);
    if (!toggled) {  // a setting that can no longer change
        if (entry->of == EditOf::setting) erase(at);
    } else if (back) {
        std::rotate(at, at + 1, bound);
        --done_;
    } else {
        std::rotate(bound, at, at + 1);
        ++done_;
    }
    if (toggled) events_.done((back ? "undo: " : "redo: ") + entry->label);
    return toggled;
}

bool History::step(bool back, Kinds of) {
    auto index = next(back, of);
    if (!index) events_.error(back ? "nothing to undo" : "nothing to redo");
    bool toggled = false;
    while (index) {
        const bool more = is_joined(back ? *index : *index + 1);
        toggled = toggle(*index, back);
        index = toggled && more ? next(back, of) : std::nullopt;
    }
    publish();
    return toggled;
}

void History::go_to(std::size_t done) {
    const std::size_t all = steps(entries_.size());
    if (done > all)
        return events_.error(fmt::format("the history has {} steps, no step {}", all, done));
    const bool back = steps(done_) > done;
    while (back ? steps(done_) > done : steps(done_) < done)
        if (!step(back, {})) break;
}

void History::publish() {
    auto out = std::make_shared<HistoryState>();
    for (std::size_t i = 0; i < entries_.size(); ++i) {
        const std::uint64_t bytes = entries_[i]->bytes();
        if (is_joined(i))
            out->rows.back().bytes += bytes;
        else
            out->rows.push_back(
                {entries_[i]->of, entries_[i]->label, bytes, entries_[i]->flags_only});
        out->bytes += bytes;
    }
    out->done = steps(done_);
    out->most = kMostBytes;
    out->dropped = dropped_;
    events_.changed().history = std::move(out);
    events_.status.at_once();
}

}  // namespace gs
