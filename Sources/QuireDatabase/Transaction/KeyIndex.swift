// The key index: collection id and key lead to the row's id.
//
// A key of the index is the collection's id, big-endian, so that a collection is one range of the tree, and the row's
// key in UTF-8; the value is the row's id, eight bytes little-endian.

internal import QuireStorage

extension TransactionState {
  /// The key of the index for a row, in memory that is good until the next one is made; nil if no row can have it.
  @inline(__always)
  func indexKey(_ collection: CollectionID, _ key: String) -> SearchKey? {
    let byteCount = key.utf8.count
    guard byteCount <= Limits.rowKeyByteCount else { return nil }
    let base = unsafe scratch.key
    unsafe base.storeBytes(of: collection.rawValue.bigEndian, as: UInt32.self)
    let target = unsafe base + CollectionID.byteCount
    // No copy of the string is made where it can be helped: its bytes may be shared, and counted, by other threads.
    let isCopied: Void? = unsafe key.utf8.withContiguousStorageIfAvailable { unsafe copy($0, to: target) }
    if isCopied == nil {
      var key = key
      key.withUTF8 { unsafe copy($0, to: target) }
    }
    return unsafe SearchKey(UnsafeRawBufferPointer(start: base, count: CollectionID.byteCount + byteCount))
  }

  /// Copies a key: most are short, and a call for one costs more than the copy.
  @inline(__always) private func copy(_ key: UnsafeBufferPointer<UInt8>, to target: UnsafeMutableRawPointer) {
    guard let base = key.baseAddress else { return }
    let (source, count) = unsafe (UnsafeRawPointer(base), key.count)
    func copyWord<Word: FixedWidthInteger>(_ offset: Int, _: Word.Type) {
      let word = unsafe source.loadUnaligned(fromByteOffset: offset, as: Word.self)
      unsafe target.storeBytes(of: word, toByteOffset: offset, as: Word.self)
    }
    // From both ends, which overlap in the middle.
    if count > 16 {
      unsafe target.copyMemory(from: source, byteCount: count)
    } else if count >= 8 {
      copyWord(0, UInt64.self)
      copyWord(count &- 8, UInt64.self)
    } else if count >= 4 {
      copyWord(0, UInt32.self)
      copyWord(count &- 4, UInt32.self)
    } else {
      for offset in 0..<count { copyWord(offset, UInt8.self) }
    }
  }

  /// The id of the row under a key. Touches one page per level of the key index.
  @inline(__always)
  func rowID(_ collection: CollectionID, _ key: String) throws(DatabaseError) -> RowID? {
    guard let indexKey = indexKey(collection, key) else { return nil }
    do throws(StorageError) {
      guard let value = try lend(indexKey, in: trees.keys) else { return nil }
      defer { endLoan(value) }
      if let rowID = rowID(value) { return rowID }
    } catch {
      throw DatabaseError(error, key: key)
    }
    throw RowView.damaged()
  }

  /// The id in an entry of the key index; nil if it is none.
  @inline(__always) func rowID(_ value: BorrowedValue) -> RowID? {
    // A row's id is too short for pages of its own.
    guard value.count == 8, !value.isExtent else { return nil }
    return RowID(stored: Int64(littleEndian: unsafe value.base.loadUnaligned(as: Int64.self)))
  }

  /// The number of rows of a collection. O(log n).
  func count(_ collection: CollectionID) throws(DatabaseError) -> Int {
    try wrapping { () throws(StorageError) in
      max(0, try rank(collection.end, in: trees.keys) - rank(collection.prefix, in: trees.keys))
    }
  }

  /// The number of rows whose keys lie within bounds. O(log n).
  func count(_ bounds: KeyBounds) throws(DatabaseError) -> Int {
    try wrapping { () throws(StorageError) in
      max(0, try rank(bounds.upper, in: trees.keys) - rank(bounds.lower, in: trees.keys))
    }
  }
}

/// A range of the key index within one collection: from `lower` up to `upper`, which is not part of it.
///
/// Invariant: both begin with the number of a collection, of all its bytes.
struct KeyBounds {
  let lower: [UInt8]
  let upper: [UInt8]

  /// The keys from `first` up to `end`; nil means from the first, to the last.
  init(_ collection: CollectionID, from first: String? = nil, upTo end: String? = nil) {
    lower = collection.prefix + (first.map { [UInt8]($0.utf8) } ?? [])
    upper = end.map { collection.prefix + [UInt8]($0.utf8) } ?? collection.end
  }

  /// The keys that begin with `prefix`.
  init(_ collection: CollectionID, prefix: String) {
    lower = collection.prefix + [UInt8](prefix.utf8)
    if prefix.isEmpty {
      upper = collection.end
    } else {
      // The next byte string that does not begin with it: no byte of UTF-8 is 0xff, so that the last one can grow.
      var end = lower
      end[end.count - 1] += 1
      upper = end
    }
    assert(lower.lexicographicallyPrecedes(upper), "no key begins with a prefix")
  }
}

/// A range of keys of a collection, as Swift writes it.
public protocol KeyRange: Sendable {
  /// The first key, or nil for no bound.
  var firstKey: String? { get }
  /// The key that the range ends before, or nil for no bound.
  var endKey: String? { get }
}

extension Range: KeyRange where Bound == String {
  public var firstKey: String? { lowerBound }
  public var endKey: String? { upperBound }
}

extension PartialRangeFrom: KeyRange where Bound == String {
  public var firstKey: String? { lowerBound }
  public var endKey: String? { nil }
}

extension PartialRangeUpTo: KeyRange where Bound == String {
  public var firstKey: String? { nil }
  public var endKey: String? { upperBound }
}

extension ClosedRange: KeyRange where Bound == String {
  public var firstKey: String? { lowerBound }
  /// The key behind the last one is the last one and a zero byte.
  public var endKey: String? { upperBound + "\0" }
}

extension PartialRangeThrough: KeyRange where Bound == String {
  public var firstKey: String? { nil }
  public var endKey: String? { upperBound + "\0" }
}
