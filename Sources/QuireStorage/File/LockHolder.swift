// Who holds a lock. flock itself does not tell; Linux lists all locks in /proc/locks.

#if canImport(Darwin)
  internal import Darwin
#elseif canImport(Glibc)
  internal import Glibc
#elseif canImport(Musl)
  internal import Musl
#elseif canImport(Android)
  internal import Android
#endif

/// Finds the process that holds a `flock`.
enum LockHolder {
  /// The holder's process id, or nil where the system does not tell (no /proc, or a process of another namespace).
  static func find(_ identity: FileIdentity) -> Int32? {
    #if os(Linux) || os(Android)
      // Where many locks come and go, what is read in several pieces may lack a line that was there all the time.
      for _ in 0..<attemptCount {
        if let process = search(identity) { return process }
      }
    #endif
    return nil
  }

  #if os(Linux) || os(Android)
    private static let attemptCount = 4

    private static func search(_ identity: FileIdentity) -> Int32? {
      guard let text = readAll("/proc/locks") else { return nil }
      // A line reads "1: FLOCK  ADVISORY  WRITE 4711 08:02:131073 0 EOF": major and minor in hexadecimal.
      let major = (identity.device >> 8) & 0xfff
      let minor = (identity.device & 0xff) | ((identity.device >> 12) & 0xfff00)
      for line in text.split(separator: "\n") {
        let fields = line.split(separator: " ", omittingEmptySubsequences: true)
        guard fields.count >= 6, fields[1] == "FLOCK" else { continue }
        let place = fields[5].split(separator: ":")
        guard place.count == 3, UInt64(place[0], radix: 16) == major, UInt64(place[1], radix: 16) == minor,
          UInt64(place[2]) == identity.inode, let process = Int32(fields[4]), process > 0
        else { continue }
        return process
      }
      return nil
    }

    /// The content of a file of unknown length, such as those of /proc; nil if it cannot be read.
    private static func readAll(_ path: String) -> String? {
      let descriptor = systemOpen(path, O_RDONLY | O_CLOEXEC)
      guard descriptor >= 0 else { return nil }
      defer { systemClose(descriptor) }
      var bytes: [UInt8] = []
      var chunk = [UInt8](repeating: 0, count: 4096)
      while true {
        let count = read(descriptor, &chunk, chunk.count)
        if count <= 0 { break }
        bytes.append(contentsOf: chunk[..<count])
      }
      return String(decoding: bytes, as: UTF8.self)
    }
  #endif
}
