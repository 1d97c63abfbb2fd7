// Streamed sets of levels (lod-meta.json, as splat-transform writes them): the same scene at
// several levels of detail, cut into SOG files, and a tree whose leaves are regions that say which
// rows of which file they are at each level. read_splats() gathers one level; the studio draws each
// region at a level of its own.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "renderer/io/splats/splat_io.h"

namespace gs {

/// Rows of one of the set's files.
struct LevelPiece {
    std::uint32_t level = 0, file = 0;
    std::size_t offset = 0, count = 0;
};

struct LevelRegion {
    Vec3f lo{}, hi{};      ///< what it covers, with PLY axes
    bool bounded = false;  ///< false: the file does not say what it covers
    std::uint32_t first = 0,
                  pieces = 0;  ///< its pieces within LevelSet::pieces, at least one, finest first
    bool lies_outside(const ClipBox& box) const {
        return bounded && (hi.x < box.lo.x || hi.y < box.lo.y || hi.z < box.lo.z ||
                           lo.x > box.hi.x || lo.y > box.hi.y || lo.z > box.hi.z);
    }
};

struct LevelSet {
    fs::path path;  ///< the lod-meta.json
    std::size_t levels = 0;
    std::vector<std::string> files;  ///< names relative to its folder
    std::string environment;         ///< one more file, part of every level; empty: there is none
    std::vector<LevelRegion> regions;
    std::vector<LevelPiece> pieces;

    std::span<const LevelPiece> pieces_of(const LevelRegion& region) const {
        return std::span(pieces).subspan(region.first, region.pieces);
    }
    /// The region at `level`; where it has none, at the next coarser one, or else the coarsest it
    /// has.
    const LevelPiece& piece(const LevelRegion& region, std::size_t level) const;
    /// Gaussians of the whole scene at `level`, without the environment.
    std::uint64_t gaussians(std::size_t level) const;
};

/// What read_level_set() accepts.
inline constexpr std::uint64_t kMostLevelFiles = 1 << 16, kLargestLevelMeta = 256 << 20;
/// Errors: unreadable, malformed; levels that claim more than the files on disk can hold.
Result<LevelSet> read_level_set(const fs::path& lod_meta);
/// One of its files (or the environment), whole. Errors: of a SOG.
Result<SplatFile> read_level_file(const LevelSet& set, const std::string& name,
                                  const Progress& progress);

/// How much each level of a region differs from the finest, which comes first; `lo`, `hi`: the
/// region's box. Called as renderer/raster/measure_levels.h says.
using MeasureLevels =
    std::function<std::vector<double>(std::span<const GaussianModel> levels, Vec3d lo, Vec3d hi)>;

/// Writes a set part by part, so that it may be larger than memory. Each part is cut into regions
/// of at most region_rows() Gaussians of its finest level, along their longest side at the median;
/// its other levels follow the same cuts. Regions of a level share SOG folders "LEVEL_NUMBER"
/// beside the lod-meta.json, of some 512 Ki Gaussians. That comes last: a set whose writing was
/// interrupted is not there.
class LevelSetWriter {
  public:
    /// Before anything is written: whether a set of about so much will be read again. Errors:
    /// usage.
    static Result<void> check_size(const fs::path& lod_meta, std::uint64_t rows,
                                   std::uint64_t regions, std::uint64_t levels);
    /// Of a set of `rows`, of all levels: a 64th, but 4 Ki to 64 Ki.
    static std::size_t region_rows(std::size_t rows);
    /// `rows`: of all levels of all parts. `measure`: null where the set gets no
    /// errors. Nothing is written yet.
    LevelSetWriter(fs::path lod_meta, std::size_t levels, std::size_t rows,
                   SplatWriteOptions options, MeasureLevels measure = nullptr);
    ~LevelSetWriter();
    /// levels[0] is the finest, all of one SH degree. Writes the files that are full. Errors:
    /// unwritable, cancelled.
    Result<void> add(std::span<const GaussianModel> levels);
    /// Writes the rest. Notes are of what was lost, and of folders that stay from a set that was
    /// there before. Errors: usage (no Gaussian), unwritable, cancelled.
    Result<SplatNotes> finish();

  private:
    struct State;
    std::unique_ptr<State> state_;
};
/// A set of one part. Errors: of both.
Result<SplatNotes> write_level_set(const fs::path& lod_meta, std::span<const GaussianModel> levels,
                                   const SplatWriteOptions& options,
                                   MeasureLevels measure = nullptr);

/// Rows of one model into another one; of harmonics that `from` has not, zeros.
void copy_rows(const GaussianModel& from, std::size_t offset, std::size_t count, GaussianModel& to,
               std::size_t at);
/// Errors: malformed, when `piece` names rows that its file has not.
Result<void> check_piece(const LevelSet& set, const LevelPiece& piece, const GaussianModel& file);

}  // namespace gs
