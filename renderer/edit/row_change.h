// RowChange: a change of some rows of a model that can be done, undone and redone. It holds
// what those rows have on the other side of the change, and nothing of the others. Made by the
// editor, kept in its history.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "renderer/edit/flags.h"
#include "renderer/scene/crop.h"

namespace gs {

/// Of `wanted` ids the rows that have them now, by `ids` of all rows; kNoSuchRow: none has.
inline constexpr std::uint32_t kNoSuchRow = ~std::uint32_t{0};
std::vector<std::uint32_t> rows_of_ids(std::span<const std::uint32_t> wanted,
                                       std::span<const std::uint32_t> ids);

/// Where rows move between a change and the one back, as those of a training run do, their ids say
/// which they are: name_rows() when the change was made, find_rows() before each that follows.
class RowChange {
  public:
    /// Nothing changes.
    RowChange() = default;
    /// These rows get other values in planes first .. first + planes - 1: `after` has them there,
    /// one row after the other.
    static RowChange values(std::vector<std::uint32_t> rows, const GaussianModel& after, int first,
                            int planes);
    /// With the values: another sky.
    void with_sky(const Sky& sky) { sky_ = sky; }
    /// These rows go. `rows` ascending.
    static RowChange removal(std::vector<std::uint32_t> rows);
    /// `added` comes behind the last of `count` rows, each with `flags`.
    static RowChange addition(std::size_t count, GaussianModel added, std::uint8_t flags);

    /// Makes the change, or takes it back when it is made: `model` and its flags are as they were
    /// on the other side. Parallel.
    void toggle(GaussianModel& model, Flags& flags);

    bool any() const { return kind_ != Kind::nothing; }
    /// Rows come or go: others have other numbers after it.
    bool moves_rows() const { return kind_ == Kind::presence; }
    const std::vector<std::uint32_t>& rows() const { return rows_; }
    /// moves_rows(): the rows are in the model.
    bool present() const { return present_; }
    /// Of an addition that was never made: what is added.
    GaussianModel added(int sh_degree) const;
    /// Somebody else has put the rows in, or taken them out and keeps what they were.
    void set_present(bool present);
    /// They were named, even where none of them is left.
    bool named() const { return named_; }
    void name_rows(std::span<const std::uint32_t> ids);
    /// Removed rows are skipped from now on.
    void find_rows(std::span<const std::uint32_t> ids);
    std::uint64_t bytes() const;

  private:
    enum class Kind { nothing, values, presence };
    void take_out(GaussianModel& model, Flags& flags);
    void put_in(GaussianModel& model, Flags& flags);

    Kind kind_ = Kind::nothing;
    std::vector<std::uint32_t> rows_;  // of the model that has them
    std::vector<std::uint32_t> ids_;   // of these rows, where they were named
    int first_plane_ = 0, planes_ = 0;
    std::vector<float> values_;  // [planes_][rows]: of the other side; none while rows are present
    Flags flags_;                // of rows that are out
    bool present_ = false;       // presence: the rows are in the model
    bool named_ = false;
    std::optional<Sky> sky_;  // of the other side
};

/// Which flags differ, as what has to be turned over in either direction.
class FlagChange {
  public:
    FlagChange() = default;
    FlagChange(const Flags& before, const Flags& after);
    void toggle(Flags& flags) const;
    std::uint64_t count() const { return rows_.size(); }
    void name_rows(std::span<const std::uint32_t> ids);
    void find_rows(std::span<const std::uint32_t> ids);
    std::uint64_t bytes() const { return rows_.capacity() * 4 + bits_.capacity(); }

  private:
    std::vector<std::uint32_t> rows_, ids_;
    std::vector<std::uint8_t> bits_;
};

}  // namespace gs
