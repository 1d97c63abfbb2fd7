#include "tests/support/ptx/shared.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "tests/support/ptx/warp.h"

namespace gs::ptx {
namespace {

std::string name_of(const Program& program, std::uint64_t address) {
    const std::size_t array = static_cast<std::size_t>(address >> kArrayShift);
    if (array == 0 || array > program.shared.size()) return fmt::format("address {:#x}", address);
    const Array& a = program.shared[array - 1];
    // The last part of a mangled name: what the source calls it.
    std::size_t digits = a.name.size();
    while (digits > 0 && std::isdigit(static_cast<unsigned char>(a.name[digits - 1])) == 0) {
        --digits;
    }
    const std::string name = digits > 0 && digits < a.name.size() ? a.name.substr(digits) : a.name;
    return fmt::format("{}, byte {}", name, static_cast<std::int64_t>(address - a.address));
}

}  // namespace

SharedMemory::SharedMemory(const Program& program)
    : program_(program),
      granule_(static_cast<std::size_t>(program.shared_granule)),
      storage_((program.shared_bytes + 15) / 16 * 16),
      cells_(storage_.size() / granule_) {}

std::byte* SharedMemory::access(Warp& warp, int lane, std::uint64_t address, std::size_t bytes,
                                Access kind, const std::byte* value, bool several) {
    const std::uint64_t number = address >> kArrayShift;
    const Array* array = number >= 1 && number <= program_.shared.size()
                             ? &program_.shared[static_cast<std::size_t>(number) - 1]
                             : nullptr;
    if (array == nullptr || address < array->address ||
        address - array->address + bytes > array->bytes) {
        warp.fault(
            FaultKind::out_of_bounds, lane,
            fmt::format("{} bytes of shared memory at {}", bytes, name_of(program_, address)));
        return nullptr;
    }
    if (address % bytes != 0) {
        warp.fault(
            FaultKind::misaligned, lane,
            fmt::format("{} bytes of shared memory at {}", bytes, name_of(program_, address)));
        return nullptr;
    }
    std::byte* at = storage_.data() + array->at + (address - array->address);
    const std::size_t first = cell_of(at);
    for (std::size_t n = 0; n < (bytes + granule_ - 1) / granule_; ++n) {
        Cell& cell = cells_[first + n];
        if (kind == Access::read) {
            check_read(warp, lane, cell, address + n * granule_, several);
        } else {
            const bool changes =
                value == nullptr || std::memcmp(at + n * granule_, value + n * granule_,
                                                std::min(granule_, bytes)) != 0;
            check_write(warp, lane, cell, address + n * granule_, kind, changes);
        }
    }
    return at;
}

void SharedMemory::check_read(Warp& warp, int lane, Cell& cell, std::uint64_t address,
                              bool several) const {
    const auto thread = static_cast<std::int16_t>(warp.thread(lane));
    const auto all_of_warp = static_cast<std::int16_t>(kLanesOf - warp.index);
    if (cell.write_interval == interval_ && (cell.writer != thread || several)) {
        const bool same_warp = cell.writer / kLanes == warp.index;
        if (!same_warp || cell.write_stamp == warp.stamp) {
            warp.fault(FaultKind::shared_race, lane,
                       fmt::format("reads {}, which thread {} wrote with no barrier between",
                                   name_of(program_, address), cell.writer));
        }
    }
    const bool mine =
        cell.reader == all_of_warp || (cell.reader >= 0 && cell.reader / kLanes == warp.index);
    if (cell.read_interval != interval_ || (mine && cell.read_stamp != warp.stamp)) {
        cell.read_interval = interval_;
        cell.read_stamp = warp.stamp;
        cell.reader = several ? all_of_warp : thread;
    } else if (mine) {
        if (several || cell.reader != thread) cell.reader = all_of_warp;
    } else {
        cell.reader = kWarps;
    }
}

void SharedMemory::check_write(Warp& warp, int lane, Cell& cell, std::uint64_t address, Access kind,
                               bool changes) const {
    const auto thread = static_cast<std::int16_t>(warp.thread(lane));
    if (cell.read_interval == interval_ && cell.reader != thread) {
        const bool mine = cell.reader == kLanesOf - warp.index ||
                          (cell.reader >= 0 && cell.reader / kLanes == warp.index);
        if (!mine || cell.read_stamp == warp.stamp) {
            warp.fault(FaultKind::shared_race, lane,
                       fmt::format("writes {}, which {} read with no barrier between",
                                   name_of(program_, address),
                                   cell.reader >= 0        ? fmt::format("thread {}", cell.reader)
                                   : cell.reader == kWarps ? std::string("other warps")
                                                           : std::string("other lanes")));
        }
    }
    if (cell.write_interval == interval_ && cell.writer != thread && changes) {
        const bool same_warp = cell.writer / kLanes == warp.index;
        const bool both_atomic =
            kind == Access::atomic && (same_warp ? cell.lanes_atomic : cell.by_atomic);
        if (!both_atomic && (!same_warp || cell.write_stamp == warp.stamp)) {
            warp.fault(FaultKind::shared_race, lane,
                       fmt::format("writes {}, as thread {} did with no barrier between",
                                   name_of(program_, address), cell.writer));
        }
    }
    // Atomic as long as all of this interval's writes were; for the warp's own lanes, all that no
    // barrier of the warp orders before this one.
    const bool first = cell.write_interval != interval_,
               ordered =
                   first || (cell.writer / kLanes == warp.index && cell.write_stamp != warp.stamp);
    cell.by_atomic = kind == Access::atomic && (first || cell.by_atomic);
    cell.lanes_atomic = kind == Access::atomic && (ordered || cell.lanes_atomic);
    cell.write_interval = interval_;
    cell.write_stamp = warp.stamp;
    cell.writer = thread;
}

bool SharedMemory::written(const std::byte* at, std::size_t bytes) const {
    const std::size_t first = cell_of(at);
    for (std::size_t n = 0; n < (bytes + granule_ - 1) / granule_; ++n) {
        if (cells_[first + n].written_in != block_) return false;
    }
    return true;
}

void SharedMemory::set_written(const std::byte* at, std::size_t bytes, bool written) {
    const std::size_t first = cell_of(at);
    for (std::size_t n = 0; n < (bytes + granule_ - 1) / granule_; ++n) {
        cells_[first + n].written_in = written ? block_ : 0;
    }
}

BankPasses bank_passes(const std::uint64_t* addresses, std::uint32_t mask, std::size_t bytes) {
    constexpr std::size_t kBanks = 32, kMost = kLanes * 4;
    std::array<std::uint8_t, kBanks> load{};
    std::array<std::array<std::uint64_t, kMost>, kBanks> words;  // of each bank, each once
    int most = 0, count = 0;
    for_lanes(mask, [&](int lane) {
        const std::uint64_t first = addresses[lane] / 4;
        const std::uint64_t last = (addresses[lane] + bytes - 1) / 4;
        for (std::uint64_t word = first; word <= last; ++word) {
            auto& here = words[word % kBanks];
            std::uint8_t& known = load[word % kBanks];
            if (std::find(here.begin(), here.begin() + known, word) != here.begin() + known) {
                continue;
            }
            here[known++] = word;
            most = std::max<int>(most, known);
            ++count;
        }
    });
    return {most, (count + static_cast<int>(kBanks) - 1) / static_cast<int>(kBanks)};
}

}  // namespace gs::ptx
