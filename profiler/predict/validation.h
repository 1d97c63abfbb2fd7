// The performance model against times that others have published: what it would have said without
// seeing each, and how far off that is. The spread of these errors is the band that every
// prediction is printed with, one band for what memory binds and one for instructions. Data and
// citations: assets/gpu/published_times.json; `gausscope predict --validation` and docs/model.md
// show the table, misses and all.
#pragma once

#include <string>
#include <vector>

#include "base/expected.h"
#include "profiler/predict/demand.h"
#include "profiler/predict/gpu_model.h"

namespace gs {

enum class PublishedKind {
    throughput,  ///< sets the fit and the band
    fixed,       ///< bound by what the model does not know; shown as what it is
    ratio,       ///< of one program on two GPUs
};

struct PublishedTime {
    std::string id, what, gpu, work, source;
    std::string over;  ///< ratio: the other GPU
    std::string miss;  ///< why it is known to be missed; empty: it should not be
    PublishedKind kind = PublishedKind::throughput;
    double published = 0;  ///< milliseconds, or the ratio
    StageDemand demand;
    /// Instructions that `issue` may be instead, where `work` assumes some of them; 0: none are.
    double least_issue = 0, most_issue = 0;

    bool of_memory() const { return demand.bytes > 0 && demand.executed.issue == 0; }
};
/// Errors: malformed, naming the row.
Result<std::vector<PublishedTime>> parse_published_times(const std::string& text,
                                                         const std::string& origin);
std::vector<PublishedTime> published_times();

struct ValidatedTime {
    PublishedTime row;
    double predicted = 0;  ///< by the fit of the other rows of its kind
    double least = 0,
           most = 0;  ///< over what the row assumes; `predicted` where it assumes nothing
    double log_error() const;
    /// Mean square of the error, over what the row assumes.
    double square_error() const;
};
struct ModelValidation {
    std::vector<ValidatedTime> rows;
    ModelFit fit;  ///< of all rows, its bands from the errors of the rows left out
    double instruction_rows_log_sd = 0;  ///< of the rows that instructions bind, however few
    double log_sd_with_misses = 0;       ///< of memory's rows and of those known to be missed
};
/// Leave one out. Rows of GPUs that are not among `gpus` are left out altogether.
ModelValidation validate_model(const std::vector<PublishedTime>& rows,
                               const std::vector<GpuDevice>& gpus);
/// Built-in validation; computed once.
const ModelFit& published_fit();

}  // namespace gs
