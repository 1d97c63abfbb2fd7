// OwnService: makes a gausscope program's own ring reachable (role "own"), so that `gausscope
// attach` and `serve` work on a running `gausscope train`, `view` or `bench`. Made by those
// commands for as long as they run.
#pragma once

namespace gs::service {

class OwnService {
  public:
    /// Without a socket (the system refuses, the directory is not safe) the program runs as ever; a
    /// warning says so.
    OwnService();
    ~OwnService();
    OwnService(const OwnService&) = delete;
    OwnService& operator=(const OwnService&) = delete;
};

}  // namespace gs::service
