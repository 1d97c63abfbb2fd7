#include "trainer/round_rows.h"

#include <algorithm>
#include <new>
#include <utility>

#include "base/parallel.h"
#include "trainer/morton.h"

namespace gs {

RoundRows in_morton_order(const RoundRows& rows) {
    const std::vector<std::uint32_t> order = morton_order(rows.mean);
    RoundRows out;
    out.source.reserve(order.size());
    for (const std::uint32_t i : order) {
        out.add(rows.source[i], rows.origin[i], rows.mean[i], rows.tag[i]);
        if (!rows.share.empty()) out.share.push_back(rows.share[i]);
    }
    return out;
}

std::size_t grown_capacity(std::size_t capacity, std::size_t wanted, std::size_t limit) {
    return padded_capacity(std::max(wanted, std::min(limit, capacity + capacity / 2)));
}

std::size_t padded_capacity(std::size_t count) {
    return ((count + kBlock - 1) / kBlock | 1) * kBlock;
}

std::size_t make_room(GaussianModel& model, LazyAdam& adam, RowIdentity& identity,
                      std::size_t wanted, std::size_t limit, Buffer<float>* room_to_save) {
    if (wanted <= model.capacity) return wanted;
    const std::size_t capacity = grown_capacity(model.capacity, wanted, limit);
    try {
        GaussianModel larger = model.resized(capacity, model.sh_degree);
        Buffer<float> room(larger.values.size());
        Buffer<std::uint32_t> tags = identity.tags;
        tags.resize(larger.capacity, 0u);
        if (!adam.grow(larger.capacity)) return model.capacity;
        identity.tags = std::move(tags);
        if (room_to_save != nullptr) *room_to_save = std::move(room);
        model = std::move(larger);
    } catch (const std::bad_alloc&) {
        return model.capacity;
    }
    return wanted;
}

void rearrange(GaussianModel& model, LazyAdam& adam, RowIdentity& identity, const RoundRows& rows) {
    const std::size_t before = model.count, after = rows.source.size();
    Buffer<float> scratch(after);
    for (int p = 0; p < model.planes(); ++p) {
        float* plane = model.plane(p);
        parallel_for(after, 4096, [&](std::size_t i) { scratch[i] = plane[rows.source[i]]; });
        parallel_for(after, 4096, [&](std::size_t i) { plane[i] = scratch[i]; });
    }
    model.count = after;
    const GaussianModel padding(0, model.sh_degree);
    for (int p = 0; p < model.planes(); ++p)
        if (before > after)
            std::fill(model.plane(p) + after, model.plane(p) + before, padding.at(p, 0));
    std::vector<std::uint8_t> keeps(after);
    std::transform(rows.origin.begin(), rows.origin.end(), keeps.begin(),
                   [](Origin o) { return keeps_moments(o) ? 1 : 0; });
    adam.rearrange(model, rows.source, keeps);
    identity.tags.fill(0u);
    std::copy(rows.tag.begin(), rows.tag.end(), identity.tags.begin());
}

}  // namespace gs
