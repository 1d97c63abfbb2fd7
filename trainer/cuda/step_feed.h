// StepFeed: the way of a step's numbers to the device: a ring of page-locked records, each with the
// rows of the optimizer's table that changed, and one copy a step. Owned by StepEngine.
#pragma once

#include <cstddef>
#include <vector>

#include "renderer/device/cuda/runtime.h"
#include "trainer/adam/adam_tables.h"
#include "trainer/cuda/step_records.h"

namespace gs::cuda {

class StepFeed {
  public:
    explicit StepFeed(const Stream& stream) : stream_(stream) {}
    /// Reserves space for `table_rows` rows with a record.
    void start(std::size_t table_rows);
    /// Everything of the table is sent with the next record.
    void send_all_next() { sent_base_ = ~0u; }

    /// The device has the tables of this clock.
    bool current(const AdamClock& clock) const {
        return sent_base_ == clock.base && sent_steps_ == clock.steps;
    }

    /// A record to fill in. Waits until a slot is free, which it is unless more than kSlots are
    /// under way.
    StepInputs& open();
    /// Adds clock and table, enqueues the copy.
    void send(const AdamClock& clock, const AdamTables& tables);

    const StepInputs* inputs() const {
        return reinterpret_cast<const StepInputs*>(staging_.data());
    }
    const float* rows() const { return reinterpret_cast<const float*>(staging_.data() + kRowsAt); }

  private:
    static constexpr std::size_t kSlots = 8;
    static constexpr std::size_t kRowsAt = (sizeof(StepInputs) + 255) / 256 * 256;
    std::byte* slot() { return ring_[0].data() + current_ * slot_bytes_; }

    const Stream& stream_;
    std::size_t slot_bytes_ = 0, current_ = 0;
    std::vector<PinnedBuffer<std::byte>> ring_;  ///< one piece of kSlots slots
    std::vector<Event> sent_;                    ///< by slot
    DeviceBuffer<std::byte> staging_{"numbers of a step"};
    std::uint32_t sent_base_ = ~0u, sent_steps_ = 0;  ///< the table as the device has it
};

}  // namespace gs::cuda
