#include "app/studio/studio_traces.h"

#include "base/log.h"
#include "base/try.h"
#include "profiler/files/export_perfetto.h"

namespace gs {

const TraceStore& StudioTraces::shown() {
    drain();
    const TraceStore* shown = library_.shown_store();
    return shown ? *shown : own_;
}

Result<void> StudioTraces::finish(const std::string& path) {
    collector_->finish(own_);
    if (path.empty()) return {};
    GS_TRY_VOID(export_perfetto(own_, path));
    log_info("wrote {}", path);
    return {};
}

}  // namespace gs
