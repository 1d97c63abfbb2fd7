// meta.json of SOG, both versions, as tables: what each byte of each image stands for. Source:
// PlayCanvas' format. Version 1 spreads a byte evenly between bounds; version 2 looks it up in a
// codebook. Read by sog_read.cpp.
#pragma once

#include <array>
#include <string>

#include "base/vec.h"
#include "renderer/io/files/file_set.h"
#include "renderer/scene/trained_through.h"

namespace gs {

using ByteTable = std::array<float, 256>;
inline constexpr std::size_t kSogPaletteColumns =
    64;  ///< entries of the palette in a row of its image
inline constexpr std::size_t kSogLargestPalette = 65536;  ///< labels have 16 bits
inline constexpr std::uint8_t kSogFirstQuatTag =
    252;  ///< alpha of a rotation: 252 + its largest component (w x y z)

inline constexpr std::size_t kSogLongestSide = 16383;  ///< pixels of a WebP image

struct SogMeta {
    int version = 2;
    std::size_t count = 0;
    bool antialiased = false;
    TrainedThrough trained;               ///< of files of ours
    Vec3d origin{};                       ///< of files of ours: GaussianModel::origin
    std::array<float, 3> mins{}, maxs{};  ///< of sign(x) ln(1 + |x|)
    std::array<std::string, 2> means_files;
    std::string quats_file, scales_file, sh0_file;
    std::array<ByteTable, 3> scales{};
    std::array<ByteTable, 4> sh0{};  ///< red, green, blue, opacity logit
    bool has_shn = false;
    int bands = 0;                 ///< version 1: 0, known from the width of the palette
    std::size_t palette_size = 0;  ///< version 1: 0, known from the size of the palette
    ByteTable shn{};
    std::string centroids_file, labels_file;
};

/// Errors: malformed (what is missing or no number), more Gaussians than the files can hold.
Result<SogMeta> read_sog_meta(const FileSet& files, const std::string& meta_name);

}  // namespace gs
