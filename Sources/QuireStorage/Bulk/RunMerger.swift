// Merging sorted runs: a heap of readers, the smallest key on top.

/// Reads one run, a block at a time.
private final class RunReader {
  private let file: RunFile
  private let kind: KeyKind
  /// The next block.
  private var block: Int
  /// How many entries come behind the one at hand.
  private var left: Int
  private let buffer: UnsafeMutableRawPointer
  private var entries = UnsafeRawBufferPointer(start: nil, count: 0)
  private var offset = 0
  /// The run's place among the runs: of equal keys that of the latest counts.
  let order: Int
  /// The entry at hand; good until `advance`.
  private(set) var operation = SortableOperation(key: 0, value: nil)

  init(_ file: RunFile, _ run: RunFile.Run, order: Int, _ kind: KeyKind) throws(StorageError) {
    self.file = file
    self.kind = kind
    self.order = order
    block = run.firstBlock
    left = run.entryCount
    buffer = UnsafeMutableRawPointer.allocate(byteCount: file.readByteCount, alignment: 4096)
    try readBlock()
    offset = run.offset
    guard offset <= entries.count else { throw file.damaged(run.firstBlock) }
  }

  deinit { buffer.deallocate() }

  private func readBlock() throws(StorageError) {
    entries = try file.read(block, into: buffer)
    block += 1
    offset = 0
  }

  /// Goes to the next entry; false behind the last one.
  func advance() throws(StorageError) -> Bool {
    guard left > 0 else { return false }
    left -= 1
    if offset == entries.count { try readBlock() }
    guard entries.count - offset >= RunFile.entryHeaderByteCount, let base = entries.baseAddress else {
      throw file.damaged(block - 1)
    }
    let place = base + offset
    let keyCount = Int(place.loadUnaligned(as: UInt16.self))
    let lengthField = place.loadUnaligned(fromByteOffset: 2, as: UInt32.self)
    let isSpilled = lengthField & RunFile.spilledBit != 0
    let valueCount = Int(lengthField & ~RunFile.spilledBit)
    let size = RunFile.entryHeaderByteCount + keyCount + valueCount
    guard size <= entries.count - offset, kind == .bytes || keyCount == 8,
      !isSpilled || valueCount == SpilledValue.byteCount
    else { throw file.damaged(block - 1) }
    let content = isSpilled ? SortableOperation.Content.spilled : .value
    let key = place + RunFile.entryHeaderByteCount
    let value = UnsafeRawBufferPointer(start: key + keyCount, count: valueCount)
    operation =
      kind == .int64
      ? SortableOperation(key: key.loadUnaligned(as: UInt64.self), value: value, content: content)
      : SortableOperation(key: UnsafeRawBufferPointer(start: key, count: keyCount), value: value, content: content)
    offset += size
    return true
  }

  /// Whether this reader's entry comes before that of `other`; of equal keys the earlier run's does.
  @inline(__always) func precedes(_ other: RunReader) -> Bool {
    let order = operation.order(relativeTo: other.operation, hasIntegerKeys: kind == .int64)
    return order != 0 ? order < 0 : self.order < other.order
  }
}

/// Hands out the entries of several runs in key order; of equal keys the latest run's.
///
/// Memory: one block for each run. A binary heap, as in Knuth, The Art of Computer Programming, volume 3, 5.2.3.
final class RunMerger {
  private var heap: [RunReader] = []
  private let kind: KeyKind
  /// Whether the entry on top is the one that `next` returned last.
  private var hasHandedOutTop = false

  /// Starts reading `runs`.
  init(_ file: RunFile, _ runs: ArraySlice<RunFile.Run>, _ kind: KeyKind) throws(StorageError) {
    self.kind = kind
    for (order, run) in runs.enumerated() {
      let reader = try RunReader(file, run, order: order, kind)
      if try reader.advance() { heap.append(reader) }
    }
    for index in stride(from: heap.count / 2 - 1, through: 0, by: -1) { sift(index) }
  }

  /// The next entry, or nil at the end. Its bytes are good until the next call.
  func next() throws(StorageError) -> SortableOperation? {
    if hasHandedOutTop { try advanceTop() }
    hasHandedOutTop = false
    // Of equal keys only the last is wanted: an entry is dropped if the one behind it has its key.
    while let top = heap.first {
      if hasSameKeyBehind(top) {
        try advanceTop()
        continue
      }
      hasHandedOutTop = true
      return top.operation
    }
    return nil
  }

  private func advanceTop() throws(StorageError) {
    guard let top = heap.first else { return }
    if try top.advance() {
      sift(0)
      return
    }
    let last = heap.removeLast()
    guard !heap.isEmpty else { return }
    heap[0] = last
    sift(0)
  }

  private func hasSameKeyBehind(_ top: RunReader) -> Bool {
    for index in 1..<min(3, max(1, heap.count))
    where heap[index].operation.order(relativeTo: top.operation, hasIntegerKeys: kind == .int64) == 0 {
      return true
    }
    return false
  }

  private func sift(_ start: Int) {
    var index = start
    while true {
      var child = 2 * index + 1
      guard child < heap.count else { return }
      if child + 1 < heap.count, heap[child + 1].precedes(heap[child]) { child += 1 }
      guard heap[child].precedes(heap[index]) else { return }
      heap.swapAt(index, child)
      index = child
    }
  }
}

extension RunFile {
  /// Merges `runs` of this file, groups of neighbours at a time, until there are `width` of them at the most: of equal
  /// keys the latest stays behind the others.
  func reduce(_ runs: inout [Run], to width: Int, _ kind: KeyKind) throws(StorageError) {
    assert(width > 1, "merging runs leaves fewer of them")
    while runs.count > width {
      var merged: [Run] = []
      for start in stride(from: 0, to: runs.count, by: width) {
        let merger = try RunMerger(self, runs[start..<min(start + width, runs.count)], kind)
        beginRun()
        while let operation = try merger.next() { try append(operation, kind) }
        if let run = endRun() { merged.append(run) }
        try endBlock()
      }
      runs = merged
    }
  }
}

/// Entries in key order, no key twice: sorted in memory, or merged from runs.
struct SortedSource {
  // A pointer, and looked at first: an array and the merger would both be retained and released for each entry.
  private let operations: UnsafeBufferPointer<SortableOperation>
  private var index = 0
  private let merger: RunMerger?
  /// How many entries ahead memory is asked for.
  private static let prefetchDistance = 6

  /// Whether the bytes of entries are good for as long as the source is.
  var isStable: Bool { merger == nil }

  /// Hands out sorted operations, which must stay where they are.
  init(_ operations: UnsafeBufferPointer<SortableOperation>) {
    self.operations = operations
    merger = nil
  }

  /// Hands out what is being merged.
  init(_ merger: RunMerger) {
    operations = UnsafeBufferPointer(start: nil, count: 0)
    self.merger = merger
  }

  /// The next entry, or nil at the end. Its bytes are good until the next call.
  @inline(__always) mutating func next() throws(StorageError) -> SortableOperation? {
    guard index < operations.count else { return try merger?.next() }
    // What is sorted lies in memory as it came: to copy an entry would be to wait for each of its lines.
    if index &+ Self.prefetchDistance < operations.count { operations[index &+ Self.prefetchDistance].prefetch() }
    index += 1
    return operations[index - 1]
  }
}
