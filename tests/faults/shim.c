/* Fails or kills at one of the system calls that change a folder, for tests of what is left then.

   Loaded before all other libraries. Calls are counted whose file lies in the folder that was given
   to fault_arm(); the one of that number fails with an error number, or ends the process (error 0)
   before it is made. With "lasting", all later ones that take room on the disk fail as well, as on
   a full one. The count is shared with the process that forked this one, which may read it once
   this one is dead.

   Counted: open for writing or with O_CREAT, write, pwrite, writev, pwritev, fsync, fdatasync,
   ftruncate, fallocate, rename, unlink, mkdir. Not counted: what is only read, chmod, locks, memory that is mapped
   (DuckDB maps nothing for writing), and system calls that are made without the C library. */

#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

static char folder[PATH_MAX];
static atomic_int armed, *calls;
static int chosen, error_number, lasting;

__attribute__((constructor)) static void share_count(void) {
    calls = mmap(NULL, sizeof *calls, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (calls == MAP_FAILED) abort();
}

void fault_arm(const char *where, int at, int error, int stays) {
    snprintf(folder, sizeof folder, "%s/", where);
    chosen = at;
    error_number = error;
    lasting = stays;
    *calls = 0;
    armed = 1;
}

int fault_count(void) {
    armed = 0;
    return *calls;
}

static int is_inside(const char *path) {
    return path && strncmp(path, folder, strlen(folder)) == 0;
}

static int is_file_inside(int descriptor) {
    char link[64], path[PATH_MAX];
    snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
    ssize_t length = readlink(link, path, sizeof path - 1);
    if (length < 0) return 0;
    path[length] = 0;
    /* A folder itself is flushed after a file was renamed in it. */
    return is_inside(path) || (length + 1 == (ssize_t)strlen(folder) && !strncmp(path, folder, length));
}

/* Whether this call is to fail; it is made otherwise. takes_room: whether a full disk fails it. */
static int fails(int counted, int takes_room) {
    if (!armed || !counted) return 0;
    int number = ++*calls;
    if (number < chosen || chosen <= 0) return 0;
    if (number > chosen && !(lasting && takes_room)) return 0;
    if (error_number == 0) kill(getpid(), SIGKILL);
    errno = error_number;
    return 1;
}

#define NEXT(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

#define OPEN(name)                                                                   \
    int name(const char *path, int flags, ...) {                                     \
        va_list rest;                                                                \
        va_start(rest, flags);                                                       \
        mode_t mode = (flags & O_CREAT) ? va_arg(rest, mode_t) : 0;                  \
        va_end(rest);                                                                \
        int saved = errno;                                                           \
        if (fails((flags & (O_CREAT | O_WRONLY | O_RDWR)) && is_inside(path),        \
                  !!(flags & O_CREAT)))                                              \
            return -1;                                                               \
        errno = saved;                                                               \
        return NEXT(name)(path, flags, mode);                                        \
    }
OPEN(open)
OPEN(open64)

#define OPENAT(name)                                                                 \
    int name(int at, const char *path, int flags, ...) {                             \
        va_list rest;                                                                \
        va_start(rest, flags);                                                       \
        mode_t mode = (flags & O_CREAT) ? va_arg(rest, mode_t) : 0;                  \
        va_end(rest);                                                                \
        if (fails((flags & (O_CREAT | O_WRONLY | O_RDWR)) && is_inside(path),        \
                  !!(flags & O_CREAT)))                                              \
            return -1;                                                               \
        return NEXT(name)(at, path, flags, mode);                                    \
    }
OPENAT(openat)
OPENAT(openat64)

#define ON_FILE(type, name, parameters, arguments, descriptor, room)                 \
    type name parameters {                                                           \
        if (armed && fails(is_file_inside(descriptor), room)) return -1;             \
        return NEXT(name) arguments;                                                 \
    }
ON_FILE(ssize_t, write, (int f, const void *b, size_t n), (f, b, n), f, 1)
ON_FILE(ssize_t, pwrite, (int f, const void *b, size_t n, off_t o), (f, b, n, o), f, 1)
ON_FILE(ssize_t, pwrite64, (int f, const void *b, size_t n, off64_t o), (f, b, n, o), f, 1)
ON_FILE(ssize_t, writev, (int f, const struct iovec *v, int n), (f, v, n), f, 1)
ON_FILE(ssize_t, pwritev, (int f, const struct iovec *v, int n, off_t o), (f, v, n, o), f, 1)
ON_FILE(int, fsync, (int f), (f), f, 1)
ON_FILE(int, fdatasync, (int f), (f), f, 1)
ON_FILE(int, ftruncate, (int f, off_t n), (f, n), f, 0)
ON_FILE(int, ftruncate64, (int f, off64_t n), (f, n), f, 0)
ON_FILE(int, fallocate, (int f, int m, off_t o, off_t n), (f, m, o, n), f, 1)

#define ON_PATH(name, parameters, arguments, path, room)                             \
    int name parameters {                                                            \
        if (armed && fails(is_inside(path), room)) return -1;                        \
        return NEXT(name) arguments;                                                 \
    }
ON_PATH(rename, (const char *a, const char *b), (a, b), b, 0)
ON_PATH(renameat, (int x, const char *a, int y, const char *b), (x, a, y, b), b, 0)
ON_PATH(unlink, (const char *p), (p), p, 0)
ON_PATH(unlinkat, (int x, const char *p, int flags), (x, p, flags), p, 0)
ON_PATH(mkdir, (const char *p, mode_t m), (p, m), p, 1)
