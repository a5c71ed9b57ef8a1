// Sequences over the rows of a collection.
//
// A step of a `for` loop cannot throw. An error in one ends the loop and is thrown by the transaction's next call, at
// the latest by `read` or `write` itself.

/// The rows of a range of a collection, in the order of their keys' bytes.
///
/// Lazy: an iterator shows the state at its start, and fetches up to 16 rows ahead. If the transaction changes anything
/// while an iterator is in use, the iterator's next step fails with `mutatedDuringIteration`.
public struct RowSequence<Object: Sendable, Metadata: Sendable>: Sequence {
  @usableFromInline let source: RowSource

  @inlinable @inline(__always) init(_ source: RowSource) { self.source = source }

  /// The same rows in the opposite order. Reads nothing.
  public func reversed() -> Self { Self(source.with { $0.isReversed.toggle() }) }

  /// Only the rows whose keys satisfy `isIncluded`, which is asked before anything else of a row is read.
  public func filteringKeys(_ isIncluded: @escaping (String) throws -> Bool) -> Self {
    Self(source.with { $0.filter = isIncluded })
  }

  /// The objects alone.
  public var objects: LazyMapSequence<Self, Object> { lazy.map(\.object) }

  /// The first row; nil if there is none, and after an error, which the transaction's next call throws. O(log n).
  public var first: Row<Object, Metadata>? { first { _ in true } }

  @inlinable @inline(__always) public func makeIterator() -> Iterator { Iterator(RowWalk(source)) }

  /// Steps through the rows.
  public struct Iterator: IteratorProtocol {
    @usableFromInline var walk: RowWalk

    @inlinable @inline(__always) init(_ walk: RowWalk) { self.walk = walk }

    /// The next row; nil behind the last one, and after an error.
    @inlinable @inline(__always) public mutating func next() -> Row<Object, Metadata>? {
      guard let found = walk.next() else { return nil }
      return Row(taking: found)
    }
  }
}

/// The keys of a range of a collection, in the order of their bytes. Touches no row.
public struct KeySequence: Sequence {
  private var scan: RowScan

  init(_ scan: RowScan) {
    self.scan = scan
    self.scan.halves = []
  }

  /// The same keys in the opposite order. Costs nothing.
  public func reversed() -> Self {
    var copy = self
    copy.scan.isReversed.toggle()
    return copy
  }

  /// The first key; nil if there is none, and after an error, which the transaction's next call throws. O(log n).
  public var first: String? { first { _ in true } }

  public func makeIterator() -> Iterator { Iterator(scan) }

  /// Steps through the keys.
  public struct Iterator: IteratorProtocol {
    private let transaction: TransactionState
    private let cursor: IndexCursor?

    fileprivate init(_ scan: RowScan) {
      transaction = scan.opened.transaction
      cursor = transaction.noting(nil) { () throws(DatabaseError) in
        try scan.opened.check()
        guard let bounds = scan.bounds else {
          scan.opened.noteRead(nil, [])
          return nil
        }
        return try IndexCursor(scan, bounds)
      }
    }

    /// The next key; nil behind the last one, and after an error.
    public mutating func next() -> String? {
      transaction.noting(nil) { () throws(DatabaseError) in
        do { return try cursor?.next()?.key } catch { throw transaction.wrap(error) }
      }
    }
  }
}

/// The keys of a range of a collection with their metadata, in the order of the keys' bytes. Decodes no object.
public struct MetadataSequence<Object: Sendable, Metadata: Sendable>: Sequence {
  @usableFromInline let source: RowSource

  @inlinable @inline(__always) init(_ source: RowSource) { self.source = source }

  /// The same in the opposite order. Reads nothing.
  public func reversed() -> Self { Self(source.with { $0.isReversed.toggle() }) }

  /// Only those whose keys satisfy `isIncluded`, which is asked before anything else of a row is read.
  public func filteringKeys(_ isIncluded: @escaping (String) throws -> Bool) -> Self {
    Self(source.with { $0.filter = isIncluded })
  }

  @inlinable @inline(__always) public func makeIterator() -> Iterator { Iterator(RowWalk(source)) }

  /// Steps through the metadata.
  public struct Iterator: IteratorProtocol {
    @usableFromInline var walk: RowWalk

    @inlinable @inline(__always) init(_ walk: RowWalk) { self.walk = walk }

    /// The next one; nil behind the last one, and after an error.
    @inlinable public mutating func next() -> MetadataRow<Metadata>? {
      guard let found = walk.next() else { return nil }
      return unsafe MetadataRow(
        key: found.key, rowID: found.rowID,
        metadata: found.metadata?.assumingMemoryBound(to: Metadata.self).move())
    }
  }
}
