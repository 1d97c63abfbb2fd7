// DeviceError: everything that goes wrong on a device, with its own words. Thrown by whatever
// computes on one; caught where a run or a picture can be given up without losing the rest.
#pragma once

#include <stdexcept>
#include <string>

namespace gs {

/// `out_of_memory` is separate because the trainer can continue without growing.
class DeviceError : public std::runtime_error {
  public:
    DeviceError(const std::string& what, bool out_of_memory)
        : std::runtime_error(what), out_of_memory_(out_of_memory) {}
    bool out_of_memory() const { return out_of_memory_; }

  private:
    bool out_of_memory_;
};

}  // namespace gs
