// Memory that cannot pass for anything else.

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// Memory of the allocator that is filled when it is given out and when it is taken back, where the system can do so.
enum PaintedMemory {
  /// What blocks hold that nobody has written to.
  static let given = UInt8(0xA5)
  /// What blocks held when they were taken back.
  static let taken = UInt8(0x5A)

  /// Has all memory filled from now on, in this process: what was asked for and is not used costs memory, too.
  static func begin() {
    #if os(Linux)
      typealias Setting = @convention(c) (Int32, Int32) -> Int32
      let perturb: Int32 = -6
      guard let symbol = dlsym(nil, "mallopt") else { return }
      // Memory that is given out gets the opposite bits.
      _ = unsafeBitCast(symbol, to: Setting.self)(perturb, Int32(taken))
    #endif
  }
}

/// The most memory that this process has had at a time.
enum PeakMemory {
  /// Forgets what was before, where the system lets it; returns the bytes that are taken now.
  static func begin() -> Int {
    #if os(Linux)
      let file = open("/proc/self/clear_refs", O_WRONLY)
      if file >= 0 {
        _ = write(file, "5", 1)
        close(file)
      }
    #endif
    return byteCount
  }

  /// The bytes at the most since the beginning.
  static var byteCount: Int {
    #if os(Linux)
      // A line of the form "VmHWM:     1234 kB".
      let lines = String(decoding: readFile("/proc/self/status"), as: UTF8.self).split(separator: "\n")
      let words = lines.first { $0.hasPrefix("VmHWM:") }?.split(whereSeparator: { $0 == " " || $0 == "\t" }) ?? []
      return words.count > 1 ? (Int(words[1]) ?? 0) << 10 : 0
    #else
      var usage = rusage()
      getrusage(RUSAGE_SELF, &usage)
      return usage.ru_maxrss
    #endif
  }
}
