// The bounded buffer that bulk loads collect their entries in.

/// Entries in the order in which they came, copied.
///
/// Invariant: `usedByteCount` counts the entries' bytes and what sorting them takes, and exceeds `byteLimit` only for a
/// single entry.
final class EntryBuffer {
  private let memory: VirtualMemory
  private let capacity: Int
  // Unchecked as in `TreeEditor`: every entry of a load goes through here.
  @exclusivity(unchecked) private var byteCount = 0
  @exclusivity(unchecked) private(set) var operations: [SortableOperation] = []
  private let byteLimit: Int

  /// What an entry costs beside its bytes: the operation, and room to sort it.
  private static let overhead = 2 * MemoryLayout<SortableOperation>.stride

  /// Reserves address space; memory is taken as entries come.
  init(byteLimit: Int, pageSize: Int) throws(StorageError) {
    self.byteLimit = max(byteLimit, 16 * pageSize)
    let huge = 2 << 20
    capacity = (self.byteLimit + pageSize + huge - 1) / huge * huge
    memory = try VirtualMemory.reserve(byteCount: capacity, alignment: huge)
    memory.adviseHugePages()
  }

  deinit { memory.release() }

  /// Empties the buffer and gives its memory back; it can be used again.
  func giveBack() {
    byteCount = 0
    operations = []
    _ = VirtualMemory.discard(memory.base, byteCount: capacity)
  }

  var count: Int { operations.count }
  var usedByteCount: Int { byteCount + operations.count * Self.overhead }

  /// Whether a value of this length may come here: several of them must find room.
  func takes(valueByteCount: Int) -> Bool { valueByteCount <= byteLimit / 4 }

  /// Copies an entry, whose value is one that the buffer takes, or a reference; false if there is no room, and then
  /// nothing has changed.
  @inline(__always) func append(
    _ key: SearchKey, _ value: UnsafeRawBufferPointer, _ content: SortableOperation.Content, _ kind: KeyKind
  ) -> Bool {
    let size = key.count &+ value.count
    if usedByteCount &+ size &+ Self.overhead > byteLimit, !operations.isEmpty { return false }
    let place = memory.base + byteCount
    if key.count > 0 { place.copyMemory(from: key.base, byteCount: key.count) }
    if value.count > 0, let base = value.baseAddress {
      (place + key.count).copyMemory(from: base, byteCount: value.count)
    }
    byteCount &+= size
    let valueBytes = UnsafeRawBufferPointer(start: place + key.count, count: value.count)
    operations.append(
      kind == .int64
        ? SortableOperation(key: key.integer, value: valueBytes, content: content)
        : SortableOperation(
          key: UnsafeRawBufferPointer(start: place, count: key.count), value: valueBytes, content: content))
    return true
  }

  /// Puts references in the place of values that do not fit beside their keys: what `spill` returns for each of them.
  func spillLongValues(
    entryLimit: Int, _ kind: KeyKind, _ spill: (UnsafeRawBufferPointer) throws(StorageError) -> SpilledValue
  ) throws(StorageError) {
    for index in operations.indices where operations[index].isLong(entryLimit: entryLimit) {
      let old = operations[index]
      let reference = try spill(old.valueBytes)
      // A long value is longer than the reference: the longest key leaves room for that.
      let place = UnsafeMutableRawPointer(mutating: old.value)
      reference.store(to: place)
      let bytes = UnsafeRawBufferPointer(start: place, count: SpilledValue.byteCount)
      operations[index] =
        kind == .int64
        ? SortableOperation(key: old.head, value: bytes, content: .spilled)
        : SortableOperation(
          key: UnsafeRawBufferPointer(start: old.key, count: Int(old.keyCount)), value: bytes, content: .spilled)
    }
  }

  /// Sorts the entries; of equal keys the last one is kept.
  func sort(_ sorter: OperationSorter, _ kind: KeyKind) {
    let count = operations.withUnsafeMutableBufferPointer { sorter.sort($0, kind) }
    operations.removeLast(operations.count - count)
  }

  func removeAll() {
    byteCount = 0
    operations.removeAll(keepingCapacity: true)
  }
}
