#include "app/studio/viewport_requests.h"

#include "app/session/engine.h"
#include "app/session/parts/contact_sheet.h"
#include "app/studio/same_picture.h"
#include "base/seconds.h"

namespace gs {
namespace {

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
