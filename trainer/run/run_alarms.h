// RunAlarms: notices what somebody who watches a run would not want to miss: a loss that is no
// number, a loss or a score that gets worse, growth that has ended. Fed by Run; each is said once
// until it is over.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>

#include "trainer/settings/settings.h"
#include "trainer/trainer.h"

namespace gs {

class RunAlarms {
  public:
    /// `views`: photos trained on; the loss is compared over as many steps, 50 at least.
    explicit RunAlarms(std::size_t views);
    /// What there is to say about this step; nullopt: nothing.
    std::optional<std::string> look_at(const StepReport& report, const TrainingSettings& settings);
    /// The same of a measurement of the test photos.
    std::optional<std::string> look_at(const Evaluation& evaluation);
    /// The run continues from another state: what was there before is not compared with.
    void forget();

  private:
    std::optional<std::string> look_at_loss(double loss, std::uint64_t step);
    std::size_t window_;               // steps
    double sum_ = 0;                   // of the losses of the present window
    std::size_t summed_ = 0;           // how many
    std::deque<double> means_;         // of the windows before, the newest last
    int divisor_ = 1;                  // of the photos they are of
    std::uint64_t quiet_until_ = 0;    // an opacity reset raises the loss, as it should
    double best_psnr_ = kNotMeasured;  // dB
    bool reported_nan_ = false, reported_full_ = false, reported_worse_ = false;
};

}  // namespace gs
