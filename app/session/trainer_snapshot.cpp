#include "app/session/trainer_snapshot.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <utility>
#include <vector>

#include "base/parallel.h"

namespace gs {
namespace {

using service::TrainerRecord;

constexpr std::size_t kSnapshotRows = 4096;

/// Rows of `width` floats at `offset` of a file into planes from `first` on, each number through
/// `change`. Positions move behind them.
class PlaneReader {
  public:
    PlaneReader(int memory, std::size_t rows) : memory_(memory), rows_(rows) {}

    template <class Change>
    void read(std::size_t width, float* const planes, std::size_t stride, Change&& change) {
        const std::uint64_t begin = offset_;
        parallel_ranges(rows_, kSnapshotRows, [&](std::size_t from, std::size_t to) {
            thread_local std::vector<float> buffer;
            buffer.resize(kSnapshotRows * width);
            const std::size_t bytes = (to - from) * width * sizeof(float);
            if (::pread(memory_, buffer.data(), bytes,
                        static_cast<off_t>(begin + from * width * sizeof(float))) !=
                static_cast<ssize_t>(bytes)) {
                failed_ = true;
                return;
            }
            for (std::size_t i = from; i < to; ++i)
                for (std::size_t c = 0; c < width; ++c)
                    planes[c * stride + i] = change(buffer[(i - from) * width + c]);
        });
        offset_ += rows_ * width * sizeof(float);
    }
    bool failed() const { return failed_; }

  private:
    int memory_;
    std::size_t rows_;
    std::uint64_t offset_ = 0;
    std::atomic<bool> failed_ = false;
};

float as_is(float v) { return v; }
// 0 and 1 are legal, and no infinite logarithm; NaN stays.
float log_of(float scale) { return std::log(std::max(std::abs(scale), 1e-30f)); }
float logit_of(float opacity) {
    const float within = std::clamp(opacity, 1e-12f, 1 - 1e-6f);
    return std::log(within / (1 - within));
}

}  // namespace

Result<GaussianModel> read_snapshot(const TrainerRecord& record, int memory, GivenValues& given) {
    const auto wrong = [](const std::string& what) {
        return fail(ErrorKind::malformed, "", "the training handed over " + what);
    };
    const std::uint64_t bases = record.b & 0xff, flags = record.b >> 8;
    int degree = 0;
    while (degree < 3 && static_cast<std::uint64_t>(sh_bases(degree)) < bases) ++degree;
    if (static_cast<std::uint64_t>(sh_bases(degree)) != bases)
        return wrong(fmt::format("{} bases of spherical harmonics", bases));
    const bool with[2] = {(flags & TrainerRecord::gradients) != 0,
                          (flags & TrainerRecord::second_moments) != 0};
    const std::uint64_t width = 11 + 3 * bases + (with[0] ? 1 : 0) + (with[1] ? 1 : 0);
    struct stat status {};
    // Before anything is allocated: what the memory holds bounds it.
    if (::fstat(memory, &status) != 0 || status.st_size < 0 ||
        record.a > static_cast<std::uint64_t>(status.st_size) / (width * sizeof(float)))
        return wrong(fmt::format("{} Gaussians in {} bytes", record.a, status.st_size));
    const auto rows = static_cast<std::size_t>(record.a);
    GaussianModel model = GaussianModel::to_fill(rows, degree);
    model.antialiased = (flags & TrainerRecord::antialiased) != 0;
    const bool stored = (flags & TrainerRecord::stored) != 0;
    PlaneReader reader(memory, rows);
    reader.read(3, model.plane(kMeans), model.capacity, as_is);
    reader.read(4, model.plane(kQuats), model.capacity, as_is);
    reader.read(3, model.plane(kLogScales), model.capacity, stored ? as_is : log_of);
    reader.read(1, model.plane(kOpacityLogits), model.capacity, stored ? as_is : logit_of);
    reader.read(3, model.plane(kSh0), model.capacity, as_is);
    if (bases > 1) reader.read(3 * (bases - 1), model.plane(kShRest), model.capacity, as_is);
    for (const auto& [is_there, out] :
         {std::pair(with[0], &given.gradients), std::pair(with[1], &given.second_moments)}) {
        if (!is_there) continue;
        out->resize_discard(rows);
        reader.read(1, out->data(), rows, as_is);
    }
    if (reader.failed()) return wrong("less than it said");
    return model;
}

}  // namespace gs
