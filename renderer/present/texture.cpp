#include "renderer/present/texture.h"

#include <glad/gl.h>

#include <utility>

#include "renderer/base/check.h"

namespace gs {

PresentTexture::~PresentTexture() { release(); }

PresentTexture::PresentTexture(PresentTexture&& other) noexcept { *this = std::move(other); }

PresentTexture& PresentTexture::operator=(PresentTexture&& other) noexcept {
    std::swap(texture_, other.texture_);
    std::swap(width_, other.width_);
    std::swap(height_, other.height_);
    std::swap(channels_, other.channels_);
    std::swap(nearest_, other.nearest_);
    return *this;
}

void PresentTexture::release() {
    if (texture_ != 0) glDeleteTextures(1, &texture_);
    texture_ = 0;
    width_ = height_ = channels_ = 0;
}

void PresentTexture::allocate(int width, int height, int channels) {
    release();
    glCreateTextures(GL_TEXTURE_2D, 1, &texture_);
    glTextureStorage2D(texture_, 1, channels == 4 ? GL_RGBA8 : GL_RGB8, width, height);
    glTextureParameteri(texture_, GL_TEXTURE_MIN_FILTER, GL_LINEAR);
    glTextureParameteri(texture_, GL_TEXTURE_MAG_FILTER, nearest_ ? GL_NEAREST : GL_LINEAR);
    glTextureParameteri(texture_, GL_TEXTURE_WRAP_S, GL_CLAMP_TO_EDGE);
    glTextureParameteri(texture_, GL_TEXTURE_WRAP_T, GL_CLAMP_TO_EDGE);
    width_ = width;
    height_ = height;
    channels_ = channels;
}

void PresentTexture::upload(const Image8& picture) {
    if (picture.empty()) return release();
    CHECK(picture.channels == 3 || picture.channels == 4, "a texture of {} channels", picture.channels);
    if (texture_ == 0 || width_ != picture.width || height_ != picture.height || channels_ != picture.channels)
        allocate(picture.width, picture.height, picture.channels);
    glPixelStorei(GL_UNPACK_ALIGNMENT, 1);
    glTextureSubImage2D(texture_, 0, 0, 0, width_, height_, channels_ == 4 ? GL_RGBA : GL_RGB, GL_UNSIGNED_BYTE,
                        picture.bytes.data());
}

void PresentTexture::set_nearest(bool nearest) {
    if (nearest == nearest_) return;
    nearest_ = nearest;
    if (texture_ != 0) glTextureParameteri(texture_, GL_TEXTURE_MAG_FILTER, nearest ? GL_NEAREST : GL_LINEAR);
}

}  // namespace gs
