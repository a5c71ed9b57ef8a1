// RocksDB as the system installs it.
#pragma once
#include <rocksdb/c.h>
