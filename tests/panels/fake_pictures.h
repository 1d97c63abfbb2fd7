// Pictures in panels without OpenGL: textures are numbers, drawn by the software canvas. A file's
// picture is made up from its name, dark to light from top to bottom.
#pragma once

#include <functional>
#include <set>
#include <string>

#include "panels/state/pictures.h"
#include "tests/panels/software_canvas.h"

namespace gs::test {

class FakePictures final : public PanelPictures {
  public:
    PanelPicture of(const std::string& key, std::uint64_t, const Image8& picture) override {
        return keep(key, [&] { return rgba_of(picture); });
    }
    PanelPicture of_file(const std::string& path, int most_side) override {
        asked.push_back(path);
        if (missing.contains(path)) return {};
        return keep(path, [&] { return made_up(path, most_side); });
    }
    std::set<std::string> missing;   ///< files that are not there
    std::vector<std::string> asked;  ///< all of them, in order
    /// For drawn_in_software(), with others.
    CanvasTextures textures;

  private:
    static constexpr std::uint64_t kFirst = 1000;
    PanelPicture keep(const std::string& key, const std::function<Image8()>& make) {
        const auto [it, is_new] = ids_.try_emplace(key, kFirst + ids_.size());
        if (is_new) textures[it->second] = make();
        const Image8& held = textures[it->second];
        return {it->second, held.width, held.height};
    }
    static Image8 rgba_of(const Image8& picture) {
        Image8 out{picture.width, picture.height, 4, {}};
        for (std::size_t i = 0; i < picture.pixels(); ++i)
            for (std::size_t c = 0; c < 4; ++c)
                out.bytes.push_back(
                    c == 3 ? 255
                           : picture.bytes[i * static_cast<std::size_t>(picture.channels) + c]);
        return out;
    }
    static Image8 made_up(const std::string& path, int most_side) {
        Image8 out{most_side, most_side * 2 / 3, 4, {}};
        unsigned sum = 0;
        for (const char c : path) sum = 31 * sum + static_cast<unsigned char>(c);
        for (int y = 0; y < out.height; ++y)
            for (int x = 0; x < out.width; ++x)
                for (unsigned c = 0; c < 4; ++c)
                    out.bytes.push_back(c == 3 ? 255
                                               : static_cast<std::uint8_t>(
                                                     (40 + (sum >> (8 * c)) % 90) +
                                                     static_cast<unsigned>(120 * y / out.height)));
        return out;
    }
    std::map<std::string, std::uint64_t> ids_;
};

}  // namespace gs::test
