#include "app/backend/program_commit.h"

#include "commit_of_build.h"

namespace gs {

std::string program_commit() { return GAUSSCOPE_COMMIT; }

}  // namespace gs
