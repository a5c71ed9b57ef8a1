// Values in extents: written when they are put, given up when their entries go.

/// The extents that the running transaction has written and that are still its own, in order.
///
/// Invariants:
/// 1. An entry without pages has been given back; `indexes` has the index of every other, by its first page.
/// 2. The places of entries with pages were given out ahead of their commit and belong to nobody else.
struct ExtentLedger {
  private struct Entry {
    let first: PageNumber
    var pageCount: Int
    /// The writer's step, a transaction or a savepoint, at which it was written.
    let step: UInt64
    /// The value, if it has not been written yet.
    var deferred: UnsafeRawBufferPointer?
  }

  private var entries: [Entry] = []
  private var indexes: [UInt64: Int] = [:]

  /// The number of entries, to return to.
  var mark: Int { entries.count }

  mutating func add(_ first: PageNumber, pageCount: Int, step: UInt64, deferred: UnsafeRawBufferPointer? = nil) {
    assert(pageCount > 0, "an extent has pages")
    assert(indexes[first.rawValue] == nil, "an extent is written where the transaction has one")
    indexes[first.rawValue] = entries.count
    entries.append(Entry(first: first, pageCount: pageCount, step: step, deferred: deferred))
  }

  /// Calls `write` with every value that has not been written yet.
  mutating func writeDeferred(
    _ write: (PageNumber, UnsafeRawBufferPointer) throws(StorageError) -> Void
  ) throws(StorageError) {
    for index in entries.indices where entries[index].pageCount > 0 {
      guard let value = entries[index].deferred else { continue }
      try write(entries[index].first, value)
      entries[index].deferred = nil
    }
  }

  /// Whether the transaction has written the extent at `first`; then also whether at `step` or later.
  func find(_ first: PageNumber, since step: UInt64) -> (isOwn: Bool, isPrivate: Bool) {
    guard let index = indexes[first.rawValue] else { return (false, false) }
    return (true, entries[index].step >= step)
  }

  /// Takes the extent at `first` off the list; returns the number of its pages, 0 if it is not on it.
  mutating func remove(_ first: PageNumber) -> Int {
    guard let index = indexes.removeValue(forKey: first.rawValue) else { return 0 }
    assert(entries[index].first == first && entries[index].pageCount > 0, "the index of extents leads astray")
    defer { entries[index].pageCount = 0 }
    return entries[index].pageCount
  }

  /// Forgets what was added since `mark` and calls `giveBack` with each of it.
  mutating func restore(_ mark: Int, giveBack: (PageNumber, Int) -> Void) {
    assert(mark >= 0 && mark <= entries.count, "a mark lies behind what it is a mark of")
    for entry in entries[mark...] where entry.pageCount > 0 {
      indexes[entry.first.rawValue] = nil
      giveBack(entry.first, entry.pageCount)
    }
    entries.removeSubrange(mark...)
  }

  /// Checks the invariants; returns what is broken.
  func checkInvariants(_ allocator: PageAllocator?) -> String? {
    var ownCount = 0
    for (index, entry) in entries.enumerated() where entry.pageCount > 0 {
      ownCount += 1
      if indexes[entry.first.rawValue] != index { return "the extent at \(entry.first) is not found" }
      if allocator?.areAheadOfCommit(entry.first, count: entry.pageCount) == false {
        return "the extent at \(entry.first) stands where the transaction has no place"
      }
    }
    return ownCount == indexes.count ? nil : "\(indexes.count) extents are found, \(ownCount) were written"
  }

  /// Forgets everything: the extents belong to a commit.
  mutating func clear() {
    assert(indexes.count <= entries.count, "the index of extents has more than there are")
    // Nearly every transaction.
    if entries.isEmpty { return }
    entries.removeAll(keepingCapacity: true)
    indexes.removeAll(keepingCapacity: true)
  }
}

/// When the bytes of a value go to the extent that it has been given.
package enum ExtentWriting {
  /// When it is put.
  case now
  /// By `writeDeferredExtents` only: the bytes must last until then.
  case deferred
  /// By the next checkpoint, or earlier if memory is short; until then a slot has them. For values of one page that the
  /// log has.
  case kept
}

/// What gives places of extents back. A plain value, for closures that run while the ledger is being changed.
struct ExtentPlaces {
  let store: PageStore
  let allocator: PageAllocator?

  /// Gives places back; adds the value's slot, if it has one, to those that the caller retires.
  func discard(_ first: PageNumber, pageCount: Int, _ slots: inout [UInt]) {
    if let slot = store.takeValue(at: first, pageCount: pageCount) { slots.append(slot) }
    allocator?.discard(first, count: pageCount)
  }

  /// Throws unless `count` places that were given out ahead may be written.
  func prepare(
    _ first: PageNumber, _ count: Int, checkWritable: () throws(StorageError) -> Void
  ) throws(StorageError) {
    try store.grow(toPageCount: first.rawValue + UInt64(count))
    // Looked at only now: places that a checkpoint gives back after it has failed may be named by its meta page, but
    // those are given back when the failure is known, and so are not these.
    try checkWritable()
    for number in first.rawValue..<(first.rawValue + UInt64(count)) where store.isResident(PageNumber(number)) {
      // Only a free map that lies leads here: writing would destroy what is in use.
      throw store.damaged(PageReference(PageNumber(number)), "the free map calls it free, but it is in use")
    }
  }
}

extension OwnPages {
  private var places: ExtentPlaces { ExtentPlaces(store: store, allocator: allocator) }

  /// Gives a value an extent of the running transaction. If that fails, nothing has changed.
  ///
  /// - Parameters:
  ///   - writing: when it is written.
  ///   - checkWritable: throws if writing has stopped for good.
  /// - Throws: what `checkWritable` throws, `diskFull`, `inputOutput`, `limitReached`, and `damagedPage` if the free
  ///   map calls pages free that are in use.
  package mutating func writeExtent(
    _ value: UnsafeRawBufferPointer, _ writing: ExtentWriting = .now, checkWritable: () throws(StorageError) -> Void
  ) throws(StorageError) -> ExtentReference {
    guard let allocator else { preconditionFailure("the catalog has no long values") }
    let count = ExtentLayout(valueByteCount: value.count, pageSize: store.pageSize).pageCount
    let first = allocator.allocateAhead(count, isCommitted: false)
    do throws(StorageError) {
      try places.prepare(first, count, checkWritable: checkWritable)
      let extent =
        writing == .kept
        ? try keepValue(value, at: first)
        : try store.writeExtent(value, at: first, birth: csn, isWritten: writing == .now)
      extents.add(first, pageCount: count, step: step, deferred: writing == .deferred ? value : nil)
      return extent
    } catch {
      allocator.discard(first, count: count)
      throw error
    }
  }

  private mutating func keepValue(
    _ value: UnsafeRawBufferPointer, at number: PageNumber
  ) throws(StorageError) -> ExtentReference {
    let slot = try takeSlot()
    do throws(StorageError) { return try store.keepValue(value, in: slot, at: number, birth: csn) } catch {
      store.pool.release(slot)
      throw error
    }
  }

  /// Copies a value from `source`, this file or another one, to an extent of the running transaction. If that fails,
  /// nothing has changed.
  ///
  /// - Parameters:
  ///   - first: the first of as many places as the value needs, given out ahead of the commit; anywhere if nil.
  /// - Throws: as `writeExtent`, and what reading the value throws.
  package mutating func copyExtent(
    _ extent: ExtentReference, of source: PageStore, to first: PageNumber? = nil,
    checkWritable: () throws(StorageError) -> Void
  ) throws(StorageError) -> ExtentReference {
    guard let allocator else { preconditionFailure("the catalog has no long values") }
    let count = extent.layout(pageSize: store.pageSize).pageCount
    let first = first ?? allocator.allocateAhead(count, isCommitted: false)
    do throws(StorageError) {
      try places.prepare(first, count, checkWritable: checkWritable)
      let copy = try store.copyExtent(extent, of: source, to: first, birth: csn)
      extents.add(first, pageCount: count, step: step)
      return copy
    } catch {
      allocator.discard(first, count: count)
      throw error
    }
  }

  /// Writes what has been put off, and was not replaced since.
  ///
  /// - Throws: `diskFull`, `inputOutput`: the transaction must then be given up.
  package mutating func writeDeferredExtents() throws(StorageError) {
    let (store, csn) = (store, csn)
    try extents.writeDeferred { (first, value) throws(StorageError) in
      try store.writeExtent(value, at: first, birth: csn)
    }
  }

  /// Gives back an extent that was written for an entry which then was not stored. Its value may be in memory.
  package mutating func discardExtent(_ extent: ExtentReference) {
    let count = extents.remove(extent.first)
    guard count > 0 else { return }
    var slots: [UInt] = []
    places.discard(extent.first, pageCount: count, &slots)
    store.retire(slots)
  }

  /// Notes that the transaction's trees no longer refer to an extent. One that was written since the newest savepoint
  /// can be given back at once, as nothing can bring its entry back but a rollback that forgets it anyway.
  mutating func supersedeExtent(_ extent: ExtentReference) {
    let (isOwn, isPrivate) = extents.find(extent.first, since: step)
    if isPrivate { return discardExtent(extent) }
    let count = UInt32(extent.layout(pageSize: store.pageSize).pageCount)
    superseded.append(
      SupersededPage(reference: PageReference(extent.first), birth: extent.birth, extentPageCount: count))
    if isOwn { hasDeadExtents = true }
  }

  /// Notes that entries of a leaf are given up with what they refer to. Costs a look at every cell: callers leave out
  /// leaves whose parents say that they hold no extents.
  ///
  /// - Parameter givenUp: pages that the operation has given up so far.
  /// - Throws: `damagedPage` if an extent takes a page that was given up already: its place would be given out while
  ///   something still refers to it.
  mutating func supersedeExtents(
    in leaf: PageBytes, _ range: Range<Int>, _ givenUp: inout GivenUpPages
  ) throws(StorageError) {
    for index in range {
      let cell = leaf.leafCell(index)
      guard cell.isExtent else { continue }
      let extent = cell.extent
      if let number = givenUp.claim(extent, pageCount: extent.layout(pageSize: store.pageSize).pageCount) {
        throw store.damaged(PageReference(number), "an extent takes it, but not alone")
      }
      supersedeExtent(extent)
    }
  }

  /// Gives back the extents that the transaction has both written and given up: called before its commit is appended or
  /// frozen, so that no free map ever calls their places used.
  package mutating func discardDeadExtents() {
    guard hasDeadExtents else { return }
    let places = places
    var slots: [UInt] = []
    superseded.removeAll { page in
      guard page.extentPageCount > 0 else { return false }
      let count = extents.remove(page.reference.pageNumber)
      if count > 0 { places.discard(page.reference.pageNumber, pageCount: count, &slots) }
      return count > 0
    }
    store.retire(slots)
  }
}
