// Files that belong together, all of them or none: they take their names only when every one is
// written in full, so that a full disk leaves no part of them. Used where a format has several
// files.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "base/file.h"
#include "base/try.h"

namespace gs {

class FileGroup {
  public:
    Result<void> add(const fs::path& path, std::string_view text) {
        return add(path, std::as_bytes(std::span(text)));
    }
    Result<void> add(const fs::path& path, std::span<const std::byte> bytes) {
        GS_TRY(auto file, AtomicFile::create(path));
        if (auto done = file.append(bytes); !done) return done;
        files_.push_back(std::move(file));
        return {};
    }
    Result<void> commit() {
        for (AtomicFile& file : files_)
            if (auto done = file.commit(); !done) return done;
        return {};
    }

  private:
    std::vector<AtomicFile> files_;
};

}  // namespace gs
