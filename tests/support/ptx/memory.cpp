#include "tests/support/ptx/memory.h"

#include <algorithm>

#include "base/check.h"

namespace gs::ptx {

void Memory::add(Region region) {
    CHECK(region.written.empty() || region.written.size() == region.bytes.size(),
          "a mark for each byte");
    const auto after = std::upper_bound(
        regions_.begin(), regions_.end(), region.address,
        [](std::uint64_t address, const Region& r) { return address < r.address; });
    CHECK(after == regions_.end() || region.address + region.bytes.size() <= after->address,
          "regions overlap");
    CHECK(after == regions_.begin() ||
              std::prev(after)->address + std::prev(after)->bytes.size() <= region.address,
          "regions overlap");
    regions_.insert(after, std::move(region));
    last_ = 0;
}

const Region* Memory::near(std::uint64_t address) const {
    const auto after =
        std::upper_bound(regions_.begin(), regions_.end(), address,
                         [](std::uint64_t wanted, const Region& r) { return wanted < r.address; });
    return after == regions_.begin() ? nullptr : &*std::prev(after);
}

Region* Memory::find(std::uint64_t address, std::size_t count) {
    if (last_ < regions_.size() && regions_[last_].holds(address, count)) return &regions_[last_];
    const Region* region = near(address);
    if (region == nullptr || !region->holds(address, count)) return nullptr;
    last_ = static_cast<std::size_t>(region - regions_.data());
    return &regions_[last_];
}

}  // namespace gs::ptx
