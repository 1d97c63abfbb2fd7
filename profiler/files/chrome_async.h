// Asynchronous events of a Chrome JSON trace: ranges that begin and end under one id, wherever they
// do ("b" and "e", or "S" and "F" as they were called before). They are collected, and paired when
// the whole file has been read, for events come in any order. Used by import_chrome.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "profiler/files/import_events.h"

namespace gs {

class ChromeAsync {
  public:
    /// A begin or an end (`span.kind`) at `span.begin_ns`, of a process, on the track of its
    /// overlapping ranges. `key`: what events that belong together have in common; `byte`: where it
    /// is in the file.
    void add(const std::string& key, std::uint32_t pid, std::uint32_t track, std::uint64_t byte,
             const ImportedEvent& span);
    /// Pairs them by key, time and nesting: an end closes the innermost range of its key with its
    /// name, of its own process where there is one. Ranges without an end stay open.
    void deliver(ImportEvents& out);

  private:
    struct End {
        ImportedEvent span;
        std::uint64_t byte = 0;
        std::uint32_t key = 0, pid = 0, track = 0;
    };
    void close(const End& end, std::vector<const End*>& open, ImportEvents& out) const;

    std::vector<End> ends_;
    std::unordered_map<std::string, std::uint32_t> number_of_key_;
};

}  // namespace gs
