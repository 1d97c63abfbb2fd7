#include "profiler/serve/history_writer.h"

#include <limits>

#include "base/log.h"
#include "base/rng.h"
#include "base/try.h"

namespace gs::serve {

/// Algorithm R (J. S. Vitter, "Random sampling with a reservoir", ACM TOMS 11, 1985).
void HistoryWriter::keep(Values& values, double value) {
    const std::uint64_t seen = values.seen++;
    if (values.kept.size() < kMostValues) return values.kept.push_back(value);
    const std::uint64_t place = random_bits(1, 0, seen) % values.seen;
    if (place < kMostValues) values.kept[place] = value;
}

void HistoryWriter::take(const TraceStore& store, std::span<const News> news,
                         std::int64_t realtime_s) {
    const std::int64_t minute = realtime_s / kMinute * kMinute;
    if (minute != minute_s_) write();
    minute_s_ = minute;
    for (const News& n : news) {
        if (n.parts.empty()) continue;
        const TraceProcess& process = store.processes()[n.process];
        auto& metrics = minute_[{history::subject_of(process), process.labels.commit}];
        for (std::size_t i = 0; i < n.parts.size(); ++i) {
            keep(metrics["iteration"], n.iterations.items[i].milliseconds());
            const Breakdown& part = n.parts[i];
            if (part.watched_ms < part.wall_ms) continue;  // of its stages a part is not known
            const bool told = !misses_gpu_work(process, n.iterations.items[i].end_ns);
            const bool by_kind = !part.splats && !part.kinds.empty();
            const auto by_range = ranges_[history::subject_of(process)].of(part);
            for (const KindTime& kind : part.kinds)
                if (told && by_kind) keep(metrics["GPU " + kind.kind], kind.ms);
            for (const auto& [kind, ms] : by_range) keep(metrics["CPU " + kind], ms);
            for (std::size_t s = 0; s < kStageCount; ++s) {
                const char* const name = name_of(static_cast<Stage>(s));
                if (told && !by_kind && part.gpu_calls[s] > 0)
                    keep(metrics[std::string("GPU ") + name], part.gpu_ms[s]);
                if (by_range.empty() && part.cpu_self_ms[s] > 0)
                    keep(metrics[std::string("CPU ") + name], part.cpu_self_ms[s]);
            }
        }
    }
}

void HistoryWriter::finish() { write(); }

void HistoryWriter::write() {
    for (auto& [key, metrics] : minute_) {
        Waiting& minute = waiting_.emplace_back(Waiting{key.subject, {}});
        for (auto& [name, values] : metrics) {
            history::Quantiles of = history::quantiles_of(values.kept);
            of.count = values.seen;
            minute.entries.push_back({{name, "ms"}, {minute_s_, key.commit, of}});
        }
    }
    minute_.clear();
    const auto written = write_waiting();
    if (!written && !failed_) log_warning("{}; retrying every minute", written.error().text());
    failed_ = !written;
    if (waiting_.size() > kMostWaiting)
        waiting_.erase(waiting_.begin(),
                       waiting_.end() - static_cast<std::ptrdiff_t>(kMostWaiting));
}

Result<void> HistoryWriter::write_waiting() {
    while (!waiting_.empty()) {
        GS_TRY_VOID(history_.add(waiting_.front().subject, waiting_.front().entries));
        waiting_.erase(waiting_.begin());
    }
    if (minute_s_ - thinned_s_ < kDay) return {};
    GS_TRY_VOID(history_.thin(minute_s_));
    thinned_s_ = minute_s_;
    return {};
}

std::vector<double> HistoryWriter::past(const TraceProcess& process) const {
    return history::past_medians(history_, history::subject_of(process),
                                 std::numeric_limits<std::int64_t>::max());
}

}  // namespace gs::serve
