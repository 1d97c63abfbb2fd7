// Code that subcommands share: exit codes, printing of errors and results, checks that output is
// writable, Ctrl-C.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/expected.h"
#include "base/file.h"

namespace gs::cli {

inline constexpr int kDone = 0;
inline constexpr int kFailed = 1;  ///< failed, or was stopped, while running
inline constexpr int kUsage = 2;   ///< wrong usage or unusable input; nothing was started
inline constexpr int kGate = 3;    ///< a comparison or check fell short

/// Prints "error: ..." on stderr; returns the exit code that goes with the error: kUsage for what
/// the user can fix before starting again, kFailed for the rest, a full disk included.
int report(const Error& error);
/// One line on stdout: the object, without line breaks.
void print_json(const nlohmann::ordered_json& object);
/// A number as JSON, null when it is not finite.
nlohmann::ordered_json number(double value);

std::vector<std::string> split(std::string_view text, char separator);
/// "1.2 GiB".
std::string human_bytes(std::uint64_t bytes);

/// Folders created for results: those still empty at the end are removed, so that a refused command
/// leaves nothing.
class NewFolders {
  public:
    explicit NewFolders(std::vector<fs::path> innermost_first)
        : folders_(std::move(innermost_first)) {}
    NewFolders(NewFolders&& other) noexcept : folders_(std::exchange(other.folders_, {})) {}
    NewFolders& operator=(NewFolders&& other) noexcept {
        std::swap(folders_, other.folders_);
        return *this;
    }
    ~NewFolders();

  private:
    std::vector<fs::path> folders_;
};

/// Creates the folder and checks early that a file can be written there. Keep the result until
/// something was written.
[[nodiscard]] Result<NewFolders> prepare_output_folder(const fs::path& folder);
/// The same for one file.
Result<void> prepare_output_file(const fs::path& file);

/// From now on Ctrl-C (SIGINT, SIGTERM) and a closed terminal (SIGHUP) only set a flag; a second
/// one ends the process at once.
void catch_interrupts();
bool interrupted();

}  // namespace gs::cli
