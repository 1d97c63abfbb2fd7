// What a TrainingBackend does where it has no way of its own.
#include "trainer/training_backend.h"

#include "trainer/density/run_edit.h"

namespace gs {

RunPieces::RunPieces(const RunArrays& whole)
    : about(whole), count(whole.model.count), capacity(whole.model.capacity) {
    array = [&whole](std::size_t number, const Take& take) {
        visit_row_array(number, whole, [&](const RowArray&, const auto& values) {
            take(std::as_bytes(values.span()));
        });
    };
}

void TrainingBackend::look_at_pieces(const std::function<void(const RunPieces&)>& look) const {
    const RunArrays run = arrays();
    look(RunPieces(run));
}

void look_at_arrays(const TrainingBackend& of, const std::function<void(const RunArrays&)>& look) {
    bool seen = false;
    of.look_at_pieces([&](const RunPieces& run) {
        seen = run.about_all;
        if (seen) look(run.about);
    });
    if (!seen) look(of.arrays());
}

void TrainingBackend::remove_rows(std::span<const std::uint32_t> rows) {
    edit([&](RunArrays& run) { gs::remove_rows(run, rows); });
}

}  // namespace gs
