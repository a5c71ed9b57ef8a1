// Records what a process does to the files of one folder, loaded before the C library.
//
//     QUIRE_RECORD_FOLDER    the folder, as an absolute path without links; its parent's other files are let be
//     QUIRE_RECORD_LOG       the file that the records are appended to, outside of the folder
//     QUIRE_RECORD_MARKS     a file outside of the folder; what is written to it are marks
//     QUIRE_RECORD_IGNORE    `fdatasync` or `fsync`: these calls are made and not recorded, as a disk that lies would
//
// A record is a header, a path and bytes, see `struct record`. Changes are made and recorded under one lock, so that
// the order of the records is the order of the changes. A sync is two records, one before it and one behind it: it
// covers what was recorded before the first. A mark is recorded before it is written: all that its writer knew to be
// done is there.
//
// What is written through mapped memory is not seen, nor is what stdio writes, whose calls stay within the C library.
// `msync` and `sync_file_range` promise less than a sync and count as none.

#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

// Little-endian on every machine that this is run on. A path of `path_length` bytes and `byte_count` bytes follow.
struct record {
  char kind;              // see below
  uint8_t padding[3];
  uint32_t path_length;
  uint64_t file;          // the number of the inode; of a file that was removed, it may come again
  uint64_t offset;        // of a write; of 't' and 'a', the length
  uint64_t byte_count;
  uint64_t sync;          // which sync, for 'b' and 'e'
};

// 'c' a file was created, 'd' a folder was; 'l' a name was given to a file; 'r' renamed, the bytes are the old path;
// 'u' a name was removed; 'w' written; 't' cut or lengthened; 'a' lengthened to at least this, by allocation;
// 'b' a sync begins, of a file or a folder; 'e' it ended well; 'm' a mark.

static const char *folder, *marks, *ignored;
static size_t folder_length;
static int log_descriptor = -1;
static uint64_t sync_count;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

__attribute__((constructor)) static void read_settings(void) {
  const char *log = getenv("QUIRE_RECORD_LOG");
  folder = getenv("QUIRE_RECORD_FOLDER");
  marks = getenv("QUIRE_RECORD_MARKS");
  ignored = getenv("QUIRE_RECORD_IGNORE");
  if (!folder || !log) return;
  folder_length = strlen(folder);
  log_descriptor = (int)syscall(SYS_openat, AT_FDCWD, log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  if (log_descriptor < 0) abort();
}

static int is_inside(const char *path) {
  return log_descriptor >= 0 && strncmp(path, folder, folder_length) == 0 &&
         (path[folder_length] == '/' || path[folder_length] == 0);
}

// The path of a descriptor; empty if it has none.
static void path_of(int descriptor, char path[PATH_MAX]) {
  char link[64];
  snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
  ssize_t count = readlink(link, path, PATH_MAX - 1);
  path[count > 0 ? count : 0] = 0;
}

// The path without `.` and relative parts, as far as the folder is concerned: its parent is resolved.
static void resolve(int at, const char *path, char resolved[PATH_MAX]) {
  char whole[PATH_MAX * 2], *slash;
  if (path[0] == '/') {
    snprintf(whole, sizeof whole, "%s", path);
  } else {
    char base[PATH_MAX];
    if (at == AT_FDCWD) {
      if (!getcwd(base, sizeof base)) base[0] = 0;
    } else {
      path_of(at, base);
    }
    snprintf(whole, sizeof whole, "%s/%s", base, path);
  }
  slash = strrchr(whole, '/');
  char parent[PATH_MAX];
  *slash = 0;
  if (!realpath(slash == whole ? "/" : whole, parent)) parent[0] = 0;
  int length = snprintf(resolved, PATH_MAX, "%s/%s", parent, slash + 1);
  if (length < 0 || length >= PATH_MAX) resolved[0] = 0;
}

static uint64_t number_of(int descriptor) {
  struct stat status;
  return fstat(descriptor, &status) == 0 ? (uint64_t)status.st_ino : 0;
}

static uint64_t number_at(const char *path) {
  struct stat status;
  return lstat(path, &status) == 0 ? (uint64_t)status.st_ino : 0;
}

static void put(const void *bytes, size_t count) {
  for (size_t done = 0; done < count;) {
    long written = syscall(SYS_write, log_descriptor, (const char *)bytes + done, count - done);
    if (written < 0 && errno != EINTR) abort();
    if (written > 0) done += (size_t)written;
  }
}

// Appends a record. The lock is held.
static void record(struct record record, const char *path, const void *bytes) {
  int before = errno;
  record.path_length = (uint32_t)strlen(path);
  put(&record, sizeof record);
  put(path, record.path_length);
  put(bytes, record.byte_count);
  errno = before;
}

// MARK: Bytes

enum place { elsewhere, inside, mark };

static enum place place_of(int descriptor, char path[PATH_MAX]) {
  if (log_descriptor < 0) return elsewhere;
  int before = errno;
  path_of(descriptor, path);
  errno = before;
  return is_inside(path) ? inside : marks && strcmp(path, marks) == 0 ? mark : elsewhere;
}

// Makes a call that writes, and records the first bytes of `parts`, as many as were written.
#define WRITTEN(parts, part_count, at, call)                                                                  \
  char path[PATH_MAX];                                                                                         \
  enum place place = place_of(descriptor, path);                                                               \
  if (place == elsewhere) return call;                                                                         \
  pthread_mutex_lock(&lock);                                                                                   \
  ssize_t result = call;                                                                                       \
  if (result > 0) record_parts(place, descriptor, path, parts, part_count, at, (size_t)result);                \
  pthread_mutex_unlock(&lock);                                                                                 \
  return result

static void record_parts(enum place place, int descriptor, const char *path, const struct iovec *parts, int part_count,
                         off_t offset, size_t count) {
  // Behind the call the position is where the bytes end, also of a file that is appended to.
  if (offset < 0) offset = lseek(descriptor, 0, SEEK_CUR) - (off_t)count;
  for (int part = 0; part < part_count && count > 0; part++) {
    size_t length = parts[part].iov_len < count ? parts[part].iov_len : count;
    struct record written = {.kind = place == mark ? 'm' : 'w', .file = number_of(descriptor), .byte_count = length};
    written.offset = (uint64_t)offset;
    record(written, path, parts[part].iov_base);
    offset += (off_t)length;
    count -= length;
  }
}

ssize_t pwrite(int descriptor, const void *bytes, size_t count, off_t offset) {
  struct iovec part = {(void *)bytes, count};
  WRITTEN(&part, 1, offset, REAL(pwrite)(descriptor, bytes, count, offset));
}

ssize_t pwrite64(int descriptor, const void *bytes, size_t count, off64_t offset) {
  return pwrite(descriptor, bytes, count, offset);
}

ssize_t write(int descriptor, const void *bytes, size_t count) {
  struct iovec part = {(void *)bytes, count};
  WRITTEN(&part, 1, -1, REAL(write)(descriptor, bytes, count));
}

ssize_t writev(int descriptor, const struct iovec *parts, int count) {
  WRITTEN(parts, count, -1, REAL(writev)(descriptor, parts, count));
}

ssize_t pwritev(int descriptor, const struct iovec *parts, int count, off_t offset) {
  WRITTEN(parts, count, offset, REAL(pwritev)(descriptor, parts, count, offset));
}

ssize_t pwritev64(int descriptor, const struct iovec *parts, int count, off64_t offset) {
  return pwritev(descriptor, parts, count, offset);
}

// MARK: Lengths

static void record_length(char kind, int descriptor, const char *path, off_t length) {
  struct record changed = {.kind = kind, .file = number_of(descriptor), .offset = (uint64_t)length};
  record(changed, path, "");
}

// Makes a call that returns 0 if it has given the file a length.
#define RESIZED(kind, length, call)                                                                            \
  char path[PATH_MAX];                                                                                         \
  if (place_of(descriptor, path) != inside) return call;                                                       \
  pthread_mutex_lock(&lock);                                                                                   \
  int result = call;                                                                                           \
  if (result == 0) record_length(kind, descriptor, path, length);                                              \
  pthread_mutex_unlock(&lock);                                                                                 \
  return result

int ftruncate(int descriptor, off_t length) { RESIZED('t', length, REAL(ftruncate)(descriptor, length)); }
int ftruncate64(int descriptor, off64_t length) { return ftruncate(descriptor, length); }

int posix_fallocate(int descriptor, off_t offset, off_t length) {
  RESIZED('a', offset + length, REAL(posix_fallocate)(descriptor, offset, length));
}

int posix_fallocate64(int descriptor, off64_t offset, off64_t length) {
  return posix_fallocate(descriptor, offset, length);
}

// Holes are not recorded: who makes them gives the bytes up.
int fallocate(int descriptor, int mode, off_t offset, off_t length) {
  if (mode != 0) return REAL(fallocate)(descriptor, mode, offset, length);
  RESIZED('a', offset + length, REAL(fallocate)(descriptor, mode, offset, length));
}

int fallocate64(int descriptor, int mode, off64_t offset, off64_t length) {
  return fallocate(descriptor, mode, offset, length);
}

// MARK: Syncs

static uint64_t sync_begins(const char *path, uint64_t file) {
  pthread_mutex_lock(&lock);
  struct record began = {.kind = 'b', .file = file, .sync = ++sync_count};
  record(began, path, "");
  pthread_mutex_unlock(&lock);
  return began.sync;
}

static void sync_ends(const char *path, uint64_t file, uint64_t sync) {
  pthread_mutex_lock(&lock);
  struct record ended = {.kind = 'e', .file = file, .sync = sync};
  record(ended, path, "");
  pthread_mutex_unlock(&lock);
}

#define SYNCED(name)                                                                                           \
  int name(int descriptor) {                                                                                   \
    char path[PATH_MAX];                                                                                       \
    if (place_of(descriptor, path) != inside || (ignored && strcmp(ignored, #name) == 0))                      \
      return REAL(name)(descriptor);                                                                           \
    uint64_t file = number_of(descriptor), sync = sync_begins(path, file);                                     \
    int result = REAL(name)(descriptor);                                                                       \
    if (result == 0) sync_ends(path, file, sync);                                                              \
    return result;                                                                                             \
  }

SYNCED(fsync)
SYNCED(fdatasync)

// MARK: Names

static void record_name(char kind, const char *path, uint64_t file, const char *old) {
  struct record named = {.kind = kind, .file = file, .byte_count = strlen(old)};
  record(named, path, old);
}

static int open_at(int at, const char *path, int flags, mode_t mode) {
  __typeof__(&openat) real = REAL(openat);
  if (log_descriptor < 0 || !(flags & (O_CREAT | O_TRUNC))) return real(at, path, flags, mode);
  char resolved[PATH_MAX];
  resolve(at, path, resolved);
  if (!is_inside(resolved)) return real(at, path, flags, mode);
  pthread_mutex_lock(&lock);
  int was_there = number_at(resolved) != 0;
  int descriptor = real(at, path, flags, mode);
  if (descriptor >= 0 && (flags & O_TMPFILE) != O_TMPFILE) {
    if (!was_there) {
      record_name('c', resolved, number_of(descriptor), "");
    } else if (flags & O_TRUNC) {
      record_length('t', descriptor, resolved, 0);
    }
  }
  pthread_mutex_unlock(&lock);
  return descriptor;
}

#define OPENED(at)                                                                                             \
  mode_t mode = 0;                                                                                             \
  if (flags & (O_CREAT | O_TMPFILE)) {                                                                         \
    va_list arguments;                                                                                         \
    va_start(arguments, flags);                                                                                \
    mode = va_arg(arguments, mode_t);                                                                          \
    va_end(arguments);                                                                                         \
  }                                                                                                            \
  return open_at(at, path, flags, mode)

int open(const char *path, int flags, ...) { OPENED(AT_FDCWD); }
int open64(const char *path, int flags, ...) { OPENED(AT_FDCWD); }
int openat(int at, const char *path, int flags, ...) { OPENED(at); }
int openat64(int at, const char *path, int flags, ...) { OPENED(at); }

// Makes a call that returns 0 if it has changed the name `to`; the number is that of the file before it or behind it.
#define NAMED(kind, to, old, call)                                                                             \
  if (log_descriptor < 0) return call;                                                                         \
  char resolved[PATH_MAX], source[PATH_MAX];                                                                   \
  resolve(AT_FDCWD, to, resolved);                                                                             \
  if (!is_inside(resolved)) return call;                                                                       \
  resolve(AT_FDCWD, old, source);                                                                              \
  pthread_mutex_lock(&lock);                                                                                   \
  uint64_t before = number_at(resolved);                                                                       \
  int result = call;                                                                                           \
  if (result == 0) record_name(kind, resolved, kind == 'u' ? before : number_at(resolved), source);            \
  pthread_mutex_unlock(&lock);                                                                                 \
  return result

int rename(const char *from, const char *to) { NAMED('r', to, from, REAL(rename)(from, to)); }
int link(const char *from, const char *to) { NAMED('l', to, from, REAL(link)(from, to)); }
int unlink(const char *path) { NAMED('u', path, path, REAL(unlink)(path)); }
int mkdir(const char *path, mode_t mode) { NAMED('d', path, path, REAL(mkdir)(path, mode)); }
