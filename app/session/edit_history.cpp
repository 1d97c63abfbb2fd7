#include "app/session/edit_history.h"

namespace gs {

void EditHistory::add(EditStep step) {
    steps_.erase(steps_.begin() + static_cast<std::ptrdiff_t>(done_), steps_.end());
    steps_.push_back(std::move(step));
    done_ = steps_.size();
    std::uint64_t held = bytes();
    // The newest stays, however large it is.
    while (steps_.size() > 1 && (held > kMostBytes || steps_.size() > kMostSteps)) {
        held -= steps_.front().bytes();
        if (steps_.front().changes_model()) dropped_stamp_ = steps_.front().stamp;
        steps_.pop_front();
        --done_;
        ++dropped_;
    }
}

std::vector<std::string> EditHistory::names() const {
    std::vector<std::string> out;
    for (const EditStep& step : steps_) out.push_back(step.name);
    return out;
}

std::vector<const WholeChange*> EditHistory::fixes() const {
    std::vector<const WholeChange*> out;
    for (std::size_t i = 0; i < done_; ++i)
        if (steps_[i].whole.is_fix) out.push_back(&steps_[i].whole);
    return out;
}

std::uint64_t EditHistory::bytes() const {
    std::uint64_t sum = 0;
    for (const EditStep& step : steps_) sum += step.bytes();
    return sum;
}

std::uint64_t EditHistory::model_stamp() const {
    for (std::size_t i = done_; i-- > 0;)
        if (steps_[i].changes_model()) return steps_[i].stamp;
    return dropped_stamp_;
}

}  // namespace gs
