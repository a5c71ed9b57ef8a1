// How rows look as JSON.

import QuireDatabase

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// Rows as lines of JSON.
enum ExportedRow {
  /// The line of a row.
  static func line(_ row: ValueRow, of collection: String) -> String {
    var fields = [
      RowValue.Field("collection", .text(collection)), RowValue.Field("key", .text(row.key)),
      RowValue.Field("object", value(row.object)),
    ]
    if let metadata = row.metadata { fields.append(RowValue.Field("metadata", value(metadata))) }
    fields += form(row.object, "")
    if let metadata = row.metadata { fields += form(metadata, "metadata ") }
    return RowValue.record(fields).json
  }

  /// What is shown of a half; nothing of what is encrypted.
  static func value(_ half: StoredHalf) -> RowValue {
    switch half.content {
    case .value(let value): value
    case .custom(let bytes): .bytes(bytes)
    case .encrypted: .null
    }
  }

  /// How it is stored, unless that is as most rows are.
  private static func form(_ half: StoredHalf, _ prefix: String) -> [RowValue.Field] {
    if case .encrypted(let key) = half.content {
      return [RowValue.Field("\(prefix)encrypted with key", .integer(Int128(key)))]
    }
    var fields: [RowValue.Field] = []
    if half.coder != .binary {
      fields.append(RowValue.Field("\(prefix)coder", half.coder.map { .text($0.rawValue) } ?? nil))
    }
    if half.version != 0 { fields.append(RowValue.Field("\(prefix)version", .integer(Int128(half.version)))) }
    return fields
  }
}

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

  private static func writeSome(_ bytes: UnsafeRawBufferPointer) -> Int {
    #if canImport(Darwin)
      Darwin.write(1, bytes.baseAddress, bytes.count)
    #else
      Glibc.write(1, bytes.baseAddress, bytes.count)
    #endif
  }
}
