#include "trainer/lidar/lidar_beams.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/log.h"
#include "base/rng.h"

namespace gs {
namespace {

constexpr std::uint64_t kBeamStream = 0xBEA3000000000000ull;  // apart from other users of the seed
constexpr std::size_t kMostKept = std::size_t{512} << 20;  // bytes of sweeps; more are read again
constexpr std::uint32_t kGroup = 4;  // columns that are taken together, one of them held out

}  // namespace

LidarBeams::LidarBeams(std::vector<std::string> paths, Vec3d origin)
    : paths_(std::move(paths)), origin_(origin) {}

std::shared_ptr<const LidarBeams::Sweep> LidarBeams::sweep(std::size_t index) {
    if (useless_[index] != 0 || kept_[index]) return kept_[index];
    const auto [recording, number] = sweeps_[index];
    const LidarLog& log = logs_[recording];
    auto read = log.read(number);
    if (!read) {
        useless_[index] = 1;
        log_warning("sweep {} is not used for training: {}", log.sweeps[number].name,
                    read.error().text());
        return nullptr;
    }
    auto out = std::make_shared<Sweep>();
    out->time = read->time;
    std::copy_if(read->beams.begin(), read->beams.end(), std::back_inserter(out->beams),
                 [](const LidarBeam& beam) { return beam.hit() && !held_out(beam); });
    out->beams.shrink_to_fit();
    const std::size_t bytes = out->beams.size() * sizeof(LidarBeam);
    if (bytes_ + bytes <= kMostKept) {
        bytes_ += bytes;
        kept_[index] = out;
    }
    return out;
}

bool LidarBeams::open() {
    for (const std::string& path : std::exchange(paths_, {})) {
        auto log = open_lidar_log(path, origin_);
        if (!log || log->sweeps.empty()) {
            log_warning("the lidar is not used for training: {}",
                        log ? path + " has no sweeps" : log.error().text());
            continue;
        }
        for (std::size_t i = 0; i < log->sweeps.size(); ++i) sweeps_.emplace_back(logs_.size(), i);
        logs_.push_back(std::move(*log));
    }
    kept_.resize(sweeps_.size());
    useless_.resize(sweeps_.size());
    return !sweeps_.empty();
}

std::shared_ptr<const BeamPlan> LidarBeams::plan(const TrainingSettings& settings,
                                                 std::uint64_t step) {
    CHECK(!sweeps_.empty(), "beams of a lidar that was not opened");
    const auto seed = static_cast<std::uint64_t>(settings.seed), stream = kBeamStream + step;
    const std::size_t index = random_bits(seed, stream, 0) % sweeps_.size();
    const auto from = sweep(index);
    if (!from || from->beams.empty()) return nullptr;
    const Trajectory& world_from_sensor = logs_[sweeps_[index].first].world_from_sensor;
    const auto share =
        static_cast<float>(settings.lidar_beams / static_cast<double>(from->beams.size()));
    const std::optional<ClipBox> crop = crop_of(settings);
    auto out = std::make_shared<BeamPlan>();
    for (const LidarBeam& beam : from->beams) {
        if (random_uniform(seed, stream, 1 + beam.column / kGroup) >= share) continue;
        const Pose pose = world_from_sensor.at(from->time + static_cast<double>(beam.time));
        const CameraRay ray = world_ray(beam, pose);
        const double range = static_cast<double>(beam.range);
        if (crop && !crop->holds(ray.origin + range * ray.direction)) continue;
        out->rays.push_back(ray);
        out->ranges.push_back(beam.range);
    }
    if (out->rays.empty()) return nullptr;
    const Pose middle = world_from_sensor.at(from->time);
    out->sensor_from_world = inverse_of(middle);
    out->place = middle.translation;
    out->weight = settings.lidar_weight * settings.lidar_every;
    return out;
}

}  // namespace gs
