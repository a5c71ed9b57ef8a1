// Snapshots: immutable roots at a CSN.

internal import Synchronization

/// One snapshot in memory: a flat array of tree roots behind a header.
///
/// Records come from a pool and their memory stays mapped for the life of the engine: a reader may look at the CSN of a
/// record that has just been recycled, and finds out when it looks again (hazard D10).
package struct SnapshotRecord: Equatable, @unchecked Sendable {
  // Sendable: safe because a record is immutable between its publication and its recycling, which waits for readers.
  let base: UnsafeMutableRawPointer

  private static let csnOffset = 0
  private static let treeCountOffset = 8
  private static let capacityOffset = 16
  private static let nextTreeIDOffset = 24
  private static let nextRowIDOffset = 32
  private static let endLSNOffset = 40
  private static let namesOffset = 48
  static let headerByteCount = 64

  init(base: UnsafeMutableRawPointer) { self.base = base }

  /// The address as a word, to be kept in an atomic.
  @inline(__always) package var address: UInt { UInt(bitPattern: base) }

  @inline(__always) private var csnWord: UnsafeMutablePointer<Atomic<UInt64>> {
    (base + Self.csnOffset).assumingMemoryBound(to: Atomic<UInt64>.self)
  }
  /// The commit whose state this is.
  @inline(__always) package var csn: CSN { CSN(csnWord.pointee.load(ordering: .acquiring)) }
  /// The number of trees.
  @inline(__always) package var treeCount: Int {
    get { base.load(fromByteOffset: Self.treeCountOffset, as: Int.self) }
    nonmutating set { base.storeBytes(of: newValue, toByteOffset: Self.treeCountOffset, as: Int.self) }
  }
  /// How many roots the record has room for.
  package var capacity: Int { base.load(fromByteOffset: Self.capacityOffset, as: Int.self) }
  /// The id of the next tree to be made.
  package var nextTreeID: UInt64 {
    get { base.load(fromByteOffset: Self.nextTreeIDOffset, as: UInt64.self) }
    nonmutating set { base.storeBytes(of: newValue, toByteOffset: Self.nextTreeIDOffset, as: UInt64.self) }
  }
  /// The id of the next row to be stored.
  package var nextRowID: Int64 {
    get { base.load(fromByteOffset: Self.nextRowIDOffset, as: Int64.self) }
    nonmutating set { base.storeBytes(of: newValue, toByteOffset: Self.nextRowIDOffset, as: Int64.self) }
  }
  /// The LSN behind the commit's log record: the snapshot is durable when the log is up to there.
  package var endLSN: LSN {
    get { LSN(base.load(fromByteOffset: Self.endLSNOffset, as: UInt64.self)) }
    nonmutating set { base.storeBytes(of: newValue.rawValue, toByteOffset: Self.endLSNOffset, as: UInt64.self) }
  }
  private var namesWord: UnsafeMutablePointer<Unmanaged<TreeNames>?> {
    (base + Self.namesOffset).assumingMemoryBound(to: Unmanaged<TreeNames>?.self)
  }
  /// The names of the trees.
  package var names: TreeNames {
    guard let names = namesWord.pointee else { preconditionFailure("a snapshot in use has names") }
    return names.takeUnretainedValue()
  }
  /// The roots, in the order of their tree ids.
  @inline(__always) package var trees: UnsafeMutablePointer<TreeRoot> {
    (base + Self.headerByteCount).assumingMemoryBound(to: TreeRoot.self)
  }

  /// Where tree `id` is in `trees`, or nil; `hint` is where it was last.
  @inline(__always) package func index(of id: TreeID, hint: Int) -> Int? {
    if hint < treeCount, trees[hint].id == id { return hint }
    return search(id)
  }

  private func search(_ id: TreeID) -> Int? {
    var low = 0
    var high = treeCount
    while low < high {
      let middle = (low + high) / 2
      if trees[middle].id == id { return middle }
      if trees[middle].id < id { low = middle + 1 } else { high = middle }
    }
    return nil
  }

  /// Whether the record has just these names; a comparison of addresses.
  @inline(__always) package func hasNames(_ names: TreeNames) -> Bool {
    namesWord.pointee?.toOpaque() == Unmanaged.passUnretained(names).toOpaque()
  }
  func setNames(_ names: TreeNames?) {
    namesWord.pointee?.release()
    namesWord.pointee = names.map(Unmanaged.passRetained)
  }
  func setCSN(_ csn: UInt64) { csnWord.pointee.store(csn, ordering: .releasing) }

  fileprivate static func make(capacity: Int) -> SnapshotRecord {
    let byteCount = headerByteCount + capacity * MemoryLayout<TreeRoot>.stride
    let base = UnsafeMutableRawPointer.allocate(byteCount: byteCount, alignment: 64)
    base.initializeMemory(as: UInt8.self, repeating: 0, count: headerByteCount)
    base.storeBytes(of: capacity, toByteOffset: capacityOffset, as: Int.self)
    (base + csnOffset).bindMemory(to: Atomic<UInt64>.self, capacity: 1).initialize(to: Atomic(0))
    (base + namesOffset).bindMemory(to: Unmanaged<TreeNames>?.self, capacity: 1).initialize(to: nil)
    return SnapshotRecord(base: base)
  }
}

/// Recycles snapshot records.
///
/// Invariant: a record is either in `free` or lent; all of them are in `all`.
package final class SnapshotPool: @unchecked Sendable {
  // Sendable: safe because both lists are behind the mutex.
  private struct State {
    var free: [SnapshotRecord] = []
    var all: [SnapshotRecord] = []
  }
  private let state = Latch(State())

  /// A pool without records.
  package init() {}

  deinit {
    state.withLock { state in
      for record in state.all {
        record.setNames(nil)
        record.base.deallocate()
      }
    }
  }

  /// A record for `csn` with room for as many trees as given, and these in it.
  package func make(csn: CSN, trees: [TreeRoot], names: TreeNames) -> SnapshotRecord {
    let record = take(treeCount: trees.count)
    record.setNames(names)
    assert(zip(trees, trees.dropFirst()).allSatisfy { $0.id < $1.id }, "trees stand in the order of their ids")
    for index in trees.indices { record.trees[index] = trees[index] }
    record.setCSN(csn.rawValue)
    return record
  }

  /// A record with room for `treeCount` trees, for the caller to enter them, their names and last its CSN.
  func take(treeCount: Int) -> SnapshotRecord {
    let record = find(treeCount)
    assert(record.capacity >= treeCount, "a snapshot has no room for its trees")
    record.treeCount = treeCount
    return record
  }

  private func find(_ treeCount: Int) -> SnapshotRecord {
    state.withLock { state in
      if let last = state.free.last, last.capacity >= treeCount {
        state.free.removeLast()
        return last
      }
      if let index = state.free.lastIndex(where: { $0.capacity >= treeCount }) { return state.free.remove(at: index) }
      let record = SnapshotRecord.make(capacity: max(8, treeCount * 2))
      state.all.append(record)
      return record
    }
  }

  /// Takes those records out of `records` that `isDone` says no reader has announced and none can find.
  func recycle(from records: inout [SnapshotRecord], where isDone: (CSN) -> Bool) {
    state.withLock { state in
      records.removeAll { record in
        guard isDone(record.csn) else { return false }
        // A CSN that no reader can mistake for one of its own, and whose announcement protects nothing.
        assert(record.csn.rawValue < .max - 1, "a snapshot is recycled twice")
        record.setCSN(.max - 1)
        state.free.append(record)
        return true
      }
    }
  }
}
