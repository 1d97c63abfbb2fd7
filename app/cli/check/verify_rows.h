// Prints a frame's comparison with the reference (VerifyReport) for `verify` and `replay`.
#pragma once

#include "app/cli/report.h"
#include "panels/state/verify_report.h"

namespace gs::cli {

Json verify_json(const VerifyReport& report);
void print_verify(const VerifyReport& report);

}  // namespace gs::cli
