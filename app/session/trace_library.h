// TraceLibrary: the traces that the studio can show: this session's, opened files, attached
// processes. Each file is read by its own thread into its own store, which the UI thread takes over
// when complete; attached processes are drained every frame. Lives on the UI thread; the studio's
// loop (studio.cpp) owns one, commands reach it through UI actions.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/expected.h"
#include "panels/state/snapshot.h"
#include "profiler/store/store.h"

namespace gs {

class TraceLibrary {
  public:
    /// `own`: this session's store, which outlives the library. `wake` may be called from any
    /// thread when something is new.
    TraceLibrary(const TraceStore& own, std::function<void()> wake);
    /// Waits for files that are being read; reading them is cancelled.
    ~TraceLibrary();
    TraceLibrary(const TraceLibrary&) = delete;
    TraceLibrary& operator=(const TraceLibrary&) = delete;

    /// Begins to read a file and shows it. Once more with the same path: shows what is open.
    void open(const std::string& path);
    /// Shows what a process under the profiling service records. `stacks_hz` not 0: also samples
    /// call stacks of any process of this user, this many times a second; if that fails, the entry
    /// says why. Errors: there is no such process, or it cannot be read.
    Result<void> attach(std::uint32_t pid, int stacks_hz = 0);
    /// `which`: an id, or a name. Errors (kind usage): there is none like this.
    Result<void> show(std::string_view which);
    /// Errors (kind usage): none like this; this session, which stays.
    Result<void> close(std::string_view which);

    /// Takes what has come; call it every frame. True when something was new. Errors of reading are
    /// logged, once.
    bool update();
    /// True while a file is read.
    bool reading() const;
    /// Whether reading any file has failed since the last call.
    bool take_failure();
    /// Names of the attached processes that have ended since the last call.
    std::vector<std::string> take_ended();

    const std::vector<TraceEntry>& entries() const { return entries_; }
    std::uint64_t shown() const { return shown_; }
    /// Null while the shown file is read.
    const TraceStore* shown_store() const;

  private:
    struct Opened;
    Opened* find(std::string_view which);
    void add(std::unique_ptr<Opened> opened);
    void refresh();
    bool follow(Opened& process);
    static bool follow_stacks(Opened& process);
    void follow_pulse(Opened& process);
    bool follow_reading(Opened& file);

    std::function<void()> wake_;
    std::vector<std::unique_ptr<Opened>> opened_;
    std::vector<TraceEntry> entries_;
    std::uint64_t shown_ = 1, next_id_ = 2;
    bool failed_ = false;
    std::vector<std::string> ended_;
};

}  // namespace gs
