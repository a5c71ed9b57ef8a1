// When the engine traps, the process dies with it: the last thing that it says is which seed it was.

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// Tells the seed of the thread that trapped. Whatever is used while a signal is handled is made before.
enum TrapReport {
  private static let slotCount = 256
  /// Pairs of a thread and the seed that it runs. Safe because a thread writes its own pair only, and the
  /// process is about to die when they are read.
  nonisolated(unsafe) private static let slots = UnsafeMutablePointer<UInt>.allocate(capacity: 2 * slotCount)
  /// The rest of the message; safe because it is written once, before the first history.
  nonisolated(unsafe) private static let suffix = UnsafeMutablePointer<CChar>.allocate(capacity: 64)

  /// Begins to listen.
  static func install(isExhaustive: Bool) {
    slots.initialize(repeating: 0, count: 2 * slotCount)
    strcpy(suffix, " --histories 1\(isExhaustive ? " --exhaustive" : "")\n")
    for number in [SIGILL, SIGTRAP, SIGSEGV, SIGBUS, SIGFPE, SIGABRT] { signal(number, reportTrap) }
  }

  /// Notes what the calling thread is about to run.
  static func enter(_ seed: UInt64, job: Int) {
    guard job < slotCount else { return }
    slots[2 * job] = thread
    slots[2 * job + 1] = UInt(seed)
  }

  private static var thread: UInt {
    #if canImport(Darwin)
      UInt(bitPattern: pthread_self())
    #else
      UInt(pthread_self())
    #endif
  }

  /// Says the seed of this thread; allocates nothing.
  fileprivate static func say() {
    let this = thread
    for job in 0..<slotCount where slots[2 * job] == this {
      say("broken: the process trapped\n  replay: quiredb torture --seed ")
      sayNumber(slots[2 * job + 1])
      _ = write(2, suffix, strlen(suffix))
    }
  }

  private static func say(_ text: StaticString) { _ = write(2, text.utf8Start, text.utf8CodeUnitCount) }

  private static func sayNumber(_ number: UInt) {
    if number >= 10 { sayNumber(number / 10) }
    var digit = UInt8(48 + number % 10)
    _ = write(2, &digit, 1)
  }
}

private func reportTrap(_ number: Int32) {
  signal(number, SIG_DFL)
  TrapReport.say()
  raise(number)
}
