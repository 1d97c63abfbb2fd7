// `train --blocks`: a capture trained in parts, one after another or on several machines, and
// merged. Each part is a run of its own in DIR/block-K. `plan --blocks` says what each part needs.
#pragma once

#include <vector>

#include "app/cli/train/train.h"

namespace gs::cli {

inline constexpr double kMostBlocks = 4096;

/// A capture and its parts, without photos.
struct BlocksOfCapture {
    Capture capture;
    CaptureOptions loading;  ///< of the whole capture
    std::vector<CaptureBlock> blocks;
    std::vector<TrainedBlock> runs;  ///< one for each block
};
/// Cuts the capture of `a` into `a.blocks`. Errors: of loading and of cut_into_blocks(); usage, by
/// name: options and settings with which parts would not fit together.
Result<BlocksOfCapture> blocks_of_capture(const TrainArguments& a, const TrainingSettings& settings,
                                          const CommonArguments& common);
/// Trains the blocks that `a.block` names and are not finished, then merges. Errors: also blocks of
/// another cut or with other settings, before anything is trained.
Result<int> train_blocks(const TrainArguments& a, const CommonArguments& common);

}  // namespace gs::cli
