#include "profiler/collect/own_service.h"

#include <cstdio>

#include "base/log.h"
#include "base/record/budget.h"
#include "base/record/endpoint.h"
#include "base/record/local_socket.h"
#include "base/record/pauses.h"
#include "base/record/ring.h"
#include "base/record/service_status.h"

namespace gs::service {
namespace {

// A gausscope program records all the time, whoever watches: its own panels do.
class OwnHost : public Host {
  public:
    void set_armed(bool) noexcept override {}
    void set_budget(std::uint64_t ppm) noexcept override { budget_.set_budget(ppm); }
    bool release_cupti(char* why) noexcept override { return refuse(why); }
    bool acquire_cupti(char* why) noexcept override { return refuse(why); }
    bool tell_graph_nodes(std::uint64_t, char* why) noexcept override { return refuse(why); }
    void tick(bool) noexcept override {
        if (budget_.budget_ppm() == 0 && !limited_) return;
        limited_ = budget_.budget_ppm() != 0;
        const bool on = budget_.update(sample_costs()) == Gate::open;
        constexpr std::uint64_t kAll = abi::kPausesRanges | abi::kPausesGpu;
        pauses_.tell(on && on_ ? 0 : kAll);
        if (on != on_) set_recording(on);
        on_ = on;
        pauses_.tell(on ? 0 : kAll);
        set_budget_words(budget_.budget_ppm(), budget_.duty_ppm());
    }

  private:
    static bool refuse(char* why) {
        std::snprintf(why, kWhyBytes,
                      "gausscope times its own GPU work by events and does not use CUPTI");
        return false;
    }
    BudgetController budget_;
    PauseRecords pauses_;
    bool limited_ = false, on_ = true;
};

}  // namespace

OwnService::OwnService() {
    start_recording();
    static OwnHost host;  // endpoint.h: better for ever
    char why[kWhyBytes];
    if (!start_endpoint("own", host, why))
        log_warning("this process cannot be attached to: {}", why);
}

OwnService::~OwnService() { stop_endpoint(); }

}  // namespace gs::service
