// Where the stack of a thread ends, and how to go on with another stack on the same thread.
// Header only, so that no C object is built.
#pragma once
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>

/// The addresses of a stack: it grows from `high` towards `low`.
typedef struct {
  uintptr_t low;
  uintptr_t high;
  /// What is below this one is reserved: nothing new is to be begun there.
  uintptr_t limit;
} quire_stack;

/// An address in the frame of the caller, or of what the caller is made part of.
static inline uintptr_t quire_stack_pointer(void) { return (uintptr_t)__builtin_frame_address(0); }

/// Reserves a quarter of the stack: 128 KiB at least, unless that is more than half, and one MiB at the most.
static inline void quire_reserve_stack(quire_stack *stack) {
  const uintptr_t whole = stack->high - stack->low, least = 128 << 10, most = 1 << 20;
  uintptr_t reserve = whole / 2 < least ? whole / 2 : least;
  if (reserve < whole / 4) reserve = whole / 4;
  stack->limit = stack->low + (reserve < most ? reserve : most);
}

#if defined(__linux__)
// By a name of our own: the header that declares it does so only for programs that ask for everything.
extern int quire_pthread_attributes(pthread_t thread, pthread_attr_t *attributes) __asm__("pthread_getattr_np");
#endif

/// Asks the system for the stack of the calling thread. Where it does not tell, 256 KiB around here are taken for it.
static inline void quire_find_stack(quire_stack *stack) {
  stack->low = quire_stack_pointer() - (192 << 10);
  stack->high = stack->low + (256 << 10);
#if defined(__APPLE__)
  const pthread_t thread = pthread_self();
  // The address is that of the end with the first call.
  const uintptr_t high = (uintptr_t)pthread_get_stackaddr_np(thread);
  const size_t byte_count = pthread_get_stacksize_np(thread);
  if (high > byte_count && byte_count > 0) {
    stack->low = high - byte_count;
    stack->high = high;
  }
#elif defined(__linux__)
  pthread_attr_t attributes;
  if (quire_pthread_attributes(pthread_self(), &attributes) != 0) return;
  void *low = NULL;
  size_t byte_count = 0, guard_byte_count = 0;
  // For the main thread, whose stack grows, the size is what it may grow to. The pages that catch an overflow are part
  // of the size.
  if (pthread_attr_getstack(&attributes, &low, &byte_count) == 0 &&
      pthread_attr_getguardsize(&attributes, &guard_byte_count) == 0 && byte_count > guard_byte_count) {
    stack->low = (uintptr_t)low + guard_byte_count;
    stack->high = (uintptr_t)low + byte_count;
  }
  (void)pthread_attr_destroy(&attributes);
#endif
}

/// The stack of the calling thread. Asked of the system once for each thread: for the main thread Linux reads a file.
static inline quire_stack quire_thread_stack(void) {
  // What is kept is the same everywhere, so that it is no matter if each object file has a copy of the word.
  static _Thread_local quire_stack stack;
  if (__builtin_expect(stack.high == 0, 0)) {
    quire_find_stack(&stack);
    quire_reserve_stack(&stack);
  }
  return stack;
}

// The pages below a stack that catch an overflow: more than one, as a large frame steps over one.
enum { quire_stack_guard = 64 << 10 };

/// Reserves memory for a stack of `byte_count` bytes, which are touched when they are used. Returns whether there was
/// any.
static inline int quire_make_stack(size_t byte_count, quire_stack *stack) {
  int flags = MAP_PRIVATE | MAP_ANON;
#if defined(MAP_NORESERVE)
  flags |= MAP_NORESERVE;
#endif
#if defined(MAP_STACK)
  flags |= MAP_STACK;
#endif
  char *low = (char *)mmap(NULL, byte_count, PROT_READ | PROT_WRITE, flags, -1, 0);
  if (low == (char *)MAP_FAILED) return 0;
  if (mprotect(low, quire_stack_guard, PROT_NONE) != 0) {
    (void)munmap(low, byte_count);
    return 0;
  }
  stack->low = (uintptr_t)low + quire_stack_guard;
  stack->high = (uintptr_t)low + byte_count;
  quire_reserve_stack(stack);
  return 1;
}

/// Gives back what `quire_make_stack` has reserved.
static inline void quire_free_stack(quire_stack stack) {
  (void)munmap((void *)(stack.low - quire_stack_guard), stack.high - stack.low + quire_stack_guard);
}

/// Calls `body` with `context` on `stack`, on this thread, and returns when it has. Returns 0, and calls nothing, where
/// nobody has written down how stacks are changed.
///
/// The frame pointer leads from the frames on the new stack to those on the old one: debuggers and unwinders see one
/// stack. The register that holds the old stack pointer meanwhile is one that functions leave as they find it.
__attribute__((noinline)) static int quire_call_on_stack(quire_stack stack, void (*body)(void *), void *context) {
  // Makes the function keep a frame pointer, on which its own variables and the unwinders depend here.
  if (__builtin_frame_address(0) == NULL) return 0;
  const uintptr_t top = stack.high & ~(uintptr_t)63;
#if defined(__x86_64__) && defined(__LP64__)
  __asm__ volatile(
      "movq %%rsp, %%rbx\n\t"
      "movq %[top], %%rsp\n\t"
      "callq *%[body]\n\t"
      "movq %%rbx, %%rsp"
      : "+D"(context)
      : [top] "r"(top), [body] "r"(body)
      : "rbx", "rax", "rcx", "rdx", "rsi", "r8", "r9", "r10", "r11", "cc", "memory", "xmm0", "xmm1", "xmm2", "xmm3",
        "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11", "xmm12", "xmm13", "xmm14", "xmm15");
  return 1;
#elif defined(__aarch64__) && !__has_feature(ptrauth_calls)
  register uintptr_t first __asm__("x0") = (uintptr_t)context;
  __asm__ volatile(
      "mov x19, sp\n\t"
      "mov sp, %[top]\n\t"
      "blr %[body]\n\t"
      "mov sp, x19"
      : "+r"(first)
      : [top] "r"((uint64_t)top), [body] "r"((uint64_t)(uintptr_t)body)
      : "x19", "x1", "x2", "x3", "x4", "x5", "x6", "x7", "x8", "x9", "x10", "x11", "x12", "x13", "x14", "x15", "x16",
        "x17", "x30", "cc", "memory", "v0", "v1", "v2", "v3", "v4", "v5", "v6", "v7", "v8", "v9", "v10", "v11", "v12",
        "v13", "v14", "v15", "v16", "v17", "v18", "v19", "v20", "v21", "v22", "v23", "v24", "v25", "v26", "v27", "v28",
        "v29", "v30", "v31");
  return 1;
#else
  (void)top;
  (void)body;
  (void)context;
  return 0;
#endif
}
