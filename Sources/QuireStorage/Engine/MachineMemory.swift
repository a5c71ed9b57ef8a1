// How much memory there is for the process, and what part of it a cache takes by default.

#if canImport(Darwin)
  internal import Darwin
#elseif canImport(Glibc)
  internal import Glibc
#elseif canImport(Musl)
  internal import Musl
#elseif canImport(Android)
  internal import Android
#endif

/// The memory of the machine, or of the group of processes that this one is held in.
package enum MachineMemory {
  /// What the machine has, in bytes; nil where the system does not tell.
  static var physicalByteCount: Int? {
    let (pages, pageSize) = (sysconf(Int32(_SC_PHYS_PAGES)), sysconf(Int32(_SC_PAGESIZE)))
    guard pages > 0, pageSize > 0 else { return nil }
    let (product, overflows) = pages.multipliedReportingOverflow(by: pageSize)
    return overflows ? nil : product
  }

  /// The least that the process's control group, or one around it, may take; nil if none is limited.
  ///
  /// - Parameter contents: the text of a file of the system's; nil if there is none.
  package static func groupLimit(_ contents: (_ path: String) -> String?) -> Int? {
    var limits: [Int] = []
    for line in contents("/proc/self/cgroup")?.split(separator: "\n") ?? [] {
      let parts = line.split(separator: ":", maxSplits: 2, omittingEmptySubsequences: false)
      guard parts.count == 3 else { continue }
      let isUnified = parts[1].isEmpty
      guard isUnified || parts[1].split(separator: ",").contains("memory") else { continue }
      let (root, file) =
        isUnified ? ("/sys/fs/cgroup", "memory.max") : ("/sys/fs/cgroup/memory", "memory.limit_in_bytes")
      // The group itself and all around it; inside a container the outermost one stands for the container.
      var folders = parts[2].split(separator: "/")
      while true {
        let folder = ([root] + folders.map(String.init)).joined(separator: "/")
        if let text = contents("\(folder)/\(file)"), let limit = number(text) { limits.append(limit) }
        if folders.isEmpty { break }
        folders.removeLast()
      }
    }
    return limits.min()
  }

  /// The number that a file holds; nil of “max” and the like.
  private static func number(_ text: String) -> Int? {
    let end = text.firstIndex { $0 == "\n" } ?? text.endIndex
    return Int(text[..<end]).flatMap { $0 > 0 ? $0 : nil }
  }

  /// The cache of who does not choose one, in bytes, where there is so much memory: a quarter, from 64 MiB to 16 GiB;
  /// on phones, watches and televisions, where the system ends who takes too much, a sixteenth, from 32 MiB to 512 MiB.
  ///
  /// - Parameter memory: in bytes; nil if it is not known.
  package static func cacheSize(for memory: Int?, isShared: Bool) -> Int {
    let (part, least, most, unknown) =
      isShared ? (16, 32 << 20, 512 << 20, 128 << 20) : (4, 64 << 20, 16 << 30, 512 << 20)
    return memory.map { min(max($0 / part, least), most) & ~((1 << 20) - 1) } ?? unknown
  }

  /// The same on this machine, found out once.
  static let cacheSize: Int = {
    #if os(iOS) || os(tvOS) || os(watchOS) || os(visionOS)
      return cacheSize(for: physicalByteCount, isShared: true)
    #else
      let known = [physicalByteCount, groupLimit(contents)].compactMap { $0 }
      return cacheSize(for: known.min(), isShared: false)
    #endif
  }()

  /// The beginning of a file of the system's, as text.
  private static func contents(_ path: String) -> String? {
    let descriptor = open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { return nil }
    defer { close(descriptor) }
    var bytes = [UInt8](repeating: 0, count: 16 << 10)
    let count = bytes.withUnsafeMutableBytes { read(descriptor, $0.baseAddress, $0.count) }
    return count < 0 ? nil : String(validating: bytes.prefix(count), as: UTF8.self)
  }
}

extension StorageOptions {
  /// The cache of who does not choose one, in bytes: a quarter of the machine's memory, or of what the process's
  /// control group may take, from 64 MiB to 16 GiB; on iOS, tvOS, watchOS and visionOS a sixteenth, from 32 MiB to 512
  /// MiB. Memory is taken as pages are read and written, not before.
  public static var defaultCacheSize: Int { MachineMemory.cacheSize }
}
