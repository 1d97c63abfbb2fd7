#include "renderer/raster/cuda/backward_variant.h"

#include <atomic>

namespace gs::cuda {
namespace {

std::atomic<BackwardVariant> chosen{BackwardVariant::sub_tile};

}  // namespace

void choose_backward_variant(BackwardVariant variant) { chosen = variant; }
BackwardVariant backward_variant() { return chosen; }

}  // namespace gs::cuda
