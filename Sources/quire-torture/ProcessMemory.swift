// How much memory the process has taken for itself, now and at the most.

import QuireStorage
import Synchronization

#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Android)
  import Android
#endif

/// The anonymous memory of this process.
enum ProcessMemory {
  /// The bytes that are resident now: Linux calls them RssAnon, Darwin the footprint. Mapped files are not among them.
  static var byteCount: Int {
    #if canImport(Darwin)
      var usage = rusage_info_v2()
      let result = withUnsafeMutablePointer(to: &usage) { pointer in
        pointer.withMemoryRebound(to: rusage_info_t?.self, capacity: 1) {
          proc_pid_rusage(getpid(), RUSAGE_INFO_V2, $0)
        }
      }
      return result == 0 ? Int(usage.ri_phys_footprint) : 0
    #else
      let file = open("/proc/self/status", O_RDONLY)
      guard file >= 0 else { return 0 }
      defer { close(file) }
      var bytes = [UInt8](repeating: 0, count: 4096)
      let count = bytes.withUnsafeMutableBytes { read(file, $0.baseAddress, $0.count) }
      let text = String(decoding: bytes.prefix(max(0, count)), as: UTF8.self)
      // A line of the form "RssAnon:     1234 kB".
      let line = text.split(separator: "\n").first { $0.hasPrefix("RssAnon:") }
      let words = line?.split(whereSeparator: { $0 == " " || $0 == "\t" }) ?? []
      return words.count > 1 ? (Int(words[1]) ?? 0) << 10 : 0
    #endif
  }
}

/// Looks at the memory of the process every few milliseconds, on a thread of its own.
final class MemoryWatch: Sendable {
  private let highest = Atomic<Int>(0)
  private let samples = Atomic<Int>(0)
  private let highestPages = Atomic<Int>(0)
  private let lentThen = Atomic<Int>(0)
  private let budgetThen = Atomic<Int>(0)
  private let heapUsed = Atomic<Int>(0)
  private let heapKept = Atomic<Int>(0)

  /// What the heap had in use and kept when the most was seen that was seen since the last call of `takeHighest`.
  var heapThen: (used: Int, kept: Int) {
    (heapUsed.load(ordering: .relaxed), heapKept.load(ordering: .relaxed))
  }

  /// How many pages the engine had in memory at that moment, and how many it allowed itself.
  var pagesThen: (lent: Int, budget: Int) {
    (lentThen.load(ordering: .relaxed), budgetThen.load(ordering: .relaxed))
  }

  /// The most that was seen since the last call.
  func takeHighest() -> Int { highest.exchange(ProcessMemory.byteCount, ordering: .relaxed) }

  /// The most pages that the engine has had in memory since the last call.
  func takeHighestPages() -> Int { highestPages.exchange(0, ordering: .relaxed) }

  /// How often it has looked.
  var sampleCount: Int { samples.load(ordering: .relaxed) }

  /// Looks until `isDone` says so.
  ///
  /// - Parameter pages: tells how many pages the engine has in memory, and how many it allows itself.
  func run(until isDone: () -> Bool, pages: () -> (lent: Int, budget: Int)) {
    while !isDone() {
      let byteCount = ProcessMemory.byteCount
      let (lent, budget) = pages()
      if highest.max(byteCount, ordering: .relaxed).oldValue < byteCount {
        let heap = Heap.use
        heapUsed.store(heap.used, ordering: .relaxed)
        heapKept.store(heap.kept, ordering: .relaxed)
        lentThen.store(lent, ordering: .relaxed)
        budgetThen.store(budget, ordering: .relaxed)
      }
      highestPages.max(lent, ordering: .relaxed)
      samples.add(1, ordering: .relaxed)
      usleep(2000)
    }
  }
}
