// What Swift cannot say by itself: cache prefetch and the advice constants that the platform headers hide.
// Header only, so that no C object is built.
#pragma once
#include <stddef.h>

/// Asks the processor to fetch the cache line at `address` for reading; never faults.
static inline void quire_prefetch(const void *address) {
  __builtin_prefetch(address, 0, 3);
}
