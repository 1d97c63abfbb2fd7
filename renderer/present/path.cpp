#include "renderer/present/path.h"

#include "base/log.h"

namespace gs {

std::unique_ptr<TextureInterop> PresentPath::make_interop() {
    auto interop = make_ ? make_() : nullptr;
    if (!interop) fall_back("this build cannot share textures with the device");
    return interop;
}

void PresentPath::interop_works() {
    if (choice_ != Choice::open) return;
    choice_ = Choice::interop;
    description_ = "interop";
    log_info("pictures go from CUDA into the OpenGL texture on the device (interop)");
}

void PresentPath::fall_back(const std::string& reason) {
    if (choice_ == Choice::upload) return;
    choice_ = Choice::upload;
    description_ = "upload: " + reason;
    log_warning(
        "pictures reach the screen through host memory, not through CUDA-OpenGL interop: {}",
        reason);
}

}  // namespace gs
