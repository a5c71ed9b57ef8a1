// The bytes of one file of a database, as the decoder reads them: nothing is read that is not there.

/// Why bytes are no database, or no whole one.
package struct DecodingFailure: Error, CustomStringConvertible {
  /// The file, and where in it.
  package let file: DecodedFile
  package let offset: Int
  /// What is wrong there.
  package let text: String

  package var description: String { "\(file), offset \(offset): \(text)" }
}

/// A file of a database.
package enum DecodedFile: Hashable, Sendable, CustomStringConvertible {
  case data
  /// The log file of this number.
  case log(Int)

  package var description: String {
    switch self {
    case .data: "data file"
    case .log(let index): "log file \(index)"
    }
  }
}

/// Bytes with little-endian integers in them.
struct DecoderBytes {
  let file: DecodedFile
  let bytes: [UInt8]

  var count: Int { bytes.count }

  func failure(_ offset: Int, _ text: String) -> DecodingFailure {
    DecodingFailure(file: file, offset: offset, text: text)
  }

  /// Makes sure that a range is inside the file.
  func require(_ offset: Int, _ count: Int) throws(DecodingFailure) {
    guard offset >= 0, count >= 0, offset <= bytes.count, count <= bytes.count - offset else {
      throw failure(offset, "\(count) bytes are needed, and the file has \(bytes.count)")
    }
  }

  func word(_ offset: Int) throws(DecodingFailure) -> UInt64 { try integer(offset) }
  func half(_ offset: Int) throws(DecodingFailure) -> UInt32 { try integer(offset) }
  func short(_ offset: Int) throws(DecodingFailure) -> Int { Int(try integer(offset) as UInt16) }
  func byte(_ offset: Int) throws(DecodingFailure) -> UInt8 { try integer(offset) }

  /// A word that counts something that is in memory or in a file.
  func number(_ offset: Int) throws(DecodingFailure) -> Int {
    let value = try word(offset)
    guard let number = Int(exactly: value), number < 1 << 56 else {
      throw failure(offset, "\(value) is too large a number")
    }
    return number
  }

  private func integer<Integer: FixedWidthInteger>(_ offset: Int) throws(DecodingFailure) -> Integer {
    try require(offset, MemoryLayout<Integer>.size)
    return bytes.withUnsafeBytes {
      Integer(littleEndian: $0.loadUnaligned(fromByteOffset: offset, as: Integer.self))
    }
  }

  func slice(_ offset: Int, _ count: Int) throws(DecodingFailure) -> [UInt8] {
    try require(offset, count)
    return Array(bytes[offset..<(offset + count)])
  }

  /// The XXH3-64 of a range.
  func hash(_ offset: Int, _ count: Int, seed: UInt64) throws(DecodingFailure) -> UInt64 {
    try require(offset, count)
    return bytes.withUnsafeBytes {
      ReferenceHash.hash(UnsafeRawBufferPointer(rebasing: $0[offset..<(offset + count)]), seed: seed)
    }
  }
}
