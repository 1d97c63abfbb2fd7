// The confidence of a mean difference when its replicates are few and come in groups. The lab
// trains with a handful of seeds on each scene: photos of one run are not independent, runs of one
// seed pair are one observation, and scenes differ in their spread over seeds.
#pragma once

#include <span>
#include <vector>

namespace gs::lab {

/// Student's t: P(|T| > t) for `freedom` > 0 degrees, which need not be whole. The integral of
/// cos^(freedom - 1) beyond atan(t / sqrt(freedom)), by Simpson's rule; to about 1e-6.
double two_sided_p(double t, double freedom);
/// The t that |T| exceeds with probability `chance`.
double t_beyond(double chance, double freedom);

struct Interval {
    double mean = 0;           ///< over groups, each counting the same
    double low = 0, high = 0;  ///< 95 %; NaN where it cannot be had
    double p = 1;              ///< that a difference as large comes by chance; NaN as above
    double freedom = 0;
    std::size_t groups = 0, replicates = 0;
    bool known() const { return freedom > 0; }
};
/// The mean over groups (scenes) of the means over their replicates (seeds), stratified: scenes are
/// those of the suite, not a sample of all there are, so only replicates vary. The variance of the
/// mean is the sum of the variances of the groups' means over groups^2, its degrees of freedom are
/// Satterthwaite's ("An approximate distribution of estimates of variance components", Biometrics
/// Bulletin 2, 1946). A group of one replicate beside groups of several takes their pooled
/// variance. Where no group has two the groups' means are the replicates, and the interval is about
/// scenes such as these; with one group then, none can be had. Where nothing varies (the same bits)
/// the interval has no width, and p is 1 for a mean of 0, else 0.
Interval interval_of(std::span<const std::vector<double>> groups);

/// Holm's adjusted p of each, in order; NaN stays.
std::vector<double> holm(std::span<const double> p);

}  // namespace gs::lab
