// Which option was meant by one that a command does not have, and which command: other programs'
// names for ours, and slips of the fingers.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace gs {

/// "did you mean --steps N?" of --iterations or --stpes, with a remark where the value means
/// something else. `options`: the command's own, without hyphens in front. Empty: nothing comes
/// near.
std::string meant_option(std::string_view word, const std::vector<std::string>& options);
/// "convert" of "export", "train" of "trian"; empty: nothing comes near. `commands`: all there are.
std::string meant_command(std::string_view word, const std::vector<std::string>& commands);

}  // namespace gs
