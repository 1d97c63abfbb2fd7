#include "panels/viewport/gizmos.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

#include "base/format.h"
#include "panels/widgets/theme.h"

namespace gs {
namespace {

constexpr double kInFront = 1e-3;         // of the camera: nearer is not drawn
constexpr float kArm = 5, kGrasp = 0.7F;  // em: how long arrows are, how near is on a handle
constexpr std::array<Vec3d, 3> kWorldAxes{{{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}};
constexpr std::array<const char*, 3> kWorldAxisNames{"x", "y", "z"};

ImU32 axis_color(std::size_t axis) {
    constexpr std::array kColors{IM_COL32(235, 94, 94, 255), IM_COL32(112, 200, 105, 255),
                                 IM_COL32(96, 150, 245, 255)};
    return kColors[axis];
}

double depth_of(const Camera& camera, Vec3d at) {
    return camera.depth_of(camera.rotation * at + camera.translation);
}

/// World units at this depth that are `pixels` of the frame, around the optical axis.
double units_of(const Camera& camera, double depth, double pixels) {
    return camera.orthographic() ? pixels / camera.fx : pixels * depth / camera.fx;
}

/// The mouse in pixels of the frame.
Pixel frame_pixel_at(const Camera& camera, PictureRect picture, ImVec2 mouse) {
    const double scale = camera.width / static_cast<double>(std::max(picture.width(), 1.0F));
    return {static_cast<double>(mouse.x - picture.a.x) * scale,
            static_cast<double>(mouse.y - picture.a.y) * scale};
}

void world_line(ImDrawList& list, const Camera& camera, PictureRect picture, Vec3d a, Vec3d b,
                ImU32 color, float thickness) {
    project_line(camera, a, b, kInFront, [&](const auto& line) {
        list.AddLine(on_screen(picture, camera, line[0]), on_screen(picture, camera, line[1]),
                     color, thickness);
    });
}

/// A circle around `axis` (unit), in 48 lines.
void world_circle(ImDrawList& list, const Camera& camera, PictureRect picture, Vec3d centre,
                  Vec3d axis, double radius, ImU32 color, float thickness) {
    const Vec3d other = std::abs(axis.x) < 0.5 ? Vec3d{1, 0, 0} : Vec3d{0, 1, 0};
    Vec3d u = cross(axis, other);
    u = (radius / std::sqrt(dot(u, u))) * u;
    const Vec3d v = cross(axis, u);
    constexpr int kCorners = 48;
    const auto corner = [&](int i) {
        const double angle = 2 * std::numbers::pi * i / kCorners;
        return centre + std::cos(angle) * u + std::sin(angle) * v;
    };
    for (int i = 0; i < kCorners; ++i)
        world_line(list, camera, picture, corner(i), corner(i + 1), color, thickness);
}

void world_box(ImDrawList& list, const Camera& camera, PictureRect picture, Vec3d centre,
               Vec3d half, ImU32 color) {
    const auto corner = [&](int i) {
        return centre +
               Vec3d{i & 1 ? half.x : -half.x, i & 2 ? half.y : -half.y, i & 4 ? half.z : -half.z};
    };
    for (int from = 0; from < 8; ++from)
        for (const int axis : {1, 2, 4})
            if ((from & axis) == 0)
                world_line(list, camera, picture, corner(from), corner(from | axis), color, 1.5F);
}

double& part_of(Vec3d& v, int axis) { return axis == 0 ? v.x : axis == 1 ? v.y : v.z; }

bool is_volume(Tool tool) { return tool == Tool::sphere || tool == Tool::box; }

}  // namespace

Gizmo::Body Gizmo::body_of(const Snapshot& s) {
    const ToolState& t = s.tools;
    if (t.tool == Tool::sphere) return {t.centre, {t.radius, t.radius, t.radius}, t.radius > 0};
    if (t.tool == Tool::box) return {0.5 * (t.lo + t.hi), 0.5 * (t.hi - t.lo), t.lo.x < t.hi.x};
    if (!s.selection || !s.selection->bounded) return {};
    const Vec3f lo = s.selection->lo, hi = s.selection->hi;
    const Vec3d a{lo.x, lo.y, lo.z}, b{hi.x, hi.y, hi.z};
    return {0.5 * (a + b), 0.5 * (b - a), true};
}

std::vector<Gizmo::Handle> Gizmo::handles_of(const Snapshot& s, const Body& body,
                                             PictureRect picture) {
    using Kind = Handle::Kind;
    const Camera& camera = s.frame->camera;
    const double depth = depth_of(camera, body.centre);
    if (!body.any || !(depth > kInFront)) return {};
    const Vec3d right{camera.rotation.m[0][0], camera.rotation.m[0][1], camera.rotation.m[0][2]};
    const double arm = units_of(camera, depth,
                                static_cast<double>(kArm * em()) * camera.width /
                                    static_cast<double>(std::max(picture.width(), 1.0F)));
    const ImU32 bright = theme().accent;
    std::vector<Handle> out;
    switch (s.tools.tool) {
        case Tool::sphere:
            out.push_back({Kind::plane, body.centre, {}, 0, bright});
            out.push_back({Kind::distance, body.centre + body.half.x * right, {}, 1, bright});
            break;
        case Tool::box:
            out.push_back({Kind::plane, body.centre, {}, 0, bright});
            for (int i = 0; i < 6; ++i) {
                const auto axis = static_cast<std::size_t>(i / 2);
                const Vec3d way = (i % 2 == 0 ? 1.0 : -1.0) * kWorldAxes[axis];
                out.push_back({Kind::along, body.centre + std::abs(dot(way, body.half)) * way, way,
                               1 + i, axis_color(axis)});
            }
            break;
        case Tool::move:
            for (std::size_t i = 0; i < 3; ++i)
                out.push_back({Kind::along, body.centre + arm * kWorldAxes[i], kWorldAxes[i],
                               static_cast<int>(i), axis_color(i)});
            out.push_back({Kind::plane, body.centre, {}, 3, bright});
            break;
        case Tool::rotate:
            for (std::size_t i = 0; i < 3; ++i)
                out.push_back({Kind::around, body.centre + arm * kWorldAxes[(i + 1) % 3],
                               kWorldAxes[i], static_cast<int>(i), axis_color(i)});
            break;
        case Tool::scale:
            out.push_back({Kind::distance, body.centre + arm * right, {}, 0, bright});
            break;
        default:
            break;
    }
    return out;
}

std::optional<std::size_t> Gizmo::handle_at(const std::vector<Handle>& handles,
                                            const Camera& camera, PictureRect picture) const {
    const ImVec2 mouse = ImGui::GetMousePos();
    std::optional<std::size_t> out;
    float nearest = kGrasp * em();
    for (std::size_t i = 0; i < handles.size(); ++i) {
        const auto at = project_point(camera, handles[i].at, kInFront);
        if (!at) continue;
        const ImVec2 p = on_screen(picture, camera, *at);
        const float off = std::hypot(p.x - mouse.x, p.y - mouse.y);
        if (off < nearest) nearest = off, out = i;
    }
    return out;
}

/// Moves the held handle by the mouse, relative to where it was grabbed.
void Gizmo::follow_mouse(const Snapshot& snapshot, PictureRect picture) {
    const Camera& camera = snapshot.frame->camera;
    const Pixel now = frame_pixel_at(camera, picture, ImGui::GetMousePos()),
                then = frame_pixel_at(camera, picture, grabbed_);
    const auto from = project_point(camera, held_->at, kInFront);
    if (!from) return;
    const double depth = depth_of(camera, held_->at);
    const double dx = now.x - then.x, dy = now.y - then.y;
    const auto moved = [&](double z) {
        return camera.point_at(from->x + dx, from->y + dy, z) -
               camera.point_at(from->x, from->y, z);
    };
    switch (held_->kind) {
        case Handle::Kind::plane:
            shift_ = moved(depth);
            break;
        case Handle::Kind::along: {
            // So far along the axis as its picture follows the mouse.
            const double step = units_of(camera, depth, 10);
            const auto ahead = project_point(camera, held_->at + step * held_->axis, kInFront);
            if (!ahead) return;
            const double ax = ahead->x - from->x, ay = ahead->y - from->y;
            const double square = ax * ax + ay * ay;
            if (square > 0.25) shift_ = ((dx * ax + dy * ay) / square * step) * held_->axis;
            break;
        }
        case Handle::Kind::distance: {
            const Vec3d off = held_->at + moved(depth) - start_.centre;
            value_ = std::sqrt(dot(off, off));
            break;
        }
        case Handle::Kind::around: {
            const auto middle = project_point(camera, start_.centre, kInFront);
            if (!middle) return;
            const double before = std::atan2(then.y - middle->y, then.x - middle->x),
                         after = std::atan2(now.y - middle->y, now.x - middle->x);
            // Clockwise on the screen is around an axis that points away from the eye.
            const Vec3d way =
                camera.orthographic() ? camera.forward() : start_.centre - camera.position();
            const double facing = dot(way, held_->axis) >= 0 ? 1 : -1;
            value_ = facing * std::remainder(after - before, 2 * std::numbers::pi);
            break;
        }
    }
}

/// The body as the held handle has it now.
Gizmo::Body Gizmo::dragged(const Snapshot& snapshot) const {
    Body out = start_;
    if (!held_) return out;
    const Tool tool = snapshot.tools.tool;
    if (held_->kind == Handle::Kind::plane || tool == Tool::move) {
        out.centre = start_.centre + shift_;
    } else if (tool == Tool::sphere) {
        out.half = {value_, value_, value_};
    } else if (tool == Tool::box) {
        // One face moves, but not beyond the other.
        const int axis = (held_->number - 1) / 2;
        double& half = part_of(out.half, axis);
        const double grown = std::max(dot(shift_, held_->axis), -1.98 * half);
        half += 0.5 * grown;
        out.centre = out.centre + (0.5 * grown) * held_->axis;
    } else if (tool == Tool::scale) {
        const Vec3d off = held_->at - start_.centre;
        out.half = (value_ / std::max(std::sqrt(dot(off, off)), 1e-12)) * start_.half;
    }
    return out;
}

void Gizmo::give(const Snapshot& snapshot, bool live, Commands& commands) const {
    const Body body = dragged(snapshot);
    const ImGuiIO& io = ImGui::GetIO();
    const char* mode = io.KeyShift ? "add" : io.KeyCtrl ? "remove" : "new";
    const auto push = [&](const char* name, std::vector<double> numbers, bool selects) {
        std::vector<std::string> words;
        for (const double n : numbers) words.push_back(argument(n));
        if (selects) words.emplace_back(mode);
        if (selects && live) words.emplace_back("live");
        commands.push(name, std::move(words));
    };
    const Vec3d c = body.centre, h = body.half;
    switch (snapshot.tools.tool) {
        case Tool::sphere:
            return push("select.sphere", {c.x, c.y, c.z, h.x}, true);
        case Tool::box:
            return push("select.box",
                        {c.x - h.x, c.y - h.y, c.z - h.z, c.x + h.x, c.y + h.y, c.z + h.z}, true);
        case Tool::move:
            return push("edit.move", {shift_.x, shift_.y, shift_.z}, false);
        case Tool::rotate:
            return commands.push("edit.rotate",
                                 {kWorldAxisNames[static_cast<std::size_t>(held_->number)],
                                  argument(value_ * 180 / std::numbers::pi)});
        case Tool::scale: {
            const Vec3d off = held_->at - start_.centre;
            const double factor = value_ / std::max(std::sqrt(dot(off, off)), 1e-12);
            return push("edit.scale", {std::clamp(factor, 1e-3, 1e3)}, false);
        }
        default:
            return;
    }
}

void Gizmo::draw_body(ImDrawList& list, const Snapshot& snapshot, PictureRect picture,
                      const Body& body) const {
    const Camera& camera = snapshot.frame->camera;
    const ImU32 color = theme().accent;
    if (snapshot.tools.tool == Tool::sphere) {
        for (const Vec3d& axis : kWorldAxes)
            world_circle(list, camera, picture, body.centre, axis, body.half.x, color, 1.5F);
        return;
    }
    world_box(list, camera, picture, body.centre, body.half,
              is_volume(snapshot.tools.tool) ? color : with_alpha(color, 140));
}

bool Gizmo::use(ImDrawList& list, const Snapshot& snapshot, PictureRect picture, bool over,
                bool ready, Commands& commands) {
    const Camera& camera = snapshot.frame->camera;
    const bool volume = is_volume(snapshot.tools.tool);
    if (!held_) start_ = body_of(snapshot);
    if (!start_.any) {
        held_.reset();
        return false;
    }
    const std::vector<Handle> handles =
        handles_of(snapshot, held_ ? dragged(snapshot) : start_, picture);
    const auto pointed = handle_at(handles, camera, picture);
    if (!held_ && over && pointed && ImGui::IsMouseClicked(ImGuiMouseButton_Left)) {
        held_ = handles[*pointed];
        grabbed_ = ImGui::GetMousePos();
        shift_ = {};
        const Vec3d off = held_->at - start_.centre;
        value_ = held_->kind == Handle::Kind::distance ? std::sqrt(dot(off, off)) : 0;
        last_given_.clear();
    }
    if (held_) {
        follow_mouse(snapshot, picture);
        const Body body = dragged(snapshot);
        const std::string now = fmt::format("{} {} {} {}", body.centre.x, body.centre.y,
                                            body.centre.z, body.half.x + body.half.y + body.half.z);
        const bool moved = std::hypot(ImGui::GetMousePos().x - grabbed_.x,
                                      ImGui::GetMousePos().y - grabbed_.y) >= 1;
        if (!ImGui::IsMouseDown(ImGuiMouseButton_Left)) {
            if (moved) give(snapshot, false, commands);
            held_.reset();
        } else if (volume && moved && ready && now != last_given_) {
            give(snapshot, true, commands);
            last_given_ = now;
        }
    }
    const Body shown = held_ ? dragged(snapshot) : start_;
    draw_body(list, snapshot, picture, shown);
    for (std::size_t i = 0; i < handles.size(); ++i) {
        const Handle& h = handles[i];
        const bool bright = held_ ? held_->number == h.number : pointed == i;
        const float thickness = bright ? 3.0F : 2.0F;
        if (!volume && h.kind == Handle::Kind::along)
            world_line(list, camera, picture, shown.centre, h.at, h.color, thickness);
        if (h.kind == Handle::Kind::around) {
            const Vec3d off = h.at - shown.centre;
            world_circle(list, camera, picture, shown.centre, h.axis, std::sqrt(dot(off, off)),
                         h.color, thickness);
        }
        if (const auto at = project_point(camera, h.at, kInFront)) {
            const ImVec2 p = on_screen(picture, camera, *at);
            const float r = (bright ? 0.42F : 0.32F) * em();
            list.AddRectFilled({p.x - r, p.y - r}, {p.x + r, p.y + r}, h.color, 2);
            list.AddRect({p.x - r, p.y - r}, {p.x + r, p.y + r}, theme().window, 2);
        }
    }
    if (held_ && snapshot.tools.tool == Tool::rotate)
        draw_chip(list, ImGui::GetMousePos(),
                  fmt::format("{:.1f} degrees", value_ * 180 / std::numbers::pi), theme().text);
    return held_.has_value();
}

}  // namespace gs
