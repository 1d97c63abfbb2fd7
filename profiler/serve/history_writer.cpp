#include "profiler/serve/history_writer.h"

#include <utility>

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
            for (std::size_t s = 0; s < kStageCount; ++s) {
                const std::string name = name_of(static_cast<Stage>(s));
                if (part.gpu_calls[s] > 0) keep(metrics["GPU " + name], part.gpu_ms[s]);
                if (part.cpu_self_ms[s] > 0) keep(metrics["CPU " + name], part.cpu_self_ms[s]);
            }
        }
    }
}

void HistoryWriter::finish() { write(); }

void HistoryWriter::write() {
    const auto written = write_minute();
    if (!written && !failed_)
        log_warning("{}; it is tried again every minute", written.error().text());
    failed_ = !written;
    minute_.clear();
}

Result<void> HistoryWriter::write_minute() {
    for (auto& [key, metrics] : minute_) {
        std::vector<history::History::Entry> entries;
        for (auto& [name, values] : metrics) {
            history::Quantiles of = history::quantiles_of(values.kept);
            of.count = values.seen;
            entries.push_back({{name, "ms"}, {minute_s_, key.commit, of}});
        }
        GS_TRY_VOID(history_.add(key.subject, entries));
    }
    if (minute_s_ - thinned_s_ >= kDay) {
        thinned_s_ = minute_s_;
        return history_.thin(minute_s_);
    }
    return {};
}

std::vector<double> HistoryWriter::past(const TraceProcess& process, std::int64_t until_s) const {
    return history::past_medians(history_, history::subject_of(process), until_s);
}

}  // namespace gs::serve
