// What the doctor looks at in each Gaussian: shared by examine() (splats.cpp) and fix()
// (fix.cpp), so that both mean the same by it.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "base/nth.h"
#include "renderer/doctor/doctor.h"
#include "renderer/io/files/meter.h"

namespace gs::doctor {

/// Bits of a row. The first six are values that are NaN or infinite; a row with one of them is not
/// judged further.
enum RowFault : unsigned {
    bad_position,
    bad_size,
    bad_rotation,
    bad_opacity,
    bad_color,
    bad_harmonics,
    zero_rotation,
    zero_size,
    huge_size,
    outlier,
    needle,
    blob,
    invisible,
    kRowFaults
};
inline constexpr unsigned kNotFinite = (1u << zero_rotation) - 1;

enum class Repair { none, remove, normalise, raise_sizes };
struct RowRule {
    const char* id;
    Severity severity;
    const char* what;  ///< after the count
    const char* consequence;
    const char* advice;
    Repair repair;
    const char* repaired;  ///< after the count
};
const std::array<RowRule, kRowFaults>& row_rules();

/// The box of 99.9 % of the finite means that lie near the middle of all (rows_of_crowd()), from a
/// sample of rows; of the sample at least one is cut at each side.
struct SceneBox {
    Vec3f lo{}, hi{};
    double extent = 0;  ///< longest side; 0: fewer than two places, nothing is judged by size
};
SceneBox scene_box(const GaussianModel& model);

struct FaultTally {
    std::uint64_t count = 0;
    std::vector<std::size_t> rows;  ///< the first ones
};
struct RowScan {
    SceneBox box;
    std::array<FaultTally, kRowFaults> faults;
    int used_degree = 0;  ///< highest degree with a coefficient that is not zero
    double isects = 0;    ///< of a picture that the box fills
};
/// `row_faults`, where given, gets the bits of every row. `meter` counts each row; once it is
/// cancelled, what is returned means nothing.
RowScan scan_rows(const GaussianModel& model, int width, int height,
                  std::vector<std::uint16_t>* row_faults, Meter& meter);

/// Rows with a mean that an earlier row has, to the bit. Not finite means are left out.
struct Repeats {
    std::vector<std::uint32_t> copies;  ///< every parameter is that of an earlier row; ascending
    std::vector<std::uint32_t> places;  ///< only the mean is; ascending
};
/// `meter` counts each row twice; see scan_rows().
Repeats find_repeats(const GaussianModel& model, Meter& meter);
/// What both add to a meter, a row.
inline constexpr std::size_t kScanMarks = 1, kRepeatMarks = 2;

/// Below this a logarithm gives a size of zero.
inline constexpr float kSmallestLogScale = -87.0f;
inline constexpr float kRaisedLogScale =
    -30.0f;                               ///< e^-30 = 9e-14: still nothing to see, but a number
inline constexpr double kHugeSize = 1e3;  ///< standard deviations, in extents
inline constexpr double kBlobSize = 0.1;
inline constexpr double kNeedleRatio = 100;  ///< longest over middle axis
inline constexpr double kOutlierReach = 10;  ///< extents away from the box

}  // namespace gs::doctor
