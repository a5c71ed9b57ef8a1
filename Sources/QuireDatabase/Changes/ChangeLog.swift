// What a transaction has changed, in the order in which it did: bytes in a row, so that a million changes cost little
// more than their keys, and a savepoint is a position.
//
// An entry is a kind (1 byte), the collection's id (4 bytes), the row's id (8 bytes), the length of the key (2 bytes),
// all in the byte order of the machine, and the key in UTF-8; without row and key if it concerns more than a row.

internal import QuireStorage

/// Changes in their order.
///
/// Invariants: `bytes` are whole entries, `count` of them, each as `append`, `clear` or `clearAll` has written it.
struct ChangeLog: Sendable {
  /// What happened to a row.
  enum Kind: Hashable, Sendable {
    case inserted
    case changed(RowHalves)
    case touched(RowHalves)
    case removed

    var code: UInt8 {
      switch self {
      case .inserted: 1
      case .changed(let halves): 4 | halves.rawValue
      case .touched(let halves): 8 | halves.rawValue
      case .removed: 2
      }
    }

    /// Whether bytes of the row were stored, or the row removed.
    var isStored: Bool { if case .touched = self { false } else { true } }

    init?(code: UInt8) {
      switch code {
      case 1: self = .inserted
      case 2: self = .removed
      case 4...7: self = .changed(RowHalves(rawValue: code & 3))
      case 8...11: self = .touched(RowHalves(rawValue: code & 3))
      default: return nil
      }
    }
  }

  /// One entry.
  enum Entry {
    case row(Kind, CollectionID, RowID, String)
    case cleared(CollectionID)
    case clearedAll
  }

  private static let clearedCode: UInt8 = 16
  private static let clearedAllCode: UInt8 = 17

  private(set) var bytes: [UInt8] = []
  /// Whether all rows were removed, perhaps in a savepoint that was undone since.
  private(set) var hasClearedAll = false

  var isEmpty: Bool { bytes.isEmpty }
  /// How many entries there are.
  private(set) var count = 0

  /// A place between two entries.
  struct Position {
    fileprivate let byteCount: Int
    fileprivate let count: Int
  }

  /// Where the next entry goes.
  var position: Position { Position(byteCount: bytes.count, count: count) }
  /// Takes back what was noted behind a position.
  mutating func truncate(to position: Position) {
    assert(position.byteCount <= bytes.count && position.count <= count, "the log ends before the position")
    bytes.removeLast(bytes.count - position.byteCount)
    count = position.count
  }

  /// Notes what happened to a row.
  mutating func append(_ kind: Kind, _ collection: CollectionID, _ rowID: RowID, _ key: String) {
    assert(key.utf8.count <= Int(UInt16.max), "the length of a key does not fit two bytes")
    count &+= 1
    bytes.append(kind.code)
    append(collection.rawValue)
    append(rowID.rawValue)
    append(UInt16(truncatingIfNeeded: key.utf8.count))
    bytes.append(contentsOf: key.utf8)
  }

  /// The same for a key in bytes.
  mutating func append(_ kind: Kind, _ collection: CollectionID, _ rowID: RowID, _ key: UnsafeRawBufferPointer) {
    assert(key.count <= Int(UInt16.max), "the length of a key does not fit two bytes")
    count &+= 1
    bytes.append(kind.code)
    append(collection.rawValue)
    append(rowID.rawValue)
    append(UInt16(truncatingIfNeeded: key.count))
    unsafe bytes.append(contentsOf: key)
  }

  /// Notes that all rows of a collection were removed.
  mutating func clear(_ collection: CollectionID) {
    count &+= 1
    bytes.append(Self.clearedCode)
    append(collection.rawValue)
  }

  /// Notes that all rows were removed.
  mutating func clearAll() {
    count &+= 1
    bytes.append(Self.clearedAllCode)
    hasClearedAll = true
  }

  private mutating func append(_ value: some FixedWidthInteger) {
    unsafe withUnsafeBytes(of: value) { unsafe bytes.append(contentsOf: $0) }
  }

  /// Calls `body` with each entry in its order.
  func forEach(_ body: (Entry) -> Void) {
    forEachRaw { entry in
      guard let collection = entry.collection else { return body(.clearedAll) }
      guard let kind = entry.kind else { return body(.cleared(collection)) }
      body(.row(kind, collection, entry.rowID, unsafe String(decoding: entry.key, as: UTF8.self)))
    }
  }

  /// Calls `body` with the collection and the key of each row that was stored or removed, without the key for a
  /// collection all of whose rows were removed, and without both where all rows were. Allocates nothing.
  func forEachStoredChange(_ body: (CollectionID?, UnsafeRawBufferPointer?) -> Void) {
    forEachRaw { entry in
      if !entry.isStored { return }
      unsafe body(entry.collection, entry.kind == nil ? nil : entry.key)
    }
  }

  /// Whether a row was stored or removed. Looks no further than to the first such entry.
  var hasStoredChange: Bool {
    unsafe bytes.withUnsafeBytes { bytes in
      var offset = 0
      while let entry = unsafe Self.entry(bytes, at: &offset) {
        if entry.isStored { return true }
      }
      return false
    }
  }

  private func forEachRaw(_ body: (RawEntry) -> Void) {
    unsafe bytes.withUnsafeBytes { bytes in
      var offset = 0
      while let entry = unsafe Self.entry(bytes, at: &offset) { body(entry) }
    }
  }

  /// One entry, whose key stands in the log.
  @safe struct RawEntry {
    /// What happened to a row; nil if it is not about one.
    let kind: Kind?
    /// The collection; nil if all rows were removed.
    let collection: CollectionID?
    let rowID: RowID
    let key: UnsafeRawBufferPointer

    /// Whether bytes of rows were stored, or rows removed.
    var isStored: Bool { kind?.isStored ?? true }
  }

  /// The entry at `offset` in `bytes`, which are those of a log; nil at the end. Moves `offset` behind it. Allocates
  /// nothing.
  static func entry(_ bytes: UnsafeRawBufferPointer, at offset: inout Int) -> RawEntry? {
    guard offset < bytes.count else { return nil }
    let code = unsafe bytes[offset]
    offset &+= 1
    let none = unsafe UnsafeRawBufferPointer(start: nil, count: 0)
    guard code != clearedAllCode else { return unsafe RawEntry(kind: nil, collection: nil, rowID: RowID(0), key: none) }
    let collection = CollectionID(unsafe bytes.loadUnaligned(fromByteOffset: offset, as: UInt32.self))
    offset &+= 4
    guard code != clearedCode else {
      return unsafe RawEntry(kind: nil, collection: collection, rowID: RowID(0), key: none)
    }
    let rowID = RowID(unsafe bytes.loadUnaligned(fromByteOffset: offset, as: Int64.self))
    let byteCount = Int(unsafe bytes.loadUnaligned(fromByteOffset: offset &+ 8, as: UInt16.self))
    let start = offset &+ 10
    offset = start &+ byteCount
    assert(offset <= bytes.count, "an entry reaches beyond the log")
    // The log was written by `append` of this process.
    guard let kind = Kind(code: code) else { preconditionFailure("the change log has an unknown entry, \(code)") }
    return unsafe RawEntry(
      kind: kind, collection: collection, rowID: rowID, key: UnsafeRawBufferPointer(rebasing: bytes[start..<offset]))
  }
}
