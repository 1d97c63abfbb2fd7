#include "trainer/cuda/step_feed.h"

#include <algorithm>

namespace gs::cuda {

void StepFeed::start(std::size_t table_rows) {
    if (!ring_.empty()) stream_.synchronize();  // copies may still read the records
    slot_bytes_ = kRowsAt + (table_rows * kPendingColumns * sizeof(float) + 255) / 256 * 256;
    ring_.clear();
    ring_.emplace_back(kSlots * slot_bytes_, "numbers of steps");
    sent_.clear();
    for (std::size_t i = 0; i < kSlots; ++i)
        sent_.emplace_back(Event::Timing::off, Event::Waiting::sleeps);
    staging_.resize_discard(slot_bytes_, stream_);
    current_ = 0;
    send_all_next();
}

StepInputs& StepFeed::open() {
    current_ = (current_ + 1) % kSlots;
    sent_[current_].wait();
    StepInputs& in = *reinterpret_cast<StepInputs*>(slot());
    in = StepInputs{};
    return in;
}

void StepFeed::send(const AdamClock& clock, const AdamTables& tables) {
    StepInputs& in = *reinterpret_cast<StepInputs*>(slot());
    const auto entries = static_cast<std::uint32_t>(clock.pending[0].size());
    // A step changes the last kLiveEntries rows and adds one; what the device has missed is more
    // than that.
    const bool follows = sent_base_ == clock.base && sent_steps_ <= clock.steps;
    const std::uint32_t live =
        static_cast<std::uint32_t>(AdamTables::kLiveEntries) + (clock.steps - sent_steps_);
    in.first_row = follows ? entries - std::min(entries, live) : 0;
    in.rows = entries - in.first_row;
    CHECK(kRowsAt + in.rows * kPendingColumns * sizeof(float) <= slot_bytes_, "{} rows", in.rows);
    float* rows = reinterpret_cast<float*>(slot() + kRowsAt);
    for (std::uint32_t i = 0; i < in.rows; ++i)
        for (std::size_t g = 0; g < kPendingColumns; ++g)
            rows[i * kPendingColumns + g] =
                g < kLearningGroups ? tables.pending(g)[in.first_row + i] : 0.0f;
    in.clock = {clock.base, clock.steps, clock.planes, 0};
    sent_base_ = clock.base;
    sent_steps_ = clock.steps;
    copy_to_device(staging_.data(), slot(), kRowsAt + in.rows * kPendingColumns * sizeof(float),
                   stream_);
    sent_[current_].record(stream_);
}

}  // namespace gs::cuda
