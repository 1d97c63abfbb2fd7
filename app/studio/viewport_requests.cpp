#include "app/studio/viewport_requests.h"

#include <array>
#include <tuple>

#include "app/session/engine.h"
#include "app/session/parts/contact_sheet.h"
#include "base/seconds.h"

namespace gs {
namespace {

// ---- the parts of a request that decide the picture: a change of them requests a new one

auto clip_key(const ClipBox& box) {
    return std::array{box.lo.x, box.lo.y, box.lo.z, box.hi.x, box.hi.y, box.hi.z};
}
auto color_key(const ColorBy& c) {
    return std::tuple(c.value, c.map, c.automatic, c.lo, c.hi, c.filter);
}
auto pose_key(const Mat3d& r, Vec3d t) {
    const auto& m = r.m;
    return std::array{m[0][0], m[0][1], m[0][2], m[1][0], m[1][1], m[1][2],
                      m[2][0], m[2][1], m[2][2], t.x,     t.y,     t.z};
}
auto camera_key(const Camera& c) {
    const bool rolling = c.rolling();
    return std::tuple(
        c.model, c.width, c.height, std::array{c.fx, c.fy, c.cx, c.cy}, c.distortion,
        pose_key(c.rotation, c.translation), c.shutter,
        pose_key(rolling ? c.first.rotation : Mat3d{}, rolling ? c.first.translation : Vec3d{}),
        pose_key(rolling ? c.last.rotation : Mat3d{}, rolling ? c.last.translation : Vec3d{}));
}
/// The parts of a request that decide the picture.
auto picture_key(const ViewRequest& r) {
    const ViewSettings& v = r.settings;
    return std::tuple(camera_key(r.camera), v.mode, v.style, v.photo_look, v.shutter, v.projection,
                      v.colormap, v.range, v.range_lo, v.range_hi, v.percentile, v.logarithmic,
                      v.capture_view, v.sh_degree, v.fast, v.exact, v.scale_modifier,
                      v.viewer_budget, v.lod_budget, v.lod_memory, v.lod_pixels, v.lod_level,
                      v.level_colors, v.sky, color_key(v.color_by), v.point_size,
                      v.compare != Compare::off, v.with, v.swapped, v.signed_error,
                      std::array{v.background.x, v.background.y, v.background.z}, v.near_plane,
                      v.clip.has_value(), clip_key(v.clip.value_or(ClipBox{})));
}

bool same_picture(const ViewRequest& a, const ViewRequest& b) {
    return picture_key(a) == picture_key(b);
}

/// Compares the size as well.
bool same_pose(const Camera& a, const Camera& b) {
    ViewRequest from_a, from_b;
    from_a.camera = a;
    from_b.camera = b;
    return same_picture(from_a, from_b);
}

constexpr double kSettleSeconds = 0.15;  // the camera rests when it has not moved for this long

}  // namespace

void ViewportRequests::ask_sheet(Session& session, const SheetRequest& wanted) {
    if (wanted == sheet_wanted_) return;
    if (session.send([wanted](Engine& engine) { engine.part<ContactSheet>().want(wanted); }) != 0)
        sheet_wanted_ = wanted;
}

void ViewportRequests::follow(StudioState& state, bool visible, bool scripted) {
    ViewRequest request = view_request_of(state, state.width, state.height);
    // Hidden pictures are not drawn: a request without pixels stops the engine's pictures.
    if (!visible) request.camera.width = request.camera.height = 0;
    const bool changed = !sent_any_ || !same_picture(request, sent_);
    if (changed && sent_any_ && !same_pose(request.camera, sent_.camera) &&
        request.settings.capture_view < 0 && !scripted)
        last_move_ = Clock::now();
    request.moving = seconds_since(last_move_) < kSettleSeconds;
    if (!changed && request.moving == sent_.moving) return;
    request.serial = ++state.request_serial;
    sent_ = request;
    sent_any_ = true;
    state.session.request_view(std::move(request));
}

}  // namespace gs
