// Which bytes of a database's files anything depends on.

/// The live byte ranges of a database, by file and purpose.
///
/// A byte outside all of them may hold anything: a reader of the database never looks at it, or looks and goes on
/// as before.
package struct LivenessMap: Sendable {
  /// What bytes are there for.
  package enum Purpose: Hashable, Sendable {
    /// The meta page that counts.
    case metaPage
    /// The other one: it matters only if the first is lost.
    case spareMetaPage
    case catalog
    case branch
    case leaf
    case freeMap
    case extent
    /// A log record of the chain, by its position among them.
    case record(Int)
  }

  /// Neighbouring bytes of one purpose.
  package struct Range: Sendable {
    package let file: DecodedFile
    package let bytes: Swift.Range<Int>
    package let purpose: Purpose
  }

  /// All ranges, in no order.
  package private(set) var ranges: [Range] = []

  mutating func add(_ file: DecodedFile, _ start: Int, _ count: Int, _ purpose: Purpose) {
    ranges.append(Range(file: file, bytes: start..<(start + count), purpose: purpose))
  }

  /// The purpose of each of the first `byteCount` bytes of a file; nil for those that nothing depends on.
  package func purposes(of file: DecodedFile, byteCount: Int) -> [Purpose?] {
    var result = [Purpose?](repeating: nil, count: byteCount)
    for range in ranges where range.file == file {
      for offset in range.bytes.clamped(to: 0..<byteCount) { result[offset] = range.purpose }
    }
    return result
  }
}
