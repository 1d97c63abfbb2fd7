#include "renderer/reference/parameters.h"

namespace gs::reference {

Parameters::Parameters(std::size_t n, int degree)
    : count(n), sh_degree(degree), values(static_cast<std::size_t>(plane_count(degree)) * n, 0.0) {}

Parameters::Parameters(const GaussianModel& model) : Parameters(model.count, model.sh_degree) {
    for (int p = 0; p < planes(); ++p)
        for (std::size_t i = 0; i < count; ++i) at(p, i) = static_cast<double>(model.at(p, i));
}

GaussianModel Parameters::to_model() const {
    GaussianModel model(count, sh_degree);
    for (int p = 0; p < planes(); ++p)
        for (std::size_t i = 0; i < count; ++i) model.at(p, i) = static_cast<float>(at(p, i));
    return model;
}

}  // namespace gs::reference
