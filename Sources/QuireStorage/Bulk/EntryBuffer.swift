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
  private let entries = OperationCollector()
  private let byteLimit: Int

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
    entries.giveBack()
    _ = VirtualMemory.discard(memory.base, byteCount: capacity)
  }

  @inline(__always) var count: Int { entries.count }
  @inline(__always) var usedByteCount: Int { byteCount + count * OperationCollector.byteCountPerOperation }

  /// Whether a value of this length may come here: several of them must find room.
  func takes(valueByteCount: Int) -> Bool { valueByteCount <= byteLimit / 4 }

  /// Copies an entry, whose value is one that the buffer takes, or a reference; false if there is no room, and then
  /// nothing has changed.
  @inline(__always) func append(
    _ key: SearchKey, _ value: UnsafeRawBufferPointer, _ content: SortableOperation.Content, _ kind: KeyKind
  ) -> Bool {
    let size = key.count &+ value.count
    if usedByteCount &+ size &+ OperationCollector.byteCountPerOperation > byteLimit, count > 0 { return false }
    assert(byteCount + size <= capacity, "an entry is longer than the buffer")
    entries.append(SortableOperation(key, value, content, kind, copiedTo: memory.base + byteCount), treeAt: 0)
    byteCount &+= size
    return true
  }

  /// Puts references in the place of the values among `entries` that do not fit beside their keys: what `spill` returns
  /// for each of them.
  static func spillLongValues(
    of entries: UnsafeMutableBufferPointer<SortableOperation>, entryLimit: Int, _ kind: KeyKind,
    _ spill: (UnsafeRawBufferPointer) throws(StorageError) -> SpilledValue
  ) throws(StorageError) {
    for index in entries.indices where entries[index].isLong(entryLimit: entryLimit) {
      let old = entries[index]
      let reference = try spill(old.valueBytes)
      // A long value is longer than the reference: the longest key leaves room for that.
      let place = UnsafeMutableRawPointer(mutating: old.value)
      reference.store(to: place)
      let bytes = UnsafeRawBufferPointer(start: place, count: SpilledValue.byteCount)
      entries[index] =
        kind == .int64
        ? SortableOperation(key: old.head, value: bytes, content: .spilled)
        : SortableOperation(
          key: UnsafeRawBufferPointer(start: old.key, count: Int(old.keyCount)), value: bytes, content: .spilled)
    }
  }

  /// Calls `body` with the entries in the order of their keys; of equal keys the last one.
  func withSorted<Result, Failure: Error>(
    _ kind: KeyKind, _ body: (UnsafeMutableBufferPointer<SortableOperation>) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    try entries.withSorted(treeAt: 0, kind, body)
  }

  func removeAll() {
    byteCount = 0
    entries.removeAll()
  }
}
