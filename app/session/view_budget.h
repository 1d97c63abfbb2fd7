// ViewBudget: limits the engine's time for viewport pictures while training runs, and measures it.
// The engine reports its times; pictures are drawn on credit that training time earns.
#pragma once

#include <algorithm>
#include <cmath>

namespace gs {

class ViewBudget {
  public:
    /// `seconds` spent on anything but view frames; earns credit at the allowed share (0..1).
    void add_work(double seconds, double allowed_share) {
        const double share = std::clamp(allowed_share, 0.0, 0.95);
        credit_ = std::min(credit_ + seconds * share / (1.0 - share), kMaxCredit);
        forget(seconds);
        work_ += seconds;
    }
    /// `seconds` spent on a view frame. `on_credit`: training was waiting meanwhile.
    void add_view(double seconds, bool on_credit) {
        if (!on_credit) return;  // nothing waited for it: time that nobody else wanted
        credit_ = std::max(credit_ - seconds, -kMaxDebt);
        forget(seconds);
        view_ += seconds;
    }
    bool may_draw() const { return credit_ >= 0; }
    /// Measured share of the engine's time while training, over about the last 10 s of it.
    double share() const { return work_ + view_ > 0 ? view_ / (work_ + view_) : 0.0; }

  private:
    static constexpr double kMaxCredit = 0.25, kMaxDebt = 2.0, kMemory = 10.0;  // seconds
    void forget(double seconds) {
        const double keep = std::exp(-seconds / kMemory);
        work_ *= keep;
        view_ *= keep;
    }
    double credit_ = 0, work_ = 0, view_ = 0;
};

}  // namespace gs
