// LMDB as the system installs it.
#pragma once
#include <lmdb.h>
