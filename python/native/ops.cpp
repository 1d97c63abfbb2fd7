#include "python/native/gausscope_ops.h"

const char* gausscope_version(void) { return GAUSSCOPE_VERSION; }
