// Collections as the trees know them.

/// The number of a collection, which stands for its name in the key index and in the rows. Never given twice; a
/// collection that lost its last row and gets a new one is a new collection.
struct CollectionID: Hashable, Comparable, Sendable, CustomStringConvertible {
  let rawValue: UInt32

  /// How many bytes of a key in the key index it takes.
  static let byteCount = 4

  init(_ rawValue: UInt32) { self.rawValue = rawValue }

  static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }

  var description: String { "collection \(rawValue)" }
}

extension CollectionID {
  /// The id as the keys of its rows begin.
  var prefix: [UInt8] { rawValue.bigEndianBytes }

  /// The first key of the index behind the collection.
  var end: [UInt8] { CollectionID(rawValue + 1).prefix }
}
