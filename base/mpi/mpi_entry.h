// What libgausscope_mpi.so exports.
#pragma once

#include "base/exchange.h"

namespace gs {

/// Starts MPI once in a process; the result lives until it ends. `limit_s`: what a rank may take to
/// answer before it has failed.
using MpiEntry = Exchange* (*)(double limit_s);
inline constexpr const char* kMpiEntry = "gausscope_mpi_exchange";

}  // namespace gs
