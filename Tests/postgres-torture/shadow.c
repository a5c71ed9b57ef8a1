// Keeps what a disk has of some files for certain: after each sync of one, its bytes go to a file of their own. Loaded
// before the C library.
//
//     QUIRE_SHADOW_FILES     what the paths of the files begin with
//     QUIRE_SHADOW_FOLDER    where the bytes go, a file for each, named by the number of its inode
//
// Bytes that others write during the copy may come with it: a disk may have them as well. A copy takes the place of the
// last one in one step, so that a process may be killed at any moment.

#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *files, *folder;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

__attribute__((constructor)) static void read_settings(void) {
  files = getenv("QUIRE_SHADOW_FILES");
  folder = getenv("QUIRE_SHADOW_FOLDER");
}

static void copy(int from, int to) {
  static char bytes[1 << 16];
  off_t place = 0;
  ssize_t count;
  while ((count = pread(from, bytes, sizeof bytes, place)) > 0) {
    if (pwrite(to, bytes, (size_t)count, place) != count) abort();
    place += count;
  }
  if (count < 0) abort();
}

static void keep(int descriptor) {
  char link[64], path[PATH_MAX], kept[PATH_MAX], fresh[PATH_MAX];
  struct stat status;
  if (!files || !folder) return;
  snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
  ssize_t length = readlink(link, path, sizeof path - 1);
  if (length < 0) return;
  path[length] = 0;
  if (strncmp(path, files, strlen(files)) != 0 || fstat(descriptor, &status) != 0 || !S_ISREG(status.st_mode)) return;
  if (snprintf(kept, sizeof kept, "%s/%llu", folder, (unsigned long long)status.st_ino) >= (int)sizeof kept) abort();
  if (snprintf(fresh, sizeof fresh, "%s/fresh", folder) >= (int)sizeof fresh) abort();
  int from = open(link, O_RDONLY | O_CLOEXEC), to = open(fresh, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (from < 0 || to < 0) abort();
  copy(from, to);
  close(from);
  close(to);
  if (rename(fresh, kept) != 0) abort();
}

// The copy belongs to the sync: nobody is told of the one before the other is there.
#define SYNCED(name)                                                         \
  int name(int descriptor) {                                                 \
    int (*real)(int) = (int (*)(int))dlsym(RTLD_NEXT, #name);                \
    pthread_mutex_lock(&lock);                                               \
    int result = real(descriptor);                                           \
    if (result == 0) keep(descriptor);                                       \
    pthread_mutex_unlock(&lock);                                             \
    return result;                                                           \
  }

SYNCED(fsync)
SYNCED(fdatasync)
