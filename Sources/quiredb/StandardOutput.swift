// Lines to standard output.

import QuireDatabase

#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Android)
  import Android
#endif

/// Lines to standard output, many at a time.
struct StandardOutput: ~Copyable {
  private var bytes: [UInt8] = []
  private static let byteCount = 1 << 18

  mutating func append(_ line: String) {
    bytes.append(contentsOf: line.utf8)
    bytes.append(UInt8(ascii: "\n"))
    if bytes.count >= Self.byteCount { flush() }
  }

  /// Writes a line at once.
  static func write(_ line: String) {
    var output = StandardOutput()
    output.append(line)
    output.flush()
  }

  /// Writes what is left. A reader that has gone away ends the process, as it does every filter.
  mutating func flush() {
    var rest = bytes[...]
    while !rest.isEmpty {
      let count = rest.withUnsafeBytes { Self.writeSome($0) }
      if count < 0, errno == EINTR { continue }
      if count <= 0 {
        complain("standard output: \(String(cString: strerror(errno)))")
        exit(1)
      }
      rest = rest.dropFirst(count)
    }
    bytes.removeAll(keepingCapacity: true)
  }

  private static func writeSome(_ bytes: UnsafeRawBufferPointer) -> Int { systemWrite(1, bytes) }
}

/// The system's call, of which types here have members of the same name: how many of the bytes were written.
func systemWrite(_ descriptor: Int32, _ bytes: UnsafeRawBufferPointer) -> Int {
  guard let base = bytes.baseAddress else { return 0 }
  return write(descriptor, base, bytes.count)
}

/// Writes a line to standard output at once, whatever is in it, and ends the process with 1 where that fails. In this
/// module it stands in the place of the standard library's, which does not tell.
func print(_ line: String) { StandardOutput.write(visible(line)) }
