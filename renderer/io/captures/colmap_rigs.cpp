// COLMAP's rigs: cameras that are fixed to each other, and the frames in which they took photos at
// once (rigs and frames as .bin or .txt, of COLMAP 3.12 and later). Layout: its
// src/colmap/scene/reconstruction_io_binary.cc and _text.cc.
#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>

#include "base/try.h"
#include "renderer/io/captures/colmap.h"
#include "renderer/io/files/byte_reader.h"
#include "renderer/io/files/text_reader.h"
#include "renderer/scene/trajectory.h"

namespace gs {
namespace {

constexpr std::int32_t kCameraSensor = 0;
constexpr double kLargestTurn = 0.1;    // degrees that a photo may be off its rig
constexpr double kLargestShare = 0.01;  // and of the rig's size

/// The words of a line, or the values of a binary file, one after the other.
class BinaryValues {
  public:
    BinaryValues(std::span<const std::byte> bytes, const std::string& path) : in_(bytes, path) {}
    std::uint64_t records() { return in_.read<std::uint64_t>(); }
    template <class T>
    T next() {
        return in_.read<T>();
    }
    std::int32_t sensor_type() { return in_.read<std::int32_t>(); }
    bool good() const { return in_.ok(); }
    bool at_end() const { return in_.remaining() == 0; }

  private:
    ByteReader in_;
};
class TextValues {
  public:
    explicit TextValues(std::string_view line) : line_(line) {}
    template <class T>
    T next() {
        // A flag of one byte is a number like the others.
        std::conditional_t<sizeof(T) == 1, std::uint32_t, T> value{};
        good_ = parse_next(line_, value) && good_;
        return static_cast<T>(value);
    }
    std::int32_t sensor_type() {
        const std::string_view word = next_word(line_);
        good_ = good_ && !word.empty();
        return word == "CAMERA" ? kCameraSensor : -1;
    }
    bool good() const { return good_; }
    bool at_end() const { return trimmed(line_).empty(); }

  private:
    std::string_view line_;
    bool good_ = true;
};

Pose next_pose(auto& in) {
    double v[7];
    for (double& x : v) x = in.template next<double>();
    return {rotation_from_quat({v[0], v[1], v[2], v[3]}), {v[4], v[5], v[6]}};
}

/// Both return false where the record ends early.
bool read_rig(auto& in, ColmapModel& model) {
    ColmapRig& rig = model.rigs[in.template next<std::uint32_t>()];
    const auto sensors = in.template next<std::uint32_t>();
    for (std::uint32_t i = 0; i < sensors && in.good(); ++i) {
        const std::int32_t type = in.sensor_type();
        const auto camera = in.template next<std::uint32_t>();
        // The first is where the rig is.
        const bool known = i == 0 || in.template next<std::uint8_t>() != 0;
        const Pose pose = i == 0 || !known ? Pose{} : next_pose(in);
        if (known && type == kCameraSensor) rig.camera_from_rig[camera] = pose;
    }
    return in.good();
}
bool read_frame(auto& in, ColmapModel& model) {
    ColmapFrame frame{.number = in.template next<std::uint32_t>(),
                      .rig = in.template next<std::uint32_t>(),
                      .rig_from_world = next_pose(in)};
    const auto photos = in.template next<std::uint32_t>();
    for (std::uint32_t i = 0; i < photos && in.good(); ++i) {
        const std::int32_t type = in.sensor_type();
        in.template next<std::uint32_t>();  // its camera, as the image has it
        const auto image = in.template next<std::uint64_t>();
        if (type == kCameraSensor) frame.images.push_back(image);
    }
    if (in.good()) model.frames.push_back(std::move(frame));
    return in.good();
}

Result<void> read_records(const fs::path& path, const auto& read_one) {
    const auto damaged = [&](const char* how) {
        return fail(ErrorKind::malformed, path.string(), how, "export the model again");
    };
    if (path.extension() == ".bin") {
        GS_TRY(const auto bytes, read_file(path));
        BinaryValues in(bytes, path.string());
        const std::uint64_t count = in.records();
        for (std::uint64_t i = 0; i < count; ++i)
            if (!read_one(in)) return damaged("ends early");
        return in.at_end() ? Result<void>() : damaged("is longer than it says");
    }
    GS_TRY(const auto text, read_text_file(path));
    LineReader lines(text);
    for (std::string_view line; lines.next(line);) {
        line = trimmed(line);
        if (line.empty() || line.front() == '#') continue;
        TextValues in(line);
        if (!read_one(in) || !in.at_end())
            return fail_at_line(path.string(), lines.number(), "is no line of this file",
                                "export the model again");
    }
    return {};
}

/// Where the rig has the photo's camera; nothing: it does not say.
std::optional<Pose> pose_by_rig(const ColmapModel& model, const ColmapFrame& frame,
                                const ColmapImage& image) {
    const auto rig = model.rigs.find(frame.rig);
    if (rig == model.rigs.end()) return {};
    const auto sensor = rig->second.camera_from_rig.find(image.camera);
    if (sensor == rig->second.camera_from_rig.end()) return {};
    const auto& [turn, move] = sensor->second;
    return Pose{turn * frame.rig_from_world.rotation,
                turn * frame.rig_from_world.translation + move};
}
Vec3d place_of(const Pose& pose) { return -(transpose(pose.rotation) * pose.translation); }
double length_of(Vec3d v) { return std::sqrt(dot(v, v)); }
/// Largest distance of a camera from the first.
double size_of(const ColmapRig& rig) {
    double out = 0;
    for (const auto& [camera, pose] : rig.camera_from_rig)
        out = std::max(out, length_of(place_of(pose)));
    return out;
}

/// Photos, as places in the model's list, by frame and camera.
using Frames = std::map<std::uint64_t, std::map<std::uint32_t, std::size_t>>;
constexpr std::uint64_t kAlone = std::uint64_t{1} << 32;  // frames of photos that have none

Pose pose_of(const ColmapImage& image) {
    return {rotation_from_quat(image.rotation), image.translation};
}

/// Cameras that a frame has in common are of one rig, which is where its first camera is.
void fill_rigs(const Frames& frames, ColmapModel& model) {
    model.rigs.clear();
    model.frames.clear();
    std::map<std::uint32_t, std::uint32_t> rig_of;
    std::map<std::uint32_t, Pose> from_rig;
    std::map<std::uint32_t, std::vector<Frames::const_iterator>> seen_in;
    for (auto frame = frames.begin(); frame != frames.end(); ++frame)
        for (const auto& [camera, image] : frame->second) seen_in[camera].push_back(frame);
    for (const auto& [camera, c] : model.cameras) {
        if (!rig_of.emplace(camera, camera).second) continue;
        from_rig[camera] = {};
        Frames linked;  // all that can be reached from it, by cameras that frames share
        for (std::vector<std::uint32_t> next{camera}; !next.empty();) {
            const std::uint32_t from = next.back();
            next.pop_back();
            for (const auto& frame : std::exchange(seen_in[from], {}))
                if (linked.insert(*frame).second)
                    for (const auto& [other, image] : frame->second) next.push_back(other);
        }
        for (bool more = true; more;) {
            more = false;
            for (const auto& [frame, photos] : linked) {
                const auto known = std::ranges::find_if(photos, [&](const auto& photo) {
                    const auto rig = rig_of.find(photo.first);
                    return rig != rig_of.end() && rig->second == camera;
                });
                if (known == photos.end()) continue;
                const Pose rig =
                    inverse_of(from_rig[known->first]) * pose_of(model.images[known->second]);
                for (const auto& [other, image] : photos) {
                    if (!rig_of.emplace(other, camera).second) continue;
                    from_rig[other] = pose_of(model.images[image]) * inverse_of(rig);
                    more = true;
                }
            }
        }
    }
    for (const auto& [camera, rig] : rig_of)
        model.rigs[rig].camera_from_rig[camera] = from_rig[camera];
    for (const auto& [frame, photos] : frames) {
        const auto& [camera, image] = *photos.begin();
        ColmapFrame& out = model.frames.emplace_back();
        out.number = static_cast<std::uint32_t>(model.frames.size());
        out.rig = rig_of[camera];
        out.rig_from_world = inverse_of(from_rig[camera]) * pose_of(model.images[image]);
        for (const auto& photo : photos) out.images.push_back(photo.second + 1);
    }
}
/// By their rigs, photos are where they are.
bool are_rigid(const ColmapModel& model) {
    constexpr double kSame = 1e-6;
    for (const ColmapFrame& frame : model.frames)
        for (const std::uint64_t number : frame.images) {
            const ColmapImage& image = model.images[number - 1];
            const Pose own = pose_of(image), by_rig = *pose_by_rig(model, frame, image);
            const Vec3d off = by_rig.translation - own.translation;
            if (!(length_of(off) <= kSame * (1 + length_of(own.translation)))) return false;
            for (int i = 0; i < 9; ++i)
                if (!(std::abs(by_rig.rotation.m[i / 3][i % 3] - own.rotation.m[i / 3][i % 3]) <=
                      kSame))
                    return false;
        }
    return true;
}

}  // namespace

Result<void> read_rigs(const fs::path& rigs, const fs::path& frames, ColmapModel& model) {
    GS_TRY_VOID(read_records(rigs, [&](auto& in) { return read_rig(in, model); }));
    return read_records(frames, [&](auto& in) { return read_frame(in, model); });
}

RigPhotos photos_of_rigs(const ColmapModel& model) {
    RigPhotos out;
    std::map<std::uint64_t, const ColmapImage*> images;
    for (const ColmapImage& image : model.images) images[image.number] = &image;
    for (const ColmapFrame& frame : model.frames) {
        if (frame.images.size() < 2) continue;
        ++out.frames;
        for (const std::uint64_t number : frame.images) {
            const auto image = images.find(number);
            if (image == images.end()) continue;
            out.frame_of_image[number] = frame.number;
            const auto pose = pose_by_rig(model, frame, *image->second);
            if (!pose) continue;
            const Pose own{rotation_from_quat(image->second->rotation), image->second->translation};
            const Mat3d turn = pose->rotation * transpose(own.rotation);
            const double cosine = 0.5 * (turn.m[0][0] + turn.m[1][1] + turn.m[2][2] - 1),
                         degrees =
                             std::acos(std::clamp(cosine, -1.0, 1.0)) * 180 / std::numbers::pi,
                         apart = length_of(place_of(*pose) - place_of(own));
            if (degrees <= kLargestTurn &&
                apart <= kLargestShare * size_of(model.rigs.at(frame.rig)) +
                             1e-6 * (1 + length_of(place_of(own))))
                continue;
            ++out.apart;
            out.degrees = std::max(out.degrees, degrees);
            out.distance = std::max(out.distance, apart);
        }
    }
    return out;
}

bool group_into_rigs(std::span<const std::optional<std::uint32_t>> frame_of_image,
                     ColmapModel& model) {
    const std::size_t photos = model.images.size();
    Frames frames;
    bool good = true;
    for (std::size_t i = 0; i < photos; ++i)
        good = frames[frame_of_image[i] ? *frame_of_image[i] : kAlone + i]
                   .emplace(model.images[i].camera, i)
                   .second &&
               good;
    if (good) fill_rigs(frames, model);
    if (good && are_rigid(model)) return true;
    frames.clear();
    for (std::size_t i = 0; i < photos; ++i) frames[i] = {{model.images[i].camera, i}};
    fill_rigs(frames, model);
    return false;
}

}  // namespace gs
