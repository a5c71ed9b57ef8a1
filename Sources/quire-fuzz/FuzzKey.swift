// Keys of either kind for trees of which nothing is known.

import QuireStorage
import QuireTesting

/// A key of a tree.
enum FuzzKey {
  case text([UInt8])
  case number(Int64)

  /// Reads the bytes of a key as a tree of this kind would show them; nil if there are not as many as it takes.
  init?(_ kind: KeyKind, _ bytes: [UInt8]) {
    switch kind {
    case .bytes: self = .text(bytes)
    case .int64:
      guard bytes.count == 8 else { return nil }
      let ordered = bytes.reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
      self = .number(Int64(bitPattern: ordered ^ (1 << 63)))
    }
  }

  /// One of those that are there, or another.
  static func draw(_ kind: KeyKind, _ known: [[UInt8]], _ random: inout SeededRandom) -> FuzzKey {
    if !known.isEmpty, !random.oneIn(3), let key = FuzzKey(kind, known[random.below(known.count)]) { return key }
    let number = Int64(random.below(200))
    return kind == .int64 ? .number(number - 60) : .text(Array("key\(number)".utf8))
  }

  /// The bytes as cursors show them: ordered as the keys are.
  var bytes: [UInt8] {
    switch self {
    case .text(let bytes): bytes
    case .number(let number):
      withUnsafeBytes(of: (UInt64(bitPattern: number) ^ (1 << 63)).bigEndian) { Array($0) }
    }
  }

  /// Puts an entry.
  func put(_ tx: borrowing WriteTransaction, _ value: [UInt8], _ tree: Tree) throws {
    switch self {
    case .text(let key): try tx.put(value, for: key, in: tree)
    case .number(let key): try tx.put(value, for: key, in: tree)
    }
  }

  /// Removes an entry; returns whether there was one.
  func delete(_ tx: borrowing WriteTransaction, _ tree: Tree) throws -> Bool {
    switch self {
    case .text(let key): try tx.delete(key, in: tree)
    case .number(let key): try tx.delete(key, in: tree)
    }
  }

  /// Removes the entries from this key up to another of the same kind.
  func deleteRange(_ tx: borrowing WriteTransaction, to end: FuzzKey, _ tree: Tree) throws {
    switch (self, end) {
    case (.text(let lower), .text(let upper)): try tx.deleteRange(from: lower, to: upper, in: tree)
    case (.number(let lower), .number(let upper)): try tx.deleteRange(from: lower, to: upper, in: tree)
    default: break
    }
  }
}
