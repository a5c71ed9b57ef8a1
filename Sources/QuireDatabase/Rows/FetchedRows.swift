// Rows that were read ahead of who asks for them, without their types.

internal import QuireStorage

/// Decoded rows that wait to be taken, in their order. One thread at a time.
///
/// Invariants:
/// 1. Of the `count` places there are, those from `position` on have what their `parts` say, and those before it
///    nothing any more.
/// 2. `count` is at most `capacity`, which there is memory for.
@safe @usableFromInline final class FetchedRows {
  /// What a place has, a byte: nothing where there is no row. A row has an object where objects are asked for.
  private struct Parts: OptionSet {
    let rawValue: UInt8
    static let entry = Self(rawValue: 1)
    static let metadata = Self(rawValue: 2)
  }

  /// One piece of memory for all places.
  @safe private struct Memory {
    let base: UnsafeMutableRawPointer
    let capacity: Int
    let entries: UnsafeMutablePointer<IndexEntry>
    let objects: UnsafeMutableRawPointer
    let metadata: UnsafeMutableRawPointer
    let parts: UnsafeMutablePointer<Parts>

    init(_ capacity: Int, _ object: ValueType?, _ metadata: ValueType) {
      let objectAlignment = object?.alignment ?? 1
      let alignment = max(MemoryLayout<IndexEntry>.alignment, objectAlignment, metadata.alignment)
      func end(_ start: Int, _ alignment: Int) -> Int { (start + alignment - 1) & ~(alignment - 1) }
      let objectStart = end(capacity * MemoryLayout<IndexEntry>.stride, objectAlignment)
      let metadataStart = end(objectStart + capacity * (object?.stride ?? 0), metadata.alignment)
      let partsStart = metadataStart + capacity * metadata.stride
      self.capacity = capacity
      unsafe base = .allocate(byteCount: partsStart + capacity, alignment: alignment)
      unsafe entries = base.assumingMemoryBound(to: IndexEntry.self)
      unsafe objects = base + objectStart
      unsafe self.metadata = base + metadataStart
      unsafe parts = (base + partsStart).assumingMemoryBound(to: Parts.self)
    }
  }

  private let object: ValueType
  private let metadata: ValueType
  /// Whether objects are decoded, and not metadata alone.
  private let hasObjects: Bool
  @exclusivity(unchecked) private var memory: Memory
  @exclusivity(unchecked) private var count = 0
  @exclusivity(unchecked) private var position = 0

  /// Where few objects take no more than this, in bytes, there is memory for as many as are ever fetched ahead.
  private static let smallByteCount = 4096

  init(_ rows: UntypedRows, hasObjects: Bool, _ count: Int) {
    (object, metadata) = rows.withDescription { ($0.object, $0.metadata) }
    self.hasObjects = hasObjects
    let isSmall = Limits.fetchAhead * object.stride <= Self.smallByteCount
    unsafe memory = Memory(max(count, isSmall ? Limits.fetchAhead : 1), hasObjects ? object : nil, metadata)
  }

  deinit {
    while let row = next() { destroy(row) }
    unsafe memory.base.deallocate()
  }

  /// Whether all have been taken.
  var isEmpty: Bool { unsafe position == count }

  /// Ends the life of what was handed out to be taken.
  private func destroy(_ row: FoundRow) {
    if hasObjects { unsafe object.destroy(row.object) }
    if let place = unsafe row.metadata { unsafe metadata.destroy(place) }
  }

  @inline(__always) private func object(_ index: Int, in memory: Memory) -> UnsafeMutableRawPointer {
    unsafe memory.objects + index &* object.stride
  }
  @inline(__always) private func metadata(_ index: Int, in memory: Memory) -> UnsafeMutableRawPointer {
    unsafe memory.metadata + index &* metadata.stride
  }

  // MARK: Filling

  /// Begins anew, with memory for `count` rows; all have been taken.
  func begin(_ count: Int) {
    assert(isEmpty, "rows are dropped that nobody has taken")
    unsafe (self.count, position) = (0, 0)
    if unsafe count > memory.capacity { grow(to: count) }
  }

  @inline(never) private func grow(to capacity: Int) {
    let old = unsafe memory
    let new = Memory(capacity, hasObjects ? object : nil, metadata)
    for index in unsafe position..<count {
      let has = unsafe old.parts[index]
      unsafe new.parts[index] = has
      guard has.contains(.entry) else { continue }
      unsafe (new.entries + index).moveInitialize(from: old.entries + index, count: 1)
      if hasObjects { unsafe object.move(object(index, in: old), to: object(index, in: new)) }
      if has.contains(.metadata) { unsafe metadata.move(metadata(index, in: old), to: metadata(index, in: new)) }
    }
    unsafe memory = new
    unsafe old.base.deallocate()
  }

  /// A place behind the others without a row, which may come later.
  @inline(__always) func appendPlace() -> Int {
    if unsafe count == memory.capacity { unsafe grow(to: 2 * count) }
    let index = unsafe count
    unsafe memory.parts[index] = []
    unsafe count &+= 1
    return index
  }

  /// Puts a row at a place that has none. `make` makes its halves, the object only where objects are asked for, and
  /// returns whether there are metadata; if it throws there is still no row.
  @inline(__always)
  func put(
    at index: Int, _ key: String, _ rowID: RowID,
    _ make: (_ object: UnsafeMutableRawPointer, _ metadata: UnsafeMutableRawPointer) throws -> Bool
  ) rethrows {
    assert(unsafe index >= position && index < count && memory.parts[index].isEmpty, "a row is put over another one")
    let memory = unsafe memory
    let hasMetadata = try unsafe make(object(index, in: memory), metadata(index, in: memory))
    unsafe (memory.entries + index).initialize(to: IndexEntry(key: key, rowID: rowID))
    unsafe memory.parts[index] = hasMetadata ? [.entry, .metadata] : .entry
  }

  /// Puts a row at a place that has none, if `copy` finds it: it copies the halves, and returns the row's number and
  /// whether there are metadata. Returns whether it was found.
  func put(
    at index: Int, _ key: String,
    _ copy: (_ object: UnsafeMutableRawPointer, _ metadata: UnsafeMutableRawPointer) -> (RowID, hasMetadata: Bool)?
  ) -> Bool {
    let memory = unsafe memory
    guard let found = unsafe copy(object(index, in: memory), metadata(index, in: memory)) else { return false }
    unsafe put(at: index, key, found.0) { _, _ in found.hasMetadata }
    return true
  }

  /// Decodes a row, and puts it behind the others.
  func append(_ key: String, _ rowID: RowID, _ row: RowView, _ rows: UntypedRows) throws {
    let index = appendPlace()
    do {
      try unsafe put(at: index, key, rowID) { (object, metadata) throws in
        hasObjects
          ? try unsafe rows.decode(row, key, into: object, metadata)
          : try unsafe rows.decodeMetadata(of: row, key, into: metadata)
      }
    } catch {
      unsafe count &-= 1
      throw error
    }
  }

  /// Those that are left, once more.
  func copy(_ rows: UntypedRows) -> FetchedRows {
    let other = unsafe FetchedRows(rows, hasObjects: hasObjects, count - position)
    for index in unsafe position..<count {
      let place = other.appendPlace()
      let has = unsafe memory.parts[index]
      guard has.contains(.entry) else { continue }
      let entry = unsafe memory.entries[index]
      unsafe other.put(at: place, entry.key, entry.rowID) { newObject, newMetadata in
        if hasObjects { unsafe object.copy(object(index, in: memory), to: newObject) }
        if has.contains(.metadata) { unsafe metadata.copy(metadata(index, in: memory), to: newMetadata) }
        return has.contains(.metadata)
      }
    }
    return other
  }

  // MARK: Taking

  /// How many rows are left.
  @usableFromInline var rowCount: Int {
    unsafe (position..<count).count { unsafe memory.parts[$0].contains(.entry) }
  }

  /// The next row, to be taken; nil behind the last one.
  @usableFromInline func next() -> FoundRow? {
    while unsafe position < count {
      let index = unsafe position
      unsafe position &+= 1
      let memory = unsafe memory
      let has = unsafe memory.parts[index]
      guard has.contains(.entry) else { continue }
      let entry = unsafe (memory.entries + index).move()
      return unsafe FoundRow(
        key: entry.key, rowID: entry.rowID, object: object(index, in: memory),
        metadata: has.contains(.metadata) ? metadata(index, in: memory) : nil)
    }
    return nil
  }
}

/// What a sequence over rows walks through.
@usableFromInline final class RowSource {
  let rows: UntypedRows
  let scan: RowScan

  init(_ rows: UntypedRows, _ scan: RowScan) {
    self.rows = rows
    self.scan = scan
  }

  /// The same rows otherwise.
  func with(_ change: (inout RowScan) -> Void) -> RowSource {
    var scan = scan
    change(&scan)
    return RowSource(rows, scan)
  }
}

extension UntypedRows {
  /// Rows to walk through.
  func source(_ range: RowScan.Range, _ halves: RowHalves = [.object, .metadata]) -> RowSource {
    var scan = RowScan(opened, range)
    scan.halves = halves
    return RowSource(self, scan)
  }

  @usableFromInline var allRows: RowSource { source(.all) }
  @usableFromInline var allMetadata: RowSource { source(.all, .metadata) }
  @usableFromInline var allKeys: KeySequence { KeySequence(RowScan(opened, .all)) }
}

/// A walk through rows, which are fetched ahead. A copy goes on with the rows that were fetched, and from there with
/// what the original has left.
///
/// One reference, so that an app's loop has one thing to let go of.
@safe @usableFromInline struct RowWalk {
  private var state: RowWalkState

  @usableFromInline init(_ source: RowSource) { state = RowWalkState(source, BatchCursor(source.scan), nil) }

  /// The next row, to be taken; nil behind the last one, and after an error.
  @usableFromInline mutating func next() -> FoundRow? {
    if !isKnownUniquelyReferenced(&state) { state = state.copy() }
    return state.next()
  }
}

/// How far a walk has come.
///
/// Invariant: while its cursor is fetching, nobody takes a step.
private final class RowWalkState {
  private let source: RowSource
  private let cursor: BatchCursor?
  private var fetched: FetchedRows?

  init(_ source: RowSource, _ cursor: BatchCursor?, _ fetched: FetchedRows?) {
    self.source = source
    self.cursor = cursor
    self.fetched = fetched
  }

  /// Shares the rows that were fetched, until one of the two takes one.
  func copy() -> RowWalkState { RowWalkState(source, cursor, fetched) }

  func next() -> FoundRow? {
    guard let cursor else { return nil }
    if cursor.isFetching { return refuseReentry() }
    let isAlone = isKnownUniquelyReferenced(&fetched)
    if let waiting = fetched, !waiting.isEmpty {
      guard cursor.mayGoOn() else { return nil }
      if isAlone { return waiting.next() }
      let own = waiting.copy(source.rows)
      fetched = own
      return own.next()
    }
    let rows = source.rows
    let count = cursor.batchCount
    let next: FetchedRows
    if isAlone, let fetched {
      fetched.begin(count)
      next = fetched
    } else {
      next = FetchedRows(rows, hasObjects: source.scan.halves.contains(.object), count)
      fetched = next
    }
    cursor.fetch { key, rowID, row in try next.append(key, rowID, row, rows) }
    return next.next()
  }

  /// A coder or a filter has come back and steps the very walk that runs it, or a copy: its loop ends, and the
  /// transaction's next call says why.
  private func refuseReentry() -> FoundRow? {
    let (transaction, name) = (source.rows.transaction, source.rows.opened.name)
    return transaction.noting(nil) { () throws(DatabaseError) -> FoundRow? in
      throw DatabaseError(
        .mutatedDuringIteration,
        """
        A loop over “\(name)” was stepped by a coder or a filter that it runs. Have that make a loop of its own.
        """, path: transaction.database.path, collection: name)
    }
  }
}
