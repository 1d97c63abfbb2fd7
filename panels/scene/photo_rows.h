// Shared by the panels about photos: which photos are listed, in which order, and which are much
// worse than the others.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "panels/state/command.h"
#include "panels/state/snapshot.h"

namespace gs {

/// The sort value of rows; NaN: not measured.
double value_of(const CameraRow& row, PhotoKey key);
/// Rows whose name contains `filter`, in order; unmeasured ones last in either direction.
std::vector<const CameraRow*> sorted_rows(const std::vector<CameraRow>& rows,
                                          std::string_view filter, bool test_only, PhotoKey key,
                                          bool descending);

/// Choices of that order; they give `command`.
void order_choice(Commands& commands, const char* command, PhotoKey key, bool descending);

/// PSNR below which a photo is an outlier among those of its split: three robust standard
/// deviations (1.4826 times the median absolute deviation; Rousseeuw and Croux 1993), and 1 dB at
/// least, under the median. -infinity with fewer than 5 measured photos.
struct PsnrOutliers {
    explicit PsnrOutliers(const std::vector<CameraRow>& rows);
    bool operator()(const CameraRow& row) const { return row.psnr < below[row.test ? 1 : 0]; }
    std::array<double, 2> below, median;  ///< dB, of training and test photos
};

/// "3.1 dB below the median of the test photos"
std::string words_of_outlier(const CameraRow& row, const PsnrOutliers& outliers);

}  // namespace gs
