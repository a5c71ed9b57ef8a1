// When the engine traps, the process dies with it: the last thing that it says is which seed or trial it was.

#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Android)
  import Android
#endif

/// Tells the command that repeats what the thread that trapped was doing. Whatever is used while a signal is handled is
/// made before.
enum TrapReport {
  private static let slotCount = 256
  /// Pairs of a thread and the number that it runs. Safe because a thread writes its own pair only, and the
  /// process is about to die when they are read.
  nonisolated(unsafe) private static let slots = UnsafeMutablePointer<UInt>.allocate(capacity: 2 * slotCount)
  private static let textByteCount = 128
  /// The command in front of the number; safe because it is written while nothing runs.
  nonisolated(unsafe) private static let prefix = UnsafeMutablePointer<CChar>.allocate(capacity: textByteCount)
  /// The command behind the number; safe because it is written while nothing runs.
  nonisolated(unsafe) private static let suffix = UnsafeMutablePointer<CChar>.allocate(capacity: textByteCount)

  /// Begins to listen, or changes the command. No job runs meanwhile.
  ///
  /// - Parameters:
  ///   - command: what repeats a history or a trial; its number follows.
  ///   - options: what follows the number.
  static func install(command: String, options: String = "") {
    slots.initialize(repeating: 0, count: 2 * slotCount)
    strncpy(prefix, "broken: the process trapped\n  replay: \(command) ", textByteCount - 1)
    strncpy(suffix, "\(options.isEmpty ? "" : " \(options)")\n", textByteCount - 1)
    for number in [SIGILL, SIGTRAP, SIGSEGV, SIGBUS, SIGFPE, SIGABRT] { signal(number, reportTrap) }
  }

  /// Notes what the calling thread is about to run.
  static func enter(_ seed: UInt64, job: Int) {
    guard job < slotCount else { return }
    slots[2 * job] = thread
    slots[2 * job + 1] = UInt(seed)
  }

  /// What the threads have noted last.
  static var current: [UInt] { (0..<slotCount).filter { slots[2 * $0] != 0 }.map { slots[2 * $0 + 1] } }

  private static var thread: UInt {
    #if canImport(Darwin)
      UInt(bitPattern: pthread_self())
    #else
      UInt(pthread_self())
    #endif
  }

  /// Says the number of this thread; allocates nothing.
  fileprivate static func say() {
    let this = thread
    for job in 0..<slotCount where slots[2 * job] == this {
      _ = write(2, prefix, strlen(prefix))
      sayNumber(slots[2 * job + 1])
      _ = write(2, suffix, strlen(suffix))
    }
  }

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
