// Clocks and the kernel's own counters, read around what is measured.

internal import Foundation

#if canImport(Darwin)
  internal import Darwin
#elseif canImport(Glibc)
  internal import Glibc
#elseif canImport(Musl)
  internal import Musl
#elseif canImport(Android)
  internal import Android
#endif

/// The clocks.
enum Clocks {
  /// Time that passes, in nanoseconds.
  static func wall() -> Int { read(CLOCK_MONOTONIC) }
  /// Time that this thread was on a core, in nanoseconds: reads are judged by it, because other work on the machine
  /// then only adds cache misses.
  static func thread() -> Int { read(CLOCK_THREAD_CPUTIME_ID) }

  /// Time that all threads of this process were on cores, in nanoseconds.
  static func process() -> Int { read(CLOCK_PROCESS_CPUTIME_ID) }

  private static func read(_ clock: clockid_t) -> Int {
    var time = timespec()
    clock_gettime(clock, &time)
    return time.tv_sec * 1_000_000_000 + time.tv_nsec
  }
}

/// What the kernel counts for this process.
enum ProcessCounters {
  /// Page faults that needed no disk, of all threads.
  static func minorFaults() -> Int {
    var usage = rusage()
    // RUSAGE_SELF, to which Glibc gives a type that its own function does not take.
    getrusage(0, &usage)
    return usage.ru_minflt
  }

  /// Bytes handed to write calls, or nil where the kernel does not tell.
  static func bytesWritten() -> Int? { number("wchar:", in: "/proc/self/io") }

  /// Bytes of the pages that this process has made dirty, whole folios of them, or nil where the kernel does not tell.
  static func bytesDirtied() -> Int? { number("write_bytes:", in: "/proc/self/io") }

  /// Bytes that had to be fetched from a disk, or nil where the kernel does not tell.
  static func bytesFetched() -> Int? { number("read_bytes:", in: "/proc/self/io") }

  /// Memory of this process that no file stands behind, in bytes, or nil where the kernel does not tell.
  static func anonymousBytes() -> Int? { number("RssAnon:", in: "/proc/self/status").map { $0 << 10 } }

  /// The most memory of this process that was ever resident, in bytes, or nil where the kernel does not tell.
  static func peakResidentBytes() -> Int? { number("VmHWM:", in: "/proc/self/status").map { $0 << 10 } }

  /// The first number on the line that begins with `label`.
  private static func number(_ label: String, in file: String) -> Int? {
    for line in lines(of: file) where line.hasPrefix(label) {
      return line.dropFirst(label.count).split { $0 == " " || $0 == "\t" }.first.flatMap { Int($0) }
    }
    return nil
  }
}

/// What the disk below a folder has done, for all processes.
struct DiskCounters {
  private let major: Int
  private let minor: Int

  /// Finds the whole disk below `directory`; nil where there is none that the kernel counts for (other systems,
  /// network and overlay file systems).
  init?(directory: String) {
    #if os(Linux)
      guard let device = deviceNumber(of: directory) else { return nil }
      let own = "/sys/dev/block/\(device)"
      // The kernel counts flushes for the disk, not for its partitions.
      let isPartition = FileManager.default.fileExists(atPath: "\(own)/partition")
      let place = isPartition ? "\(own)/../dev" : "\(own)/dev"
      let numbers = lines(of: place).first?.split(separator: ":").compactMap { Int($0) } ?? []
      guard numbers.count == 2 else { return nil }
      (major, minor) = (numbers[0], numbers[1])
      if flushes() == nil { return nil }
    #else
      return nil
    #endif
  }

  /// Flush requests completed since the machine started.
  func flushes() -> Int? { field(18) }

  /// Bytes written since the machine started.
  func bytesWritten() -> Int? { field(9).map { $0 * 512 } }

  /// Requests that the disk has been given and has not completed.
  func requestsInFlight() -> Int? { field(11) }

  private func field(_ index: Int) -> Int? {
    for line in lines(of: "/proc/diskstats") {
      let fields = line.split(separator: " ")
      guard fields.count >= 20, Int(fields[0]) == major, Int(fields[1]) == minor else { continue }
      return Int(fields[index])
    }
    return nil
  }
}

/// How far a counter has moved; nil where the kernel does not tell.
func difference(_ after: Int?, _ before: Int?) -> Int? {
  guard let after, let before else { return nil }
  return after - before
}

/// The sum of two differences, if both are known.
func sum(_ left: Int?, _ right: Int?) -> Int? {
  guard let left, let right else { return nil }
  return left + right
}

/// A note of a counter spread over `operations`, if the kernel tells.
func note(_ name: String, _ value: Int?, per operations: Int = 1) -> [Note] {
  value.map { [Note(name, Double($0) / Double(operations))] } ?? []
}

/// The device that holds `path`, as `major:minor`.
private func deviceNumber(of path: String) -> String? {
  var status = stat()
  guard stat(path, &status) == 0 else { return nil }
  let device = UInt64(truncatingIfNeeded: status.st_dev)
  return "\((device >> 8) & 0xfff):\((device & 0xff) | ((device >> 12) & 0xfff00))"
}

/// The kind of file system that holds `path`, such as `ext4`; nil where the system does not tell.
func fileSystem(of path: String) -> String? {
  guard let device = deviceNumber(of: path) else { return nil }
  // A line reads "31 1 8:1 / /data rw,relatime - ext4 /dev/sda1 rw".
  for line in lines(of: "/proc/self/mountinfo") {
    let fields = line.split(separator: " ")
    guard fields.count > 3, fields[2] == device, let dash = fields.firstIndex(of: "-") else { continue }
    if dash + 1 < fields.count { return String(fields[dash + 1]) }
  }
  return nil
}

/// The lines of one of the kernel's files, none where there is no such file.
func lines(of path: String) -> [Substring] {
  (try? String(contentsOfFile: path, encoding: .utf8))?.split(separator: "\n") ?? []
}
