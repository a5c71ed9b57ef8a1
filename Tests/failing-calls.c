// Calls to the system that fail on request, under a process that knows nothing of it: loaded before the C library.
//
//     QUIRE_FAIL_CALL    pwrite, pread, fdatasync, fsync, ftruncate, posix_fallocate, open, link, unlink or flock
//     QUIRE_FAIL_AT      which of these calls fails, from 1
//     QUIRE_FAIL_HOW     a number of errno; or `short`: a read or a write of half the bytes; or `lost`: a write that says
//                        it was done, and was not
//     QUIRE_FAIL_FOREVER 1 if all that follow fail as well
//     QUIRE_FAIL_PATH    what the path of the file has in it; other files are let be
//
// Says on standard error that it has begun to fail, and at the end of the process how many calls there were.

#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/types.h>
#include <unistd.h>

static const char *failing_call, *failing_path;
static long failing_at;
static int failing_errno, is_short, is_lost, is_forever;
static atomic_long call_count;

__attribute__((constructor)) static void read_settings(void) {
  const char *at = getenv("QUIRE_FAIL_AT"), *how = getenv("QUIRE_FAIL_HOW"), *forever = getenv("QUIRE_FAIL_FOREVER");
  failing_call = getenv("QUIRE_FAIL_CALL");
  failing_path = getenv("QUIRE_FAIL_PATH");
  failing_at = at ? atol(at) : 0;
  is_short = how && strcmp(how, "short") == 0;
  is_lost = how && strcmp(how, "lost") == 0;
  failing_errno = how ? atoi(how) : 0;
  is_forever = forever && strcmp(forever, "1") == 0;
}

__attribute__((destructor)) static void tell_count(void) {
  if (failing_call) dprintf(2, "%ld calls of %s\n", (long)call_count, failing_call);
}

// Whether this call, which is one of `call` to a file at `path`, is to fail.
static int fails_at(const char *call, const char *path) {
  if (!failing_call || strcmp(call, failing_call) != 0) return 0;
  if (failing_path && !strstr(path, failing_path)) return 0;
  long number = ++call_count;
  if (number == failing_at) dprintf(2, "failing\n");
  return failing_at > 0 && (is_forever ? number >= failing_at : number == failing_at);
}

static int fails(const char *call, int descriptor) {
  char link[64], path[4096];
  if (!failing_call || strcmp(call, failing_call) != 0) return 0;
  snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
  ssize_t count = readlink(link, path, sizeof path - 1);
  path[count > 0 ? count : 0] = 0;
  return fails_at(call, path);
}

static int failure(void) {
  errno = failing_errno;
  return -1;
}

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

ssize_t pwrite(int descriptor, const void *bytes, size_t count, off_t offset) {
  if (fails("pwrite", descriptor)) {
    if (is_lost) return (ssize_t)count;
    if (!is_short) return failure();
    if (count > 1) count /= 2;
  }
  return REAL(pwrite)(descriptor, bytes, count, offset);
}

ssize_t pread(int descriptor, void *bytes, size_t count, off_t offset) {
  if (fails("pread", descriptor)) {
    if (!is_short) return failure();
    if (count > 1) count /= 2;
  }
  return REAL(pread)(descriptor, bytes, count, offset);
}

int fdatasync(int descriptor) { return fails("fdatasync", descriptor) ? failure() : REAL(fdatasync)(descriptor); }

int fsync(int descriptor) { return fails("fsync", descriptor) ? failure() : REAL(fsync)(descriptor); }

int ftruncate(int descriptor, off_t length) {
  return fails("ftruncate", descriptor) ? failure() : REAL(ftruncate)(descriptor, length);
}

// Returns its error.
int posix_fallocate(int descriptor, off_t offset, off_t length) {
  return fails("posix_fallocate", descriptor) ? failing_errno : REAL(posix_fallocate)(descriptor, offset, length);
}

int flock(int descriptor, int operation) {
  return fails("flock", descriptor) ? failure() : REAL(flock)(descriptor, operation);
}

int open(const char *path, int flags, ...) {
  mode_t mode = 0;
  if (flags & (O_CREAT | O_TMPFILE)) {
    va_list arguments;
    va_start(arguments, flags);
    mode = va_arg(arguments, mode_t);
    va_end(arguments);
  }
  return fails_at("open", path) ? failure() : REAL(open)(path, flags, mode);
}

int link(const char *from, const char *to) { return fails_at("link", from) ? failure() : REAL(link)(from, to); }

int unlink(const char *path) { return fails_at("unlink", path) ? failure() : REAL(unlink)(path); }
