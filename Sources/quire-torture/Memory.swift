// quire-torture memory: does the engine keep to its budget?

import ArgumentParser
import QuireStorage

#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Android)
  import Android
#endif

/// Works on a database that is larger than its cache and measures the memory of the process all the while.
struct Memory: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Measures the memory that the engine takes when everything is larger than its cache.",
    discussion: """
      Makes a database of four times the cache. Then, while several threads read and snapshots are held: random writes \
      for some seconds, a transaction of four times the cache that is rolled back, one that is committed, a bulk load \
      of as much, and a check of every page. The anonymous memory of the process is sampled throughout: all of it, \
      what the program takes before it opens a database included. Ends with status 1 if it was ever more than the \
      cache and --slack. “In pages” is the most that was lent to pages; “then” and what follows is what there was when \
      the process had the most.
      """)

  @Argument(help: "A folder for the database, which is removed at the end.", completion: .directory)
  var folder: String
  @Option(help: "The cache in MiB.")
  var cache = 64
  @Option(help: "Seconds of random writes.")
  var seconds = 20.0
  @Option(help: "Threads that read.")
  var readers = 3
  @Option(help: "MiB that may be taken beyond the cache.")
  var slack = 32
  @Option(help: "The seed of what is read and written.")
  var seed: UInt64 = 1

  mutating func validate() throws {
    if cache < 1 || cache > 1 << 16 { throw ValidationError("--cache must be 1 to 65536.") }
    if readers < 0 || readers > 64 { throw ValidationError("--readers must be 0 to 64.") }
  }

  func run() throws {
    let path = "\(folder)/memory-\(getpid()).quire"
    defer { remove(path) }
    let baseline = ProcessMemory.byteCount
    guard baseline > 0 else {
      complain("this system does not tell how much memory a process has.")
      throw ExitCode.failure
    }
    let run = try describing {
      try MemoryRun(path, cacheByteCount: cache << 20, readers: readers, seconds: seconds, seed: seed)
    }
    print("cache \(cache) MiB, \(run.entryCount) entries, \(readers) readers; before opening \(inMiB(baseline)) MiB")
    print("")
    print(
      padded("phase", 14) + aligned("seconds", 9) + aligned("MiB", 10) + aligned("in pages", 10)
        + aligned("then", 7) + aligned("budget", 8) + aligned("heap", 7) + aligned("kept", 6) + aligned("allowed", 9)
        + aligned("spilled", 10) + aligned("evicted", 10) + aligned("read", 10) + aligned("checkpoints", 13))
    var isExceeded = false
    try describing {
      try run.work { phase in
        let allowed = (cache + slack) << 20
        let isTooMuch = phase.highest > allowed
        isExceeded = isExceeded || isTooMuch
        print(
          padded(phase.name, 14) + aligned(tenths(phase.seconds), 9) + aligned(inMiB(phase.highest), 10)
            + aligned(inMiB(phase.highestPages), 10) + aligned(inMiB(phase.pagesThen.lent), 7)
            + aligned(inMiB(phase.pagesThen.budget), 8) + aligned(inMiB(phase.heap.used), 7)
            + aligned(inMiB(phase.heap.kept), 6) + aligned(inMiB(allowed), 9) + aligned(phase.pagesSpilled, 10)
            + aligned(phase.pagesEvicted, 10)
            + aligned(phase.pagesRead, 10) + aligned(phase.checkpoints, 13) + (isTooMuch ? "  too much" : ""))
        fflush(nil)
      }
    }
    print("")
    print("\(run.sampleCount) samples, file \(inMiB(run.fileByteCount)) MiB, \(run.readCount) entries read by threads")
    if isExceeded {
      complain("the process took more memory than it was given.")
      throw ExitCode.failure
    }
  }

  private func inMiB(_ byteCount: Int) -> String { tenths(Double(byteCount) / Double(1 << 20)) }

  private func tenths(_ value: Double) -> String {
    let tenths = Int((value * 10).rounded())
    return "\(tenths < 0 ? "-" : "")\(abs(tenths) / 10).\(abs(tenths) % 10)"
  }

  private func remove(_ path: String) {
    for name in [path] + (0..<8).map({ "\(path)-log\($0)" }) { unlink(name) }
  }
}
