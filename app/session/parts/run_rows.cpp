#include "app/session/parts/run_rows.h"

#include <unordered_map>
#include <utility>

namespace gs {
namespace {

/// Flags of the Gaussians `after`, where those of the Gaussians `before` were `flags`.
Flags moved_flags(const Flags& flags, const std::vector<std::uint32_t>& before,
                  const std::vector<std::uint32_t>& after) {
    std::unordered_map<std::uint32_t, std::uint8_t> flags_of_id;
    for (std::size_t row = 0; row < before.size(); ++row)
        if (flags[row] != 0) flags_of_id.emplace(before[row], flags[row]);
    Flags out(after.size(), 0);
    for (std::size_t row = 0; row < after.size() && !flags_of_id.empty(); ++row)
        if (const auto at = flags_of_id.find(after[row]); at != flags_of_id.end())
            out[row] = at->second;
    return out;
}

}  // namespace

void RunRows::begin(const Trainer& trainer, Flags& flags) {
    const RowIdentity identity = trainer.identity();
    ids_ = identity.ids();
    const std::vector<std::uint8_t> locked = identity.locked();
    for (std::size_t row = 0; row < flags.size(); ++row)
        if (locked[row] != 0) flags[row] |= kLocked;
}

void RunRows::clear(std::uint64_t steps_done) {
    ids_.clear();
    followed_ = steps_done;
}

std::optional<Flags> RunRows::follow(const LoadedScene& scene, const Flags& flags) {
    const Trainer& trainer = *scene.trainer;
    const std::uint64_t before = std::exchange(followed_, trainer.steps_done());
    if (ids_.empty()) return std::nullopt;
    // Steps move rows by density control alone.
    const bool other_count = trainer.gaussian_count() != flags.size();
    if (!other_count &&
        (followed_ == before || (followed_ == before + 1 && !scene.run->record().last.densified)))
        return std::nullopt;
    std::vector<std::uint32_t> ids = trainer.identity().ids();
    if (ids == ids_) return std::nullopt;
    Flags out = moved_flags(flags, ids_, ids);
    ids_ = std::move(ids);
    return out;
}

/// Rows come and go with all that training knows of them.
Result<void> RunRows::change(const LoadedScene& scene, const std::string& what, RowChange& change,
                             RemovedRows& removed, Flags& flags) {
    const bool first = !change.named();
    if (!first) change.find_rows(ids_);
    const bool goes = change.moves_rows() && change.present();
    if (goes && change.rows().size() == flags.size())
        return fail(ErrorKind::usage, "",
                    "cannot delete all Gaussians of the run: keep at least one");
    if (first && (goes || !change.moves_rows())) change.name_rows(ids_);
    auto done = scene.run->edit(what, [&](RunArrays& arrays) {
        if (!change.moves_rows())
            change.toggle(arrays.model, flags);
        else if (goes)
            removed.arrays = take_rows(arrays, change.rows());
        else if (first)
            append_rows(arrays, change.added(arrays.model.sh_degree));
        else
            put_back(arrays, removed.arrays);
    });
    if (done && change.moves_rows()) follow_presence(scene, change, removed, flags, goes, first);
    return done;
}

/// After rows went, or came: for the first time, or back.
void RunRows::follow_presence(const LoadedScene& scene, RowChange& change, RemovedRows& removed,
                              Flags& flags, bool goes, bool first) {
    if (goes) {
        removed.flags.clear();
        for (const std::uint32_t row : change.rows()) removed.flags.push_back(flags[row]);
    }
    std::vector<std::uint32_t> now = scene.trainer->identity().ids();
    flags = moved_flags(flags, ids_, now);
    ids_ = std::move(now);
    change.set_present(!goes);
    if (goes) return;
    if (first) return change.name_rows(ids_);
    std::vector<std::uint32_t> ids;
    for (std::size_t i = 0; i < removed.arrays.rows.size(); ++i)
        ids.push_back(id_of_tag(removed.arrays.arrays.identity.tags[i]));
    const std::vector<std::uint32_t> rows = rows_of_ids(ids, ids_);
    for (std::size_t k = 0; k < rows.size(); ++k)
        if (rows[k] != kNoSuchRow) flags[rows[k]] = removed.flags[k];
    removed.arrays = {};
}

Result<void> RunRows::lock(const LoadedScene& scene, const std::string& what, const Flags& before,
                           const Flags& flags) {
    std::vector<std::uint32_t> locked, freed;
    for (std::size_t row = 0; row < flags.size(); ++row)
        if (((flags[row] ^ before[row]) & kLocked) != 0)
            ((flags[row] & kLocked) != 0 ? locked : freed)
                .push_back(static_cast<std::uint32_t>(row));
    if (locked.empty() && freed.empty()) return {};
    return scene.run->edit(what, [&](RunArrays& arrays) {
        lock_rows(arrays, locked, true);
        lock_rows(arrays, freed, false);
    });
}

}  // namespace gs
