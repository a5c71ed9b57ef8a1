// Loading many rows: collected, and stored a batch at a time in the order of their keys.

#if canImport(Darwin)
  internal import Darwin
#elseif canImport(Glibc)
  internal import Glibc
#elseif canImport(Musl)
  internal import Musl
#elseif canImport(Android)
  internal import Android
#endif
internal import QuireStorage

/// The rows of one load that wait to be stored together.
///
/// The key index is walked once for each key, in the order of keys, so that neighbours find its pages in the
/// processor's cache. Where an order can be seen it is that of the sequence: in the rows' numbers, which a batch
/// reserves together, in the row tree, and in the log of changes.
///
/// Invariants:
/// 1. Each of `starts` is where a row of the collection begins in `bytes`, in the order of the sequence; it ends where
///    the next one begins.
/// 2. While there are any, nobody else changes rows: `mutationCount` is the transaction's.
@usableFromInline final class RowLoad {
  private let rows: UntypedRows
  private var opened: OpenedCollection { rows.opened }
  private let progress: ((StorageProgress) throws -> Void)?
  private let expectedCount: Int
  private let batchByteCount: Int
  /// Whether rows are stored as by `set`, because an extension or a sanitizer looks at each.
  @usableFromInline let storesOneByOne: Bool
  private var bytes: [UInt8] = []
  private var starts: [Int] = []
  private var mutationCount = 0
  private var storedCount = 0
  private let countBefore: Int
  private let context: WriteContext
  /// What the budget for pages knows that the rows take.
  private var chargedByteCount = 0

  /// A row takes this beside its bytes while a batch is sorted and stored.
  private static let byteCountPerRow = 64
  /// How many bytes the rows grow by before the budget is told.
  private static let chargeStep = 1 << 20

  /// A load into a collection; `expectedCount` is about how many rows will come.
  @usableFromInline init(
    _ rows: UntypedRows, expectedCount: Int, batchByteCount: Int?, _ progress: ((StorageProgress) throws -> Void)?
  ) throws(DatabaseError) {
    let opened = rows.opened
    try opened.checkWriting()
    self.rows = rows
    self.progress = progress
    self.expectedCount = expectedCount
    context = opened.transaction.database.storage.context
    self.batchByteCount = batchByteCount ?? min(Limits.loadBatchByteCount, context.loadByteLimit)
    let session = try opened.transaction.session()
    storesOneByOne = rows.isSanitized || session?.hasListeners(of: opened.name) == true
    countBefore = try opened.rowCount()
  }

  deinit { if chargedByteCount > 0 { context.chargeLoad(0) } }

  // MARK: Taking rows

  /// Takes a row of values at these places, which are encoded as in `store`. If that fails, all rows before it are
  /// stored.
  @usableFromInline func add(_ key: String, _ object: UnsafeRawPointer, _ metadata: UnsafeRawPointer?) throws {
    do {
      try unsafe encode(key, hasMetadata: metadata != nil) { row in
        if let metadata = unsafe metadata { try unsafe rows.append(metadata: metadata, nil, key, to: &row) }
        try unsafe rows.append(object: object, nil, key, to: &row)
      }
    } catch {
      try storeBatch()
      throw error
    }
    if let above = opened.state.trainingIsDue {
      // The next row is compressed with what this one's storing may train.
      try storeBatch()
      do { try DictionaryTrainer(opened.transaction).trainIfDue(opened.state, above: above) } catch {
        throw opened.failure(error, key)
      }
      mutationCount = opened.transaction.mutationCount
    } else if byteCount >= batchByteCount {
      try storeBatch()
    }
  }

  private func encode(_ key: String, hasMetadata: Bool, _ build: (inout RowBuilder) throws -> Void) throws {
    try opened.checkStorable(key)
    try checkUndisturbed()
    let transaction = opened.transaction
    var row = RowBuilder()
    swap(&row, &transaction.scratch.row)
    defer { swap(&row, &transaction.scratch.row) }
    row.begin(key: key, hasMetadata: hasMetadata)
    try build(&row)
    try checkUndisturbed()
    try opened.state.willWrite(hasMetadata ? [.object, .metadata] : .object)
    row.setCollection(try opened.state.existingOrNewID(in: transaction))
    assert(starts.last.map { $0 < bytes.count } ?? bytes.isEmpty, "a row begins where another one has not ended")
    starts.append(bytes.count)
    bytes.append(contentsOf: row.bytes)
    if byteCount > chargedByteCount { charge() }
    // An iterator over rows ends with a load as with the `set` that it stands for.
    transaction.mutationCount &+= 1
    mutationCount = transaction.mutationCount
  }

  private var byteCount: Int { bytes.count + starts.count * Self.byteCountPerRow }

  private func charge() {
    // Arrays grow to twice what they hold.
    chargedByteCount = byteCount + Self.chargeStep
    context.chargeLoad(max(chargedByteCount, bytes.capacity))
  }

  /// Throws if somebody else has changed rows while some wait here: these come before that change, and it is made.
  private func checkUndisturbed() throws(DatabaseError) {
    guard !starts.isEmpty, opened.transaction.mutationCount != mutationCount else { return }
    let failure = DatabaseError(
      .transactionFailed,
      "The sequence or the coder of a load changed rows. Change them before the load or after it, or use `set`.",
      path: opened.transaction.database.path, collection: opened.name)
    opened.transaction.note(failure)
    throw failure
  }

  /// Takes note of a row that was stored as by `set`.
  @usableFromInline func noteStored() throws {
    storedCount += 1
    if storedCount % Self.reportedCount == 0 { try report() }
  }

  private static let reportedCount = 1 << 14

  /// Stores what is left; returns how many rows the collection has gained.
  @usableFromInline func finish() throws -> Int {
    try storeBatch()
    try report()
    return try opened.rowCount() - countBefore
  }

  private func report() throws {
    try opened.transaction.checkCancelled()
    guard let progress else { return }
    let progressNow = StorageProgress(phase: .building, done: storedCount, total: max(storedCount, expectedCount))
    try progress(progressNow)
  }

  // MARK: Storing

  /// Stores the rows that wait. An error leaves a transaction that can only be rolled back, to a savepoint or as a
  /// whole: keys may have been entered whose rows were not stored.
  private func storeBatch() throws {
    guard !starts.isEmpty else { return }
    try checkUndisturbed()
    let count = starts.count
    defer {
      bytes.removeAll(keepingCapacity: true)
      starts.removeAll(keepingCapacity: true)
    }
    do {
      try unsafe bytes.withUnsafeBytes { bytes in
        try unsafe starts.withUnsafeBufferPointer { starts in try store(unsafe RowBatch(bytes, starts)) }
      }
    } catch {
      let failure = opened.failure(error, nil)
      opened.transaction.note(failure)
      throw failure
    }
    mutationCount = opened.transaction.mutationCount
    storedCount += count
    try report()
  }

  private func store(_ batch: RowBatch) throws {
    let transaction = opened.transaction
    guard let id = opened.id, let writer = transaction.writer else { throw transaction.notWriting() }
    let order = batch.sorted()
    assert(batch.areSorted(order), "rows of a load are out of order")
    // Of rows with one key the first decides where it stands, and the last what it holds.
    var firsts = [Int32](repeating: 0, count: batch.count)
    var lasts = firsts
    var (start, newCount) = (0, 0)
    while start < order.count {
      var end = start + 1
      while end < order.count, batch.haveSameKey(order[start], order[end]) { end += 1 }
      for index in order[start..<end] { firsts[Int(index)] = order[start] }
      lasts[Int(order[start])] = order[end - 1]
      newCount += 1
      start = end
    }
    var next = try transaction.allocateRowIDs(newCount)
    var rowIDs = [RowID](repeating: RowID(0), count: batch.count)
    for index in 0..<batch.count where Int(firsts[index]) == index {
      rowIDs[index] = next
      next = RowID(next.rawValue + 1)
    }
    assert(rowIDs.count { $0.rawValue > 0 } == newCount, "a row of a load has no number, or two")
    transaction.mutationCount &+= 1
    var isNew = [Bool](repeating: false, count: batch.count)
    for index in order where firsts[Int(index)] == index {
      if let existing = try unsafe opened.rowID(id, batch.key(Int(index)), orEnter: rowIDs[Int(index)]) {
        rowIDs[Int(index)] = existing
      } else {
        isNew[Int(index)] = true
      }
    }
    for index in 0..<batch.count {
      let first = Int(firsts[index])
      let rowID = rowIDs[first]
      if first == index {
        try unsafe transaction.put(SearchKey(rowID.rawValue), batch.row(Int(lasts[index])), in: transaction.trees.rows)
      }
      unsafe writer.changes.append(
        first == index && isNew[index] ? .inserted : .changed([.object, .metadata]), id, rowID, batch.key(index))
    }
  }
}

/// Rows one behind the other, as `RowBuilder` makes them.
@safe private struct RowBatch {
  private let bytes: UnsafeRawBufferPointer
  private let starts: UnsafeBufferPointer<Int>

  init(_ bytes: UnsafeRawBufferPointer, _ starts: UnsafeBufferPointer<Int>) {
    unsafe self.bytes = bytes
    unsafe self.starts = starts
  }

  var count: Int { unsafe starts.count }

  func row(_ index: Int) -> UnsafeRawBufferPointer {
    let end = unsafe index + 1 < starts.count ? starts[index + 1] : bytes.count
    return unsafe UnsafeRawBufferPointer(rebasing: bytes[starts[index]..<end])
  }

  func key(_ index: Int) -> UnsafeRawBufferPointer {
    let row = unsafe row(index)
    let byteCount = unsafe Int(UInt16(littleEndian: row.loadUnaligned(fromByteOffset: 5, as: UInt16.self)))
    let start = unsafe RowView.headerByteCount + (row[0] == 1 ? RowView.metadataLengthByteCount : 0)
    return unsafe UnsafeRawBufferPointer(rebasing: row[start..<start + byteCount])
  }

  func haveSameKey(_ one: Int32, _ other: Int32) -> Bool { compare(Int(one), Int(other)) == 0 }

  /// Below 0 if the key of the first row comes first.
  private func compare(_ one: Int, _ other: Int) -> Int {
    unsafe key(one).order(beside: key(other))
  }

  /// The rows in the order of their keys; rows with one key stay in their order.
  func sorted() -> [Int32] {
    // Most keys differ within eight bytes behind what all of them begin with.
    let prefixCount = commonPrefixCount()
    var heads = (0..<count).map { index in
      let key = unsafe key(index)
      var head: UInt64 = 0
      for offset in 0..<8 {
        let place = prefixCount + offset
        head = unsafe head << 8 | (place < key.count ? UInt64(key[place]) : 0)
      }
      return (head: head, index: Int32(truncatingIfNeeded: index))
    }
    heads.sort { one, other in
      if one.head != other.head { return one.head < other.head }
      let order = compare(Int(one.index), Int(other.index))
      return order == 0 ? one.index < other.index : order < 0
    }
    return heads.map(\.index)
  }

  /// Whether an order has each row once, by their keys and, of one key, as they came.
  func areSorted(_ order: [Int32]) -> Bool {
    order.count == count
      && zip(order, order.dropFirst()).allSatisfy { one, other in
        let order = compare(Int(one), Int(other))
        return order < 0 || order == 0 && one < other
      }
  }

  private func commonPrefixCount() -> Int {
    let first = unsafe key(0)
    var common = first.count
    for index in 1..<max(1, count) {
      let key = unsafe key(index)
      common = min(common, key.count)
      guard let one = first.baseAddress, let other = key.baseAddress else { return 0 }
      while common > 0, unsafe memcmp(one, other, common) != 0 { common -= 1 }
      if common == 0 { return 0 }
    }
    return common
  }
}
