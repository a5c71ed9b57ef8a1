// A limit on the memory of processes, with what the system keeps of their files in memory.

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

/// A control group of the kernel's, of either version, with a limit on memory. What its processes read and write
/// through the page cache counts against the limit.
final class MemoryGroup {
  let path: String

  /// Makes a group below the one of this process, or where the kernel wants processes in leaves alone, beside it.
  init(byteCount: Int) throws {
    var reasons: [String] = []
    for parent in Self.parents {
      let path = "\(parent)/quire-bench-\(getpid())"
      guard mkdir(path, 0o755) == 0 || errno == EEXIST else {
        reasons.append("\(path): errno \(errno)")
        continue
      }
      if Self.limit(path, byteCount) {
        self.path = path
        return
      }
      reasons.append("\(path) takes no limit")
      rmdir(path)
    }
    let why = reasons.isEmpty ? "the system has none" : reasons.joined(separator: "; ")
    throw StoreFailure(description: "no control group for memory can be made: \(why)")
  }

  /// The group must be empty by then; what it held of files in memory becomes its parent's.
  deinit { rmdir(path) }

  /// Puts this process into the group at `path`.
  static func join(_ path: String) throws {
    try "\(getpid())".write(toFile: "\(path)/cgroup.procs", atomically: false, encoding: .utf8)
  }

  /// The file of the second version comes first: the first has none of that name.
  private static func limit(_ path: String, _ byteCount: Int) -> Bool {
    ["memory.max", "memory.limit_in_bytes"].contains { file in
      guard FileManager.default.fileExists(atPath: "\(path)/\(file)") else { return false }
      return (try? "\(byteCount)".write(toFile: "\(path)/\(file)", atomically: false, encoding: .utf8)) != nil
    }
  }

  /// Where a group may be made: in that of this process, in the one above.
  private static var parents: [String] {
    var mounts: [(place: String, isFirstVersion: Bool)] = []
    for line in lines(of: "/proc/self/mounts") {
      let fields = line.split(separator: " ")
      guard fields.count > 3 else { continue }
      if fields[2] == "cgroup", fields[3].split(separator: ",").contains("memory") {
        mounts.append((String(fields[1]), true))
      } else if fields[2] == "cgroup2" {
        mounts.append((String(fields[1]), false))
      }
    }
    return mounts.flatMap { mount -> [String] in
      for line in lines(of: "/proc/self/cgroup") {
        let fields = line.split(separator: ":", maxSplits: 2, omittingEmptySubsequences: false)
        let isOurs = mount.isFirstVersion ? fields[1].split(separator: ",").contains("memory") : fields[0] == "0"
        guard fields.count == 3, isOurs else { continue }
        let own = mount.place + (fields[2] == "/" ? "" : String(fields[2]))
        return fields[2] == "/" ? [own] : [own, (own as NSString).deletingLastPathComponent]
      }
      return []
    }
  }
}
