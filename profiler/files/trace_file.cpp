#include "profiler/files/trace_file.h"

#include <fstream>
#include <string>

#include "base/text.h"

namespace gs {
namespace {

constexpr std::size_t kSniffed = 4096;  // bytes of a JSON file that tell a trace from anything else

/// A trace is a list of events, or an object that has one; captures and splats are objects without.
bool sniff_json(const fs::path& path) {
    std::ifstream file(path, std::ios::binary);
    std::string head(kSniffed, '\0');
    file.read(head.data(), static_cast<std::streamsize>(head.size()));
    head.resize(static_cast<std::size_t>(file.gcount()));
    const std::size_t first = head.find_first_not_of(" \t\r\n\xef\xbb\xbf");
    if (first == std::string::npos) return false;
    if (head[first] == '[') return head.find("\"ph\"") != std::string::npos;
    for (const char* sign :
         {"\"traceEvents\"", "\"schemaVersion\"", "\"deviceProperties\"", "\"displayTimeUnit\""})
        if (head.find(sign) != std::string::npos) return true;
    return false;
}

}  // namespace

bool is_trace_file(const fs::path& path) {
    std::string name = lower_case(path.filename().string());
    const bool zipped = name.ends_with(".gz");
    if (zipped) name.resize(name.size() - 3);
    for (const char* end : {".pftrace", ".perfetto-trace", ".perfetto", ".xplane.pb", ".sqlite"})
        if (name.ends_with(end)) return true;
    if (!name.ends_with(".json") || !file_exists(path)) return false;
    return zipped || sniff_json(path);
}

}  // namespace gs
