#include "renderer/present/texture.h"

#include <glad/gl.h>

#include <stdexcept>
#include <utility>

#include "base/check.h"

namespace gs {

PresentTexture::~PresentTexture() { release(); }

PresentTexture::PresentTexture(PresentTexture&& other) noexcept { *this = std::move(other); }

PresentTexture& PresentTexture::operator=(PresentTexture&& other) noexcept {
    std::swap(path_, other.path_);
    std::swap(interop_, other.interop_);
    std::swap(attached_, other.attached_);
    std::swap(texture_, other.texture_);
    std::swap(width_, other.width_);
    std::swap(height_, other.height_);
    std::swap(channels_, other.channels_);
    return *this;
}

void PresentTexture::release() {
    if (attached_) interop_->detach();  // unregistered before it is deleted
    attached_ = false;
    if (texture_ != 0) glDeleteTextures(1, &texture_);
    texture_ = 0;
    width_ = height_ = channels_ = 0;
}

void PresentTexture::context_lost() {
    texture_ = 0;
    release();
}

void PresentTexture::allocate(int width, int height, int channels) {
    if (texture_ != 0 && width_ == width && height_ == height && channels_ == channels) return;
    release();
    glCreateTextures(GL_TEXTURE_2D, 1, &texture_);
    glTextureStorage2D(texture_, 1, channels == 4 ? GL_RGBA8 : GL_RGB8, width, height);
    glTextureParameteri(texture_, GL_TEXTURE_MIN_FILTER, GL_LINEAR);
    glTextureParameteri(texture_, GL_TEXTURE_MAG_FILTER, GL_LINEAR);
    glTextureParameteri(texture_, GL_TEXTURE_WRAP_S, GL_CLAMP_TO_EDGE);
    glTextureParameteri(texture_, GL_TEXTURE_WRAP_T, GL_CLAMP_TO_EDGE);
    width_ = width;
    height_ = height;
    channels_ = channels;
}

void PresentTexture::fill(std::span<const std::uint8_t> bytes) {
    glPixelStorei(GL_UNPACK_ALIGNMENT, 1);
    glTextureSubImage2D(texture_, 0, 0, 0, width_, height_, channels_ == 4 ? GL_RGBA : GL_RGB,
                        GL_UNSIGNED_BYTE, bytes.data());
}

void PresentTexture::upload(const Image8& picture) {
    if (picture.empty()) return release();
    CHECK(picture.channels == 3 || picture.channels == 4, "a texture of {} channels",
          picture.channels);
    allocate(picture.width, picture.height, picture.channels);
    fill(picture.bytes);
}

bool PresentTexture::show_through_interop(const DevicePicture& picture) {
    if (!path_ || !path_->may_share()) return false;
    if (!interop_) interop_ = path_->make_interop();
    if (!interop_) return false;
    Result<void> done;
    if (!attached_) {
        done = interop_->attach(texture_, picture);
        attached_ = done.has_value();
    }
    if (done) done = interop_->write(picture);
    if (done) {
        path_->interop_works();
        return true;
    }
    interop_->detach();
    attached_ = false;
    path_->fall_back(done.error().message);
    return false;
}

Result<void> PresentTexture::show(const DevicePicture& picture) {
    CHECK(picture.width > 0 && picture.height > 0, "a picture of {} x {}", picture.width,
          picture.height);
    allocate(picture.width, picture.height, 4);
    if (show_through_interop(picture)) return {};
    try {
        picture.download([this](std::span<const std::uint8_t> bytes) { fill(bytes); });
    } catch (const std::runtime_error& error) {  // DeviceError
        return fail(ErrorKind::unreadable, "",
                    fmt::format("the picture could not be shown: {}", error.what()));
    }
    return {};
}

bool PresentTexture::read_pixel(int x, int y, std::array<std::uint8_t, 4>& rgba) const {
    if (texture_ == 0 || x < 0 || y < 0 || x >= width_ || y >= height_) return false;
    glGetTextureSubImage(texture_, 0, x, y, 0, 1, 1, 1, GL_RGBA, GL_UNSIGNED_BYTE, sizeof rgba,
                         rgba.data());
    return true;
}

}  // namespace gs
