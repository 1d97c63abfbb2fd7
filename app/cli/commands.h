// The subcommands: each takes its arguments and returns the exit code. Called by main.cpp; one .cpp
// each.
#pragma once

#include "app/cli/arguments.h"

namespace gs::cli {

int run_view(const Arguments& arguments);
int run_train(const Arguments& arguments);
int run_eval(const Arguments& arguments);
int run_render(const Arguments& arguments);
int run_convert(const Arguments& arguments);
int run_info(const Arguments& arguments);
int run_sample(const Arguments& arguments);
int run_bench(const Arguments& arguments);
int run_trace(const Arguments& arguments);
int run_record(const Arguments& arguments);
int run_attach(const Arguments& arguments);
int run_serve(const Arguments& arguments);
int run_selftest(const Arguments& arguments);

}  // namespace gs::cli
