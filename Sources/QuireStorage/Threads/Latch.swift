// Short mutual exclusion in memory. The lock is the standard library's; what is added is for the thread sanitizer
// alone.

#if DEBUG
  #if canImport(Darwin)
    internal import Darwin
  #elseif canImport(Glibc)
    internal import Glibc
  #elseif canImport(Musl)
    internal import Musl
  #elseif canImport(Android)
    internal import Android
  #endif
  internal import Synchronization
#else
  package import Synchronization
#endif

#if DEBUG
  /// Guards a value: who is inside `withLock` is alone.
  ///
  /// The thread sanitizer cannot look into the standard library's mutex and would report every use as a race, among
  /// which a real one would not be found. Debug builds therefore tell it when the latch is taken and given up. They
  /// count the latches of each thread, too, for `CallOut`, and taking one is a step of a schedule.
  package struct Latch<Value: ~Copyable>: ~Copyable, Sendable {
    private let mutex: Mutex<Value>
    /// What the sanitizer knows the latch by.
    private let key = SanitizerKey()
    private let isTaken = TakenFlag()

    /// Guards `value`.
    package init(_ value: consuming sending Value) { mutex = Mutex(value) }

    /// Runs `body` alone. Waits for a thread that is inside; must not be called from inside.
    package borrowing func withLock<Result: ~Copyable, Failure: Error>(
      _ body: (inout sending Value) throws(Failure) -> sending Result
    ) throws(Failure) -> sending Result {
      if let thread = ThreadSeam.current {
        thread.step()
        isTaken.awaitFree(thread)
      }
      return try mutex.withLock { (value) throws(Failure) -> sending Result in
        key.acquire()
        isTaken.value = true
        CallOut.didTakeLatch()
        defer {
          CallOut.willGiveUpLatch()
          isTaken.value = false
          key.release()
        }
        return try body(&value)
      }
    }
  }
#else
  /// Guards a value: who is inside `withLock` is alone. The mutex itself: a type of ours around it asks at run time, at
  /// each call from another module, what type it guards, which costs more than the lock.
  package typealias Latch<Value: ~Copyable> = Mutex<Value>
#endif

#if DEBUG
  /// Whether somebody is inside a latch, so that a schedule knows who can go on.
  private final class TakenFlag: Sendable {
    private let word = Synchronization.Atomic<Bool>(false)

    var value: Bool {
      get { word.load(ordering: .sequentiallyConsistent) }
      set { word.store(newValue, ordering: .sequentiallyConsistent) }
    }

    /// Lets others go on until nobody is inside.
    func awaitFree(_ thread: any ScheduledThread) {
      if value { _ = thread.wait(until: { [self] in !value }, deadline: nil) }
    }
  }

  /// An address that stands for a latch in the thread sanitizer's eyes; does nothing in a process without one.
  private struct SanitizerKey: ~Copyable, @unchecked Sendable {
    // Sendable: safe because nothing is ever read or written through the address.
    private typealias Hook = @convention(c) (UnsafeMutableRawPointer) -> Void

    private static let acquireHook = hook("__tsan_acquire")
    private static let releaseHook = hook("__tsan_release")
    private let address = UnsafeMutableRawPointer.allocate(byteCount: 8, alignment: 8)

    deinit { address.deallocate() }

    private static func hook(_ name: String) -> Hook? {
      guard let handle = dlopen(nil, RTLD_NOW), let symbol = dlsym(handle, name) else { return nil }
      return unsafeBitCast(symbol, to: Hook.self)
    }

    func acquire() { Self.acquireHook?(address) }
    func release() { Self.releaseHook?(address) }
  }
#endif
