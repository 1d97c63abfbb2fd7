#include "app/backend/ranks.h"

#include <dlfcn.h>

#include <charconv>
#include <cstdlib>
#include <string>
#include <string_view>

#include "app/backend/program_commit.h"
#include "base/beside_program.h"
#include "base/log.h"
#include "base/mpi/mpi_entry.h"
#include "base/try.h"
#include "trainer/ranks/rank_training.h"

namespace gs {
namespace {

constexpr const char* kAdvice = "install libopenmpi-dev and build again, or start one process only";
/// Seconds; GAUSSCOPE_RANK_LIMIT is another.
constexpr double kLimit = 10;

double number_of(const char* variable, double otherwise) {
    const char* const text = std::getenv(variable);
    double out = otherwise;
    if (text != nullptr) std::from_chars(text, text + std::string_view(text).size(), out);
    return out;
}

/// As launchers tell their processes: Open MPI, others by PMI; Slurm's srun, which also starts
/// programs that are no ranks.
bool started_as_ranks() {
    return number_of("OMPI_COMM_WORLD_SIZE", 1) > 1 || number_of("PMI_SIZE", 1) > 1 ||
           (std::getenv("PMIX_RANK") != nullptr && number_of("SLURM_NTASKS", 1) > 1);
}

Result<Exchange*> start_mpi() {
    GS_TRY(const fs::path file,
           beside_program("libgausscope_mpi.so", {"", "lib", "../lib"},
                          "several ranks were started, and this gausscope has no MPI"));
    // For the libraries that it opens in turn, its symbols are everybody's.
    void* const library = ::dlopen(file.c_str(), RTLD_NOW | RTLD_GLOBAL);
    const auto entry =
        library == nullptr ? nullptr : reinterpret_cast<MpiEntry>(::dlsym(library, kMpiEntry));
    if (entry == nullptr)
        return fail(ErrorKind::unsupported, file.string(),
                    std::string("MPI cannot be used: ") + ::dlerror(), kAdvice);
    Exchange* const ranks = entry(number_of("GAUSSCOPE_RANK_LIMIT", kLimit));
    const std::string own = program_commit();
    const Message of_head = from_head(*ranks, message_of(std::span(own)));
    const std::string head(reinterpret_cast<const char*>(of_head.data()), of_head.size());
    const bool same = own == head;
    if (sums_over(*ranks, {same ? 0u : 1u})[0] > 0)
        return fail(ErrorKind::usage, "",
                    same ? "another rank is another version of gausscope"
                         : "this rank is version " + own + ", and the first is " + head,
                    "start the same program everywhere");
    return ranks;
}

}  // namespace

Result<Exchange*> ranks_of_launcher() {
    if (!started_as_ranks()) return nullptr;
    static const Result<Exchange*> ranks = start_mpi();
    return ranks;
}

Result<Backend> on_all_ranks(Backend alone, bool cuda_asked) {
    GS_TRY(Exchange* const ranks, ranks_of_launcher());
    if (ranks == nullptr) return alone;
    if (alone.cuda) {
        if (cuda_asked)
            return fail(ErrorKind::usage, "", "ranks train on the CPU alone",
                        "omit --backend and --device, or start one process");
        log_warning("computing on the CPU, not on {}: ranks use no GPU", alone.name);
        GS_TRY(alone, choose_backend("cpu"));
    }
    alone.name += fmt::format(" on {} ranks", ranks->size());
    alone.make_training = [ranks]() -> Result<std::unique_ptr<TrainingBackend>> {
        return make_rank_training(*ranks);
    };
    return alone;
}

}  // namespace gs
