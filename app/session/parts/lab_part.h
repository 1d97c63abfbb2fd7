// LabPart: the engine's part for the lab: it runs suites with the code of `gausscope lab run`, each
// training in a process of its own, and reads the recorded runs, all as background jobs. Publishes
// SessionView::lab. Owned by the engine; commands call it there.
#pragma once

#include <optional>
#include <string>
#include <utility>

#include "app/session/engine_context.h"
#include "panels/state/lab_state.h"

namespace gs {

class LabPart final : public PartWith<> {
  public:
    explicit LabPart(EngineContext ctx);

    /// Opens another database. Reports an unreadable one.
    void open(const std::string& database);
    /// Runs the suite's runs that are not recorded yet, into the database; cancel("lab") ends it,
    /// and the same call resumes. `label` empty: the commit. `captures`: one more folder with the
    /// suite's captures; may be empty.
    void run(const std::string& suite, const std::string& label, const std::string& captures);
    /// Compares the recorded runs of B with A, now and as more come. Reports unknown names.
    void compare(const std::string& a, const std::string& b);
    /// Writes all recorded runs as one page, with the comparison.
    void report(const std::string& html);
    /// Reads the database again when the running suite starts its next run.
    void before_picture(const Shown*) override;

  private:
    void read(std::uint64_t command);
    void publish();

    LabState state_;
    std::optional<std::pair<std::string, std::string>> compared_;
    std::string said_;  // by the running suite, when last read
};

}  // namespace gs
