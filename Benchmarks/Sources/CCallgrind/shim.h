// What a program asks of the profiler that runs it; nothing happens where none does, or where valgrind is missing.
#pragma once
#if __has_include(<valgrind/callgrind.h>)
#include <valgrind/callgrind.h>
#else
#define CALLGRIND_START_INSTRUMENTATION
#define CALLGRIND_STOP_INSTRUMENTATION
#define CALLGRIND_DUMP_STATS
#endif

/// From here on, instructions and calls are counted.
static inline void callgrind_start(void) { CALLGRIND_START_INSTRUMENTATION; }

/// They are not any more.
static inline void callgrind_stop(void) { CALLGRIND_STOP_INSTRUMENTATION; }

/// What was counted is written to a file of its own, and counting begins at zero again.
static inline void callgrind_dump(void) { CALLGRIND_DUMP_STATS; }
