// Parameters that an Adam step moves by chance. Where the true gradient is zero (the rotation of a
// Gaussian that is a sphere, an unseen colour) what is left is rounding, of either sign, and Adam's
// step is as long for it as for any other gradient: compiled otherwise, the same kernel goes the
// other way. Harmless to the picture, and no word to compare. What is compared is compared with its
// like: a plane's parameters, its first and its second moments, which are of very different sizes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "renderer/raster/cuda/model_view.h"

namespace gs::ptx {

class AdamNoise {
  public:
    /// Of a launch with these parameters; of any kernel but the Adam step's nothing is excused.
    AdamNoise(const std::string& kernel, std::span<const std::byte> parameters);
    /// The word at that address of device memory is such a parameter, or a moment of one. After the
    /// launch, while device memory can be read.
    bool excuses(std::uintptr_t address) const;
    /// Two moments in 16 bits each (math/adam_code.h) that are of one rounding: where the number
    /// that is rounded differs in its last bits, the draw may fall on either of two codes.
    bool codes_alike(std::uintptr_t address, std::uint32_t expected, std::uint32_t got) const;
    /// Which of a step's numbers the word at that address is: 1 + 3 x plane for a parameter, one
    /// and two more for its moments; 0: none.
    std::size_t kind_of(std::uintptr_t address) const;

  private:
    struct Place {
        std::uint64_t row, plane;
        std::size_t kind;
    };
    /// Of a parameter or moment; none at other addresses.
    std::optional<Place> find(std::uintptr_t address) const;
    bool is_noise(std::uint64_t row, std::uint64_t plane) const;
    float second_moment(std::uint64_t row, std::uint64_t plane) const;
    cuda::ModelView model_;
    bool adam_ = false;  ///< the Adam step, not one of its kin that only round codes
};

}  // namespace gs::ptx
