// Sorting entries in bounded memory: a buffer, and sorted runs on disk beyond it.

/// Takes entries in any order, and gives them back in the order of their keys, of equal keys the last one.
///
/// Memory: the buffer, and behind it one block for each run that is merged. Depends on no transaction: a bulk load has
/// one, and who sorts what a snapshot holds before the transaction that stores it has one.
///
/// Used by one thread at a time.
///
/// Invariants:
/// 1. While `failure` is set, entries are lost, and every call throws it.
/// 2. What is in the buffer came after what is in the runs.
package final class EntrySorter {
  /// The kind of the keys.
  package let kind: KeyKind
  private let limits: EntryLimits
  private let buffer: EntryBuffer
  private let makeFile: () throws(StorageError) -> RunFile
  private var file: RunFile?
  /// The runs in the file, in the order in which they were written.
  private var runs: [RunFile.Run] = []
  /// The number of entries that came.
  // Unchecked as in `TreeEditor`: every entry of a load goes through here.
  @exclusivity(unchecked) package private(set) var count = 0
  /// Set when entries could not be written to the temporary file: they are lost, and the sorting with them.
  @exclusivity(unchecked) private(set) var failure: StorageError?

  /// The most runs that are merged at once; a block of memory for each.
  private static let mergeWidth = 128

  /// - Parameters:
  ///   - byteLimit: the memory for entries, at least 16 pages.
  ///   - makeFile: makes the temporary file, when it is needed.
  init(
    _ kind: KeyKind, byteLimit: Int, pageSize: Int, makeFile: @escaping () throws(StorageError) -> RunFile
  ) throws(StorageError) {
    self.kind = kind
    self.makeFile = makeFile
    limits = EntryLimits(pageSize: pageSize)
    buffer = try EntryBuffer(byteLimit: byteLimit, pageSize: pageSize)
  }

  /// The memory that entries take.
  @inline(__always) var usedByteCount: Int { buffer.usedByteCount }

  /// Whether there are runs on disk.
  var hasRuns: Bool { file != nil }

  /// What merging takes beside the buffer, in bytes.
  var mergeByteCount: Int { file.map { min(runs.count + 1, Self.mergeWidth) * $0.readByteCount } ?? 0 }

  // MARK: Taking entries

  /// Takes an entry, copied.
  ///
  /// - Throws: `keyTooLong`, `valueTooLong`; `diskFull`, `inputOutput` if the buffer is full and cannot be written, and
  ///   the same from then on.
  package func append(_ key: SearchKey, _ value: UnsafeRawBufferPointer) throws(StorageError) {
    if let failure { throw failure }
    try limits.check(key, value)
    if limits.isLong(key, value), !buffer.takes(valueByteCount: value.count) {
      let spilled = try orFail { () throws(StorageError) in try runFile().appendValue(value) }
      try withUnsafeTemporaryAllocation(byteCount: SpilledValue.byteCount, alignment: 8) {
        (room) throws(StorageError) in
        guard let base = room.baseAddress else { return }
        spilled.store(to: base)
        try add(key, UnsafeRawBufferPointer(room), .spilled)
      }
    } else {
      try add(key, value, .value)
    }
    count += 1
  }

  @inline(__always) private func add(
    _ key: SearchKey, _ value: UnsafeRawBufferPointer, _ content: SortableOperation.Content
  ) throws(StorageError) {
    if buffer.append(key, value, content, kind) { return }
    try orFail { () throws(StorageError) in try spill() }
    _ = buffer.append(key, value, content, kind)
  }

  /// Runs `work`, which writes to the temporary file; if that fails, the sorting has failed.
  private func orFail<Result>(_ work: () throws(StorageError) -> Result) throws(StorageError) -> Result {
    do throws(StorageError) { return try work() } catch {
      failure = error
      throw error
    }
  }

  private func runFile() throws(StorageError) -> RunFile {
    if let file { return file }
    let made = try makeFile()
    file = made
    return made
  }

  /// Writes the buffer's entries to the temporary file, as a run.
  private func spill() throws(StorageError) {
    let file = try runFile()
    try buffer.withSorted(kind) { (sorted) throws(StorageError) in
      try EntryBuffer.spillLongValues(of: sorted, entryLimit: limits.entryByteCount, kind) {
        (value) throws(StorageError) in
        try file.appendValue(value)
      }
      file.beginRun()
      for operation in sorted { try file.append(operation, kind) }
      if let run = file.endRun() { runs.append(run) }
      try file.endBlock()
    }
    buffer.removeAll()
  }

  // MARK: Giving them back

  /// Calls `body` with the entries of the buffer, sorted, where there are no runs.
  func withBuffered<Result, Failure: Error>(
    _ body: (UnsafeMutableBufferPointer<SortableOperation>) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    assert(!hasRuns, "some of the entries are on disk")
    return try buffer.withSorted(kind, body)
  }

  /// The entries of all runs, merged; what is still in the buffer is the last one, and its memory is given back.
  func mergedRuns() throws(StorageError) -> RunMerger {
    if let failure { throw failure }
    return try orFail { () throws(StorageError) in
      let file = try runFile()
      if buffer.count > 0 { try spill() }
      buffer.giveBack()
      try file.reduce(&runs, to: Self.mergeWidth, kind)
      return try RunMerger(file, runs[...], kind)
    }
  }

  /// Reads a value that stands by itself in the temporary file, into memory that the caller frees.
  func read(_ value: SpilledValue) throws(StorageError) -> UnsafeMutableRawBufferPointer {
    guard let file else { throw StorageError(.inputOutput, "A value is in a temporary file that is not there.") }
    return try file.read(value)
  }
}

extension EntrySorter {
  /// Calls `body` with key and value of each entry, in order; integer keys as eight bytes in order. The bytes are good
  /// for the call. For what is to be stored elsewhere than in a tree of the engine's.
  ///
  /// - Throws: `diskFull`, `inputOutput`, and what `body` throws.
  package func forEach(_ body: (_ key: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer) throws -> Void) throws {
    func hand(_ operation: SortableOperation) throws {
      let integer = operation.head.bigEndian
      let key = operation.searchKey(kind)
      try withUnsafeBytes(of: integer) { number in
        let bytes = kind == .int64 ? number : UnsafeRawBufferPointer(start: key.base, count: key.count)
        guard operation.content == .spilled else { return try body(bytes, operation.valueBytes) }
        let value = try read(SpilledValue(at: operation.value))
        defer { value.deallocate() }
        try body(bytes, UnsafeRawBufferPointer(value))
      }
    }
    if hasRuns {
      let merger = try mergedRuns()
      while let operation = try merger.next() { try hand(operation) }
    } else {
      if let failure { throw failure }
      try withBuffered { for operation in $0 { try hand(operation) } }
    }
  }
}
