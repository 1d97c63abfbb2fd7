// Hashes of what each stage of a step gave, and the file of a run that holds a line of them a step
// (hashes.txt): where two runs part is where their lines do (`gausscope diff`). Bits are the same
// on any number of threads, so are the hashes. Written by Run; backends fill what they have at
// hand.
#pragma once

#include <array>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "base/expected.h"
#include "base/file.h"

namespace gs {

/// The stages of a step that are hashed separately, in order.
enum class HashStage { lists, picture, loss, gradients, adam, density };
inline constexpr std::size_t kHashStages = 6;
inline constexpr std::array<const char*, kHashStages> kHashStageNames{
    "lists", "picture", "loss", "gradients", "adam", "density"};

/// Of one step. 0: there is none: a stage that did not run, or that this backend does not report.
struct StepHashes {
    std::uint64_t step = 0;  ///< done with it
    std::uint64_t view = 0;  ///< that it trained on
    std::uint64_t gaussians = 0;
    std::array<std::uint64_t, kHashStages> of{};

    std::uint64_t& operator[](HashStage stage) { return of[static_cast<std::size_t>(stage)]; }
    std::uint64_t operator[](HashStage stage) const { return of[static_cast<std::size_t>(stage)]; }
    bool operator==(const StepHashes&) const = default;
};

/// hashes.txt, parsed.
struct HashFile {
    std::string backend, program, machine;
    std::vector<StepHashes> rows;  ///< ascending steps
};
/// Errors: not_found, with how to have one; malformed with the line.
Result<HashFile> read_hashes(const fs::path& path);

/// hashes.txt, being written. What a crash takes is the last few lines.
class HashLog {
  public:
    /// Goes on after the row of `last_step`; later ones go. The file's first line names `backend`,
    /// this program's version and the processor.
    static Result<HashLog> open(const fs::path& path, const std::string& backend,
                                std::uint64_t last_step);
    Result<void> add(const StepHashes& row);
    /// To the file.
    Result<void> flush();

  private:
    struct Close {
        void operator()(std::FILE* file) const { std::fclose(file); }
    };
    std::unique_ptr<std::FILE, Close> file_;
    std::string path_;
};

}  // namespace gs
