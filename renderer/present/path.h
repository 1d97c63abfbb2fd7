// PresentPath: how pictures in device memory get into the textures of one OpenGL context: through
// interop, or through the host. Decided by trying, with the first picture; said once in the log,
// and in the status bar from then on. One per context, shared by its PresentTextures.
#pragma once

#include <string>

#include "renderer/present/interop.h"

namespace gs {

class PresentPath {
  public:
    /// `make`: null where textures cannot be shared.
    explicit PresentPath(MakeTextureInterop make = nullptr) : make_(make) {}

    /// False once it is known that pictures go through the host.
    bool may_share() const { return choice_ != Choice::upload; }
    /// For a texture that is about to show its first picture; null: there is none, and pictures go
    /// through the host.
    std::unique_ptr<TextureInterop> make_interop();
    void interop_works();
    /// From now on every picture of this context goes through the host.
    void fall_back(const std::string& reason);

    /// Empty until the first picture in device memory; "interop", or "upload: " and the reason.
    const std::string& description() const { return description_; }

  private:
    enum class Choice { open, interop, upload };
    MakeTextureInterop make_;
    Choice choice_ = Choice::open;
    std::string description_;
};

}  // namespace gs
