// Which Gaussians a writer writes, and in which order. Used by the formats that quantise.
#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

#include "renderer/io/splats/splat_io.h"

namespace gs {

using SplatRows = std::vector<std::uint32_t>;

inline constexpr const char* kNotFiniteNote = "values that are NaN or infinite";
/// A line in the notes, which ends with kNotFiniteNote, when there are NaN or infinite values
/// (other than opacity logits, where infinity has a meaning).
void note_not_finite(const GaussianModel& model, SplatNotes& notes);
/// Rows that mean something: no NaN, no infinite position, rotation, colour or size. Infinite
/// opacity logits and sizes of zero (-infinity) do. What is left out is counted in the notes.
SplatRows drawable_rows(const GaussianModel& model, SplatNotes& notes);
/// Along a Morton curve through the means, so that neighbours in the file are neighbours in space.
/// Stable.
void sort_along_curve(const GaussianModel& model, SplatRows& rows);
/// Largest volume times opacity first, as the original .splat converter does. Stable.
void sort_by_importance(const GaussianModel& model, SplatRows& rows);

/// Counts values that did not fit, from many threads.
class Tally {
  public:
    void add(std::size_t n) { count_ += n; }
    std::size_t count() const { return count_; }

  private:
    std::atomic<std::size_t> count_{0};
};
/// 1234567 -> "1,234,567".
std::string grouped(std::size_t n);

}  // namespace gs
