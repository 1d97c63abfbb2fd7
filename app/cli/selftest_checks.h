// The rows of selftest: each check says what it measured, against which limit. Called by selftest.cpp.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace gs::cli {

struct CheckRow {
    std::string backend;  ///< "CPU", "reference", "OpenGL"
    std::string name;
    std::string measured;  ///< with limit and unit
    bool passed = false;
    bool ran = true;  ///< false: it could not run here, `measured` says why
    double milliseconds = 0;
};
using CheckList = std::vector<std::function<CheckRow()>>;

/// Every stage of the CPU backend against the reference; loss; determinism over thread counts; a splat file there and
/// back.
void add_cpu_checks(CheckList& list, bool quick);
/// The reference's own gradients against differences.
void add_reference_checks(CheckList& list);
/// An off-screen OpenGL context: draws and reads back. Says why where there is none.
void add_gl_checks(CheckList& list);

}  // namespace gs::cli
