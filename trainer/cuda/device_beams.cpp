#include "trainer/cuda/device_beams.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace gs::cuda {
namespace {

constexpr std::size_t kAligned = 256;
/// Sizes differ little from step to step; the same ones let steps be replayed.
constexpr std::uint32_t rounded(std::size_t n, std::uint32_t to) {
    return static_cast<std::uint32_t>((n + to - 1) / to * to);
}

/// Arrays one behind the other: first to see how long they are, then to fill them.
class Packer {
  public:
    explicit Packer(std::byte* host = nullptr, const std::byte* device = nullptr)
        : host_(host), device_(device) {}
    /// Where they will be on the device.
    template <class T>
    const T* add(const T* from, std::size_t count) {
        const std::size_t at = bytes_;
        bytes_ += (count * sizeof(T) + kAligned - 1) / kAligned * kAligned;
        if (host_ == nullptr) return nullptr;
        std::copy_n(from, count, reinterpret_cast<T*>(host_ + at));
        return reinterpret_cast<const T*>(device_ + at);
    }
    std::size_t bytes() const { return bytes_; }

  private:
    std::byte* host_;
    const std::byte* device_;
    std::size_t bytes_ = (sizeof(BeamInputs) + kAligned - 1) / kAligned * kAligned;
};
BeamInputs pack(const BeamPlan& plan, const RayTiles& tiles, const std::vector<float>& measured,
                Packer& to) {
    BeamInputs out;
    out.places = RayPlaces(tiles);
    out.places.bins = to.add(tiles.bins().data(), tiles.bins().size());
    out.places.tiles = to.add(tiles.tiles().data(), tiles.tiles().size());
    out.direction_off = to.add(tiles.direction_off().data(), 3 * tiles.slots());
    out.origin_off = to.add(tiles.origin_off().data(), 3 * tiles.slots());
    out.measured = to.add(measured.data(), measured.size());
    out.place = plan.place;
    out.tiles = static_cast<std::uint32_t>(tiles.tiles().size());
    out.slots = static_cast<std::uint32_t>(tiles.slots());
    return out;
}

}  // namespace

BeamArrays DeviceBeams::send(const BeamPlan& plan, std::uint32_t views, Compatibility compatibility,
                             std::size_t rows, std::size_t slot) {
    const RayTiles tiles(plan.rays, plan.sensor_from_world);
    std::vector<float> measured(tiles.slots());
    for (std::size_t i = 0; i < measured.size(); ++i)
        if (const std::uint32_t ray = tiles.ray_of()[i]; ray != kNoRay)
            measured[i] = plan.ranges[ray];
    Packer size;
    (void)pack(plan, tiles, measured, size);
    std::vector<PinnedBuffer<std::byte>>& staging = staging_[slot];
    if (staging.empty() || staging[0].size() < size.bytes()) {
        staging.clear();
        staging.emplace_back(size.bytes() * 5 / 4, "rays");
    }
    if (rays_.size() < size.bytes()) rays_.resize_discard(size.bytes() * 5 / 4, *stream_);
    Packer packer(staging[0].data(), rays_.data());
    BeamInputs inputs = pack(plan, tiles, measured, packer);
    inputs.rules = rules_of(compatibility);
    inputs.log2_alpha_min = std::log2(inputs.rules.alpha_min);
    inputs.each = static_cast<float>(plan.weight * views / static_cast<double>(plan.rays.size()));
    std::memcpy(staging[0].data(), &inputs, sizeof inputs);
    copy_to_device(rays_.data(), staging[0].data(), packer.bytes(), *stream_);

    if (!pairs_.known()) pairs_ = Capacity(stepped(rows / 4));  // a guess
    carve({rows, std::max(sizes_.tiles, rounded(inputs.tiles, 32)),
           std::max(sizes_.slots, rounded(inputs.slots, 4096)), pairs_.now()});
    arrays_.inputs = reinterpret_cast<const BeamInputs*>(rays_.data());
    return arrays_;
}

void DeviceBeams::carve(const Sizes& sizes) {
    if (sizes == sizes_) return;
    sizes_ = {};  // also where what follows fails
    const std::size_t pairs = sizes.pairs;
    arena_.reset(
        Arena::bytes_of<std::uint32_t>(sizes.rows + 1) + Arena::bytes_of<BeamGaussian>(pairs) +
            3 * Arena::bytes_of<std::uint32_t>(pairs) + 2 * Arena::bytes_of<std::uint64_t>(pairs) +
            Arena::bytes_of<float>(kBeamSums * pairs) +
            Arena::bytes_of<std::uint32_t>(2 * std::size_t{sizes.tiles}) +
            2 * Arena::bytes_of<std::uint32_t>(sizes.slots) +
            2 * Arena::bytes_of<double>(sizes.slots) + Arena::bytes_of<BeamTotals>(1),
        *stream_);
    primitives_.reserve(pairs, std::max<std::size_t>(sizes.rows + 1, sizes.slots), *stream_);
    arrays_ = {.tiles = sizes.tiles, .slots = sizes.slots, .pairs = sizes.pairs};
    arrays_.first = arena_.take<std::uint32_t>(sizes.rows + 1);
    arrays_.gaussians = arena_.take<BeamGaussian>(pairs);
    arrays_.gaussian_of = arena_.take<std::uint32_t>(pairs);
    for (std::uint64_t*& keys : arrays_.keys) keys = arena_.take<std::uint64_t>(pairs);
    for (std::uint32_t*& sorted : arrays_.sorted) sorted = arena_.take<std::uint32_t>(pairs);
    arrays_.begin = arena_.take<std::uint32_t>(2 * std::size_t{sizes.tiles});
    arrays_.end = arrays_.begin + sizes.tiles;
    arrays_.through = arena_.take<float>(sizes.slots);
    arrays_.last = arena_.take<std::uint32_t>(sizes.slots);
    arrays_.sums = arena_.take<float>(kBeamSums * pairs);
    terms_.resize_discard(2 * std::size_t{sizes.slots}, *stream_);
    arrays_.off = terms_.data();
    arrays_.dark = terms_.data() + sizes.slots;
    arrays_.totals = arena_.take<BeamTotals>(1);
    sizes_ = sizes;
}

}  // namespace gs::cuda
