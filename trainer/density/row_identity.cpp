#include "trainer/density/row_identity.h"

#include <algorithm>
#include <limits>

#include "renderer/scene/gaussian_model.h"

namespace gs {

std::uint32_t IdBook::give(std::size_t count, std::uint32_t step) {
    const std::uint32_t first = next;
    if (count == 0 || first == kLastId) return first;
    if (births.empty() || births.back().step != step) births.push_back({first, step});
    constexpr std::size_t kMost = std::numeric_limits<std::uint32_t>::max();
    next = later_id(first, static_cast<std::uint32_t>(std::min(count, kMost)));
    return first;
}

std::uint32_t IdBook::birth_step(std::uint32_t id) const {
    const auto after =
        std::upper_bound(births.begin(), births.end(), id,
                         [](std::uint32_t of, const Birth& birth) { return of < birth.first_id; });
    return after == births.begin() ? 0 : std::prev(after)->step;
}

RowIdentity::RowIdentity(std::size_t count, std::size_t capacity) {
    tags.resize(capacity, 0u);
    const std::uint32_t first = book.give(count, 0);
    for (std::size_t row = 0; row < count; ++row)
        tags[row] = later_id(first, static_cast<std::uint32_t>(row));
}

std::vector<std::uint32_t> RowIdentity::ids() const {
    std::vector<std::uint32_t> out(tags.size());
    std::transform(tags.begin(), tags.end(), out.begin(), id_of_tag);
    return out;
}

std::vector<std::uint8_t> RowIdentity::locked() const {
    std::vector<std::uint8_t> out(tags.size());
    std::transform(tags.begin(), tags.end(), out.begin(), locked_tag);
    return out;
}

bool RowIdentity::plausible(std::size_t count, std::uint32_t steps) const {
    if (book.next > kLastId || tags.size() < count) return false;
    for (std::size_t i = 0; i < book.births.size(); ++i) {
        const Birth& birth = book.births[i];
        if (birth.step > steps || birth.first_id >= book.next) return false;
        if (i == 0 ? birth.first_id != 0
                   : birth.first_id <= book.births[i - 1].first_id ||
                         birth.step <= book.births[i - 1].step)
            return false;
    }
    std::vector<std::uint32_t> ids(tags.begin(), tags.begin() + count);
    for (std::uint32_t& id : ids) id = id_of_tag(id);
    std::sort(ids.begin(), ids.end());
    const auto own_end = std::lower_bound(ids.begin(), ids.end(), kLastId);
    if (own_end != ids.begin() && *std::prev(own_end) >= book.next) return false;
    if (own_end != ids.end() && book.next != kLastId) return false;
    return std::adjacent_find(ids.begin(), own_end) == own_end;
}

std::uint32_t locked_lanes(const Buffer<std::uint32_t>& tags, std::size_t block) {
    const std::uint32_t* of = tags.data() + block * kBlock;
    std::uint32_t lanes = 0;
    for (std::size_t lane = 0; lane < kBlock; ++lane) lanes |= of[lane] >> 31 << lane;
    return lanes;
}

}  // namespace gs
