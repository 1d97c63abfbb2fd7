#include "renderer/edit/row_change.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "base/check.h"
#include "base/parallel.h"

namespace gs {
namespace {

constexpr std::size_t kRowGrain = 16384;

/// Rows that stay, as stretches that are copied whole: [begin, end) between those that are `out`.
template <class F>
void for_each_stretch(std::size_t count, const std::vector<std::uint32_t>& out, const F& f) {
    std::size_t begin = 0, passed = 0;
    for (const std::uint32_t row : out) {
        if (row > begin) f(begin, row, passed);
        begin = std::size_t{row} + 1;
        ++passed;
    }
    if (begin < count) f(begin, count, passed);
}

}  // namespace

std::vector<std::uint32_t> rows_of_ids(std::span<const std::uint32_t> wanted,
                                       std::span<const std::uint32_t> ids) {
    std::unordered_map<std::uint32_t, std::size_t> place;
    place.reserve(wanted.size());
    for (std::size_t k = 0; k < wanted.size(); ++k) place.emplace(wanted[k], k);
    std::vector<std::uint32_t> rows(wanted.size(), kNoSuchRow);
    for (std::size_t row = 0; row < ids.size(); ++row)
        if (const auto at = place.find(ids[row]); at != place.end())
            rows[at->second] = static_cast<std::uint32_t>(row);
    return rows;
}

RowChange RowChange::values(std::vector<std::uint32_t> rows, const GaussianModel& after, int first,
                            int planes) {
    CHECK(after.count == rows.size() && first + planes <= after.planes(), "values of these rows");
    RowChange out;
    out.kind_ = Kind::values;
    out.rows_ = std::move(rows);
    out.first_plane_ = first;
    out.planes_ = planes;
    out.values_.reserve(out.rows_.size() * static_cast<std::size_t>(planes));
    for (int p = first; p < first + planes; ++p)
        out.values_.insert(out.values_.end(), after.plane(p), after.plane(p) + after.count);
    return out;
}

RowChange RowChange::removal(std::vector<std::uint32_t> rows) {
    RowChange out;
    out.kind_ = Kind::presence;
    out.rows_ = std::move(rows);
    out.present_ = true;
    return out;
}

RowChange RowChange::addition(std::size_t count, GaussianModel added, std::uint8_t flags) {
    RowChange out;
    out.kind_ = Kind::presence;
    for (std::size_t k = 0; k < added.count; ++k)
        out.rows_.push_back(static_cast<std::uint32_t>(count + k));
    out.planes_ = added.planes();
    for (int p = 0; p < added.planes(); ++p)
        out.values_.insert(out.values_.end(), added.plane(p), added.plane(p) + added.count);
    out.flags_.assign(added.count, flags);
    return out;
}

void RowChange::toggle(GaussianModel& model, Flags& flags) {
    CHECK(flags.size() == model.count, "flags for every row");
    if (kind_ == Kind::presence) present_ ? take_out(model, flags) : put_in(model, flags);
    if (kind_ != Kind::values) return;
    CHECK(first_plane_ + planes_ <= model.planes(), "values of a model of this degree");
    if (sky_) std::swap(model.sky, *sky_);
    parallel_for(static_cast<std::size_t>(planes_), 1, [&](std::size_t p) {
        float* plane = model.plane(first_plane_ + static_cast<int>(p));
        float* other = values_.data() + p * rows_.size();
        for (std::size_t k = 0; k < rows_.size(); ++k) std::swap(plane[rows_[k]], other[k]);
    });
}

void RowChange::take_out(GaussianModel& model, Flags& flags) {
    const std::size_t left = model.count - rows_.size();
    planes_ = model.planes();
    values_.resize(rows_.size() * static_cast<std::size_t>(planes_));
    GaussianModel out = GaussianModel::to_fill(left, model.sh_degree);
    out.set_about(model);
    parallel_for(static_cast<std::size_t>(planes_), 1, [&](std::size_t p) {
        const float* from = model.plane(static_cast<int>(p));
        float* kept = values_.data() + p * rows_.size();
        for (std::size_t k = 0; k < rows_.size(); ++k) kept[k] = from[rows_[k]];
        float* to = out.plane(static_cast<int>(p));
        for_each_stretch(model.count, rows_,
                         [&](std::size_t begin, std::size_t end, std::size_t passed) {
                             std::copy(from + begin, from + end, to + (begin - passed));
                         });
    });
    flags_.clear();
    for (const std::uint32_t row : rows_) flags_.push_back(flags[row]);
    Flags left_flags(left);
    for_each_stretch(
        model.count, rows_, [&](std::size_t begin, std::size_t end, std::size_t passed) {
            std::copy(flags.begin() + static_cast<std::ptrdiff_t>(begin),
                      flags.begin() + static_cast<std::ptrdiff_t>(end),
                      left_flags.begin() + static_cast<std::ptrdiff_t>(begin - passed));
        });
    flags = std::move(left_flags);
    model = std::move(out);
    present_ = false;
}

void RowChange::put_in(GaussianModel& model, Flags& flags) {
    CHECK(model.planes() == planes_, "rows of a model of this degree");
    const std::size_t whole = model.count + rows_.size();
    GaussianModel out = GaussianModel::to_fill(whole, model.sh_degree);
    out.set_about(model);
    parallel_for(static_cast<std::size_t>(planes_), 1, [&](std::size_t p) {
        const float* from = model.plane(static_cast<int>(p));
        const float* kept = values_.data() + p * rows_.size();
        float* to = out.plane(static_cast<int>(p));
        for_each_stretch(whole, rows_, [&](std::size_t begin, std::size_t end, std::size_t passed) {
            std::copy(from + (begin - passed), from + (end - passed), to + begin);
        });
        for (std::size_t k = 0; k < rows_.size(); ++k) to[rows_[k]] = kept[k];
    });
    Flags all(whole);
    for_each_stretch(whole, rows_, [&](std::size_t begin, std::size_t end, std::size_t passed) {
        std::copy(flags.begin() + static_cast<std::ptrdiff_t>(begin - passed),
                  flags.begin() + static_cast<std::ptrdiff_t>(end - passed),
                  all.begin() + static_cast<std::ptrdiff_t>(begin));
    });
    for (std::size_t k = 0; k < rows_.size(); ++k) all[rows_[k]] = flags_[k];
    flags = std::move(all);
    model = std::move(out);
    values_ = {};
    flags_ = {};
    present_ = true;
}

GaussianModel RowChange::added(int sh_degree) const {
    GaussianModel out = GaussianModel::to_fill(rows_.size(), sh_degree);
    CHECK(out.planes() == planes_, "rows of a model of this degree");
    for (int p = 0; p < planes_; ++p)
        std::copy_n(values_.data() + static_cast<std::size_t>(p) * rows_.size(), rows_.size(),
                    out.plane(p));
    return out;
}

void RowChange::set_present(bool present) {
    present_ = present;
    values_ = {};
    flags_ = {};
}

void RowChange::name_rows(std::span<const std::uint32_t> ids) {
    named_ = true;
    ids_.clear();
    for (const std::uint32_t row : rows_) ids_.push_back(ids[row]);
}

void RowChange::find_rows(std::span<const std::uint32_t> ids) {
    if (kind_ == Kind::presence && !present_) return;  // none is there
    const std::vector<std::uint32_t> found = rows_of_ids(ids_, ids);
    std::vector<std::uint32_t> order;  // of what is still there, by row
    for (std::size_t k = 0; k < found.size(); ++k)
        if (found[k] != kNoSuchRow) order.push_back(static_cast<std::uint32_t>(k));
    std::ranges::sort(order, [&](std::uint32_t a, std::uint32_t b) { return found[a] < found[b]; });
    const auto picked = [&](const auto& from, std::size_t begin, auto& to) {
        for (const std::uint32_t k : order) to.push_back(from[begin + k]);
    };
    std::vector<std::uint32_t> rows, names;
    std::vector<float> values;
    picked(found, 0, rows);
    picked(ids_, 0, names);
    if (kind_ == Kind::values)
        for (int p = 0; p < planes_; ++p)
            picked(values_, static_cast<std::size_t>(p) * rows_.size(), values);
    rows_ = std::move(rows);
    ids_ = std::move(names);
    values_ = std::move(values);
}

std::uint64_t RowChange::bytes() const {
    return 4 * (rows_.capacity() + ids_.capacity() + values_.capacity()) + flags_.capacity();
}

FlagChange::FlagChange(const Flags& before, const Flags& after) {
    CHECK(before.size() == after.size(), "flags of the same rows");
    for (std::size_t i = 0; i < before.size(); ++i) {
        if (before[i] == after[i]) continue;
        rows_.push_back(static_cast<std::uint32_t>(i));
        bits_.push_back(before[i] ^ after[i]);
    }
}

void FlagChange::name_rows(std::span<const std::uint32_t> ids) {
    ids_.clear();
    for (const std::uint32_t row : rows_) ids_.push_back(ids[row]);
}

void FlagChange::find_rows(std::span<const std::uint32_t> ids) {
    const std::vector<std::uint32_t> found = rows_of_ids(ids_, ids);
    std::size_t kept = 0;
    for (std::size_t k = 0; k < found.size(); ++k) {
        if (found[k] == kNoSuchRow) continue;
        rows_[kept] = found[k];
        ids_[kept] = ids_[k];
        bits_[kept++] = bits_[k];
    }
    rows_.resize(kept);
    ids_.resize(kept);
    bits_.resize(kept);
}

void FlagChange::toggle(Flags& flags) const {
    parallel_for(rows_.size(), kRowGrain, [&](std::size_t k) { flags[rows_[k]] ^= bits_[k]; });
}

}  // namespace gs
