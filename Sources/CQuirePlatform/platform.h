// What Swift cannot say by itself: cache prefetch and the advice constants that the platform headers hide.
// Header only, so that no C object is built.
#pragma once
#include <stddef.h>
// Not for what it declares: it says whose C library this is, and the macros below ask for that.
#include <stdlib.h>

/// Asks the processor to fetch the cache line at `address` for reading; never faults.
static inline void quire_prefetch(const void *address) {
  __builtin_prefetch(address, 0, 3);
}

#if defined(__linux__) && !defined(__ANDROID__)
// By a name of our own: the header that declares it does so only for programs that ask for everything.
extern int quire_sync_file_range(int descriptor, long long offset, long long count, unsigned int flags)
    __asm__("sync_file_range");
#endif

/// Asks the system to begin writing a range of a file to the disk, where there is such a call. Waits for nothing and
/// promises nothing. The flag, SYNC_FILE_RANGE_WRITE, alone leaves errors to the next fdatasync, which must see them.
static inline void quire_start_writing(int descriptor, long long offset, long long count) {
#if defined(__linux__) && !defined(__ANDROID__)
  (void)quire_sync_file_range(descriptor, offset, count, 2);
#endif
}

#if defined(__GLIBC__)
#include <malloc.h>
#endif

/// How many bytes of the heap are in use, and how many it keeps for later; zeros where nobody can tell.
static inline void quire_heap_use(size_t *used, size_t *kept) {
  *used = 0;
  *kept = 0;
#if defined(__GLIBC__) && (__GLIBC__ > 2 || (__GLIBC__ == 2 && __GLIBC_MINOR__ >= 33))
  struct mallinfo2 heap = mallinfo2();
  *used = heap.uordblks + heap.hblkhd;
  *kept = heap.fordblks;
#endif
}

/// Has the heap give back to the system what it keeps between blocks in use, where it can.
static inline void quire_trim_heap(void) {
#if defined(__GLIBC__)
  (void)malloc_trim(0);
#endif
}
