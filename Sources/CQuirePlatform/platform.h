// What Swift cannot say by itself: cache prefetch, and system calls and constants that the platform headers hide.
// Header only, so that no C object is built.
#pragma once
#include <stddef.h>
#include <errno.h>
// Not for what it declares: it says whose C library this is, and the macros below ask for that.
#include <stdlib.h>
#include <sys/stat.h>
#if defined(__linux__)
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#endif

/// Asks the processor to fetch the cache line at `address` for reading; never faults.
static inline void quire_prefetch(const void *address) {
  __builtin_prefetch(address, 0, 3);
}

/// Tells the processor that the thread looks for something in a loop.
static inline void quire_relax(void) {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__) || defined(__arm__)
  __asm__ volatile("yield");
#endif
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

// What the engine asks about a file.
typedef struct {
  unsigned long long device;
  unsigned long long inode;
  long long byte_count;
  // What the disk holds of it; more than the length, or far less in a file with holes.
  long long allocated_byte_count;
  unsigned long long link_count;
  int is_regular;
} quire_file_status;

// By names of our own: the headers that declare them would make this the module of what others import from there.
#if defined(__linux__)
extern off_t quire_lseek(int descriptor, off_t offset, int whence) __asm__("lseek");
#elif defined(__APPLE__)
extern off_t quire_lseek(int descriptor, off_t offset, int whence) __asm__("_lseek");
#endif

// Where the next bytes of the file stand that are no hole, from `offset` on; -1 if none follow. Where the system does
// not tell, `offset`.
static inline long long quire_next_data(int descriptor, long long offset) {
#if defined(__linux__) || defined(__APPLE__)
#if defined(__linux__)
  const int seek_data = 3;
#else
  const int seek_data = 4;
#endif
  off_t found = quire_lseek(descriptor, (off_t)offset, seek_data);
  if (found >= 0) return (long long)found;
  if (errno == ENXIO) return -1;
#endif
  return offset;
}

static inline void quire_take_status(const struct stat *information, quire_file_status *status) {
  status->device = (unsigned long long)information->st_dev;
  status->inode = (unsigned long long)information->st_ino;
  status->byte_count = (long long)information->st_size;
  status->allocated_byte_count = (long long)information->st_blocks * 512;
  status->link_count = (unsigned long long)information->st_nlink;
  status->is_regular = S_ISREG(information->st_mode);
}

#if defined(__linux__) && !defined(__ANDROID__)
// As the kernel defines `struct statx`, whose layout is part of its interface.
typedef struct {
  unsigned int mask, block_size;
  unsigned long long attributes;
  unsigned int link_count, user, group;
  unsigned short mode, spare;
  unsigned long long inode, byte_count, blocks, attributes_mask;
  struct { long long seconds; unsigned int nanoseconds; int reserved; } times[4];
  unsigned int special_major, special_minor, device_major, device_minor;
  unsigned long long rest[14];
} quire_statx;

extern long quire_system_call(long number, ...) __asm__("syscall");
#endif

/// Asks about the file at `path`, or, if that is null, about the open one. Returns 0, or -1 with errno set.
///
/// Not `stat`, where there is a choice: that asks for the times too, and a Linux that gives files fine-grained times
/// only once somebody has looked (6.13) then has each write after a look change them, and each flush write the inode to
/// the journal: a second block, and half as long again for a commit.
static inline int quire_status(int descriptor, const char *path, quire_file_status *status) {
#if defined(__linux__) && !defined(__ANDROID__) && defined(SYS_statx)
  quire_statx found;
  // Type, links, inode number, size, blocks. At the working directory; or the descriptor itself, for an empty path.
  const unsigned int wanted = 0x1 | 0x4 | 0x100 | 0x200 | 0x400;
  const long result = quire_system_call(
      SYS_statx, (long)(path ? -100 : descriptor), path ? path : "", (long)(path ? 0 : 0x1000), (long)wanted, &found);
  if (result == 0 && (found.mask & wanted) == wanted) {
    status->device = (unsigned long long)makedev(found.device_major, found.device_minor);
    status->inode = found.inode;
    status->byte_count = (long long)found.byte_count;
    status->allocated_byte_count = (long long)found.blocks * 512;
    status->link_count = found.link_count;
    status->is_regular = S_ISREG(found.mode);
    return 0;
  }
  // A kernel or a sandbox without the call; anything else is an answer.
  if (result != 0 && errno != ENOSYS && errno != EPERM) return -1;
#endif
  struct stat information;
  if ((path ? stat(path, &information) : fstat(descriptor, &information)) != 0) return -1;
  quire_take_status(&information, status);
  return 0;
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
