// PLY files: the header, and chosen columns of one element as floats. Used for splats
// (splat_ply.cpp) and for sparse points (ply_points.cpp). Format:
// http://paulbourke.net/dataformats/ply/ (binary of either byte order, and ASCII).
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/expected.h"
#include "base/progress.h"
#include "renderer/io/files/input_file.h"
#include "renderer/scene/gaussian_model.h"
#include "renderer/scene/trained_through.h"

namespace gs {

enum class PlyType : std::uint8_t { i8, u8, i16, u16, i32, u32, f32, f64 };
enum class PlyEncoding : std::uint8_t { ascii, little_endian, big_endian };

/// Of one value.
std::uint32_t ply_type_bytes(PlyType type);

struct PlyProperty {
    std::string name;
    PlyType type = PlyType::f32;
    bool list = false;
    PlyType count_type = PlyType::u8;  ///< of a list
    std::uint32_t offset =
        0;  ///< bytes from the start of a row, in binary files without lists before it
};
struct PlyElement {
    std::string name;
    std::uint64_t count = 0;
    std::vector<PlyProperty> properties;
    std::uint32_t row_bytes = 0;  ///< binary; meaningless with lists
    bool has_list = false;

    /// Index of the property, -1 when there is none of that name.
    int find(std::string_view property) const;
};
struct PlyHeader {
    PlyEncoding encoding = PlyEncoding::ascii;
    std::vector<std::string> comments;
    std::vector<PlyElement> elements;
    std::uint64_t body_at = 0;  ///< byte where the data begins

    const PlyElement* find(std::string_view element) const;
    /// A comment "SplatRenderMode: mip" (Brush), or one that names antialiased training.
    bool says_antialiased() const;
    /// Comments of ours, "SplatProjection: ut" and "SplatLens: 110" (degrees from the axis).
    TrainedThrough trained() const;
    /// Comment of ours, "SplatOrigin: 500000 4500000 100"; nullopt: there is none.
    std::optional<Vec3d> origin() const;
    /// Comments of ours, "SplatSky: 0.1 0.2 0.3", one for each basis: red, green and blue. Empty:
    /// there are none, or they are damaged: then a line is added to `notes`.
    Sky sky(std::vector<std::string>& notes) const;
};
/// Header lines that say all of this of a file of ours; an origin and a sky only where there is
/// one.
std::string ply_comments(const GaussianModel& model, const TrainedThrough& trained);

/// The value of full red, green or blue among such columns: 1, 255 or 65535, by type and range.
/// Columns of whole numbers are never fractions, unless text gives them some; others may overshoot.
double full_ply_color(const std::array<std::span<const float>, 3>& columns, PlyType type);

/// `text` is the beginning of the file, holding the whole header. Errors: malformed, with the line.
Result<PlyHeader> parse_ply_header(std::string_view text, const std::string& path);
Result<PlyHeader> read_ply_header(const InputFile& file);

/// Where one property goes: row i to target[i], or to exact[i] where that is given. Values are
/// converted to float, or to double.
struct PlyColumn {
    int property = 0;
    float* target = nullptr;
    double* exact = nullptr;
};
/// Fails unless the file can hold the element's rows, so that callers may allocate `count` of
/// anything afterwards.
Result<void> check_ply_size(const InputFile& file, const PlyHeader& header,
                            const PlyElement& element);
/// Byte of the element's first row in a binary file. Errors: unsupported (lists before it),
/// elements before it that the file cannot hold.
Result<std::uint64_t> ply_element_offset(const InputFile& file, const PlyHeader& header,
                                         const PlyElement& element);
/// Errors: unsupported (lists before or in the element), malformed with byte or line, cancelled.
/// Binary rows are read and split into columns by all cores.
Result<void> read_ply_columns(const InputFile& file, const PlyHeader& header,
                              const PlyElement& element, std::span<const PlyColumn> columns,
                              const Progress& progress = {});

}  // namespace gs
