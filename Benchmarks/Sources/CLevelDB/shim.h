// LevelDB as the system installs it.
#pragma once
#include <leveldb/c.h>
