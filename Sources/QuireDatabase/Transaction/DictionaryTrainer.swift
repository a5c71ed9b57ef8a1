// Training dictionaries from the rows of a collection, inside a write transaction: it sees the rows that the
// transaction itself has stored, no other thread takes part, and a history that is repeated trains the same dictionary
// at the same place. It takes a few milliseconds, of which a collection has one at 1,000 rows, one at 8,000, and so on.

internal import QuireStorage

/// What a dictionary does for values that it was not made of.
public struct DictionaryGain: Hashable, Sendable {
  /// How many values it was tried with.
  public let valueCount: Int
  /// The bytes that these take as they would be stored without it.
  public let byteCountBefore: Int
  /// The bytes that they take with it.
  public let byteCountAfter: Int
  /// Whether new values are stored with it from now on.
  public let isKept: Bool
}

/// Makes dictionaries from the rows that a write transaction sees.
struct DictionaryTrainer {
  let transaction: TransactionState
  private var catalog: DictionaryCatalog { transaction.dictionaries }

  init(_ transaction: TransactionState) { self.transaction = transaction }

  /// Trains a dictionary if the collection has grown enough for one; called once a row has been stored.
  func trainIfDue(_ collection: CollectionState, above: Int) throws {
    collection.trainingIsDue = nil
    collection.dictionaries.attempts.candidateCount = 0
    guard let id = collection.id else { return }
    let newest = try catalog.newest(collection)
    let rowCount = try transaction.count(id)
    guard rowCount >= DictionaryTraining.leastRowCount,
      rowCount / DictionaryTraining.growth >= newest.record.rowCount
    else { return }
    // A damaged row among those that are read is no reason to refuse another: who reads it will be told.
    let first = try? sample(collection, id, rowCount, above, DictionaryTraining.firstSampledRowCount)
    guard let first else { return }
    guard DictionaryTraining.mayPay(first.given) else {
      let record = newest.record.after(rowCount: rowCount, keeping: nil)
      return try note(NewestDictionary(record: record, dictionary: newest.dictionary), nil, collection, id)
    }
    let samples = try? sample(collection, id, rowCount, above, DictionaryTraining.sampledRowCount)
    guard let samples else { return }
    _ = try train(collection, samples, rowCount, leastSaving: newest.dictionary == nil ? 0.2 : 0.1)
  }

  /// Trains a dictionary whatever was trained before, and keeps it if it saves anything worth its while.
  func trainNow(_ collection: CollectionState, above: Int) throws -> DictionaryGain {
    guard let id = collection.id else { return DictionaryGain(valueCount: 0, 0, 0, isKept: false) }
    let rowCount = try transaction.count(id)
    let samples = try sample(collection, id, rowCount, above, DictionaryTraining.mostSampledRowCount)
    return try train(collection, samples, rowCount, leastSaving: 0.02)
  }

  /// Trains a dictionary, tries it with other rows, and keeps it if it saves at least that part of what they take.
  /// Notes that it was tried.
  private func train(
    _ collection: CollectionState, _ samples: (given: ValueSample, others: ValueSample), _ rowCount: Int,
    leastSaving: Double
  ) throws -> DictionaryGain {
    guard let id = collection.id else { return DictionaryGain(valueCount: 0, 0, 0, isKept: false) }
    let newest = try catalog.newest(collection)
    let before = DictionaryTraining.storedByteCount(
      of: samples.others, with: newest.dictionary, transaction.scratch.stream)
    var (kept, after): (CompressionDictionary?, Int) = (nil, before)
    let bytes = DictionaryTraining.train(samples.given)
    if !bytes.isEmpty, let number = newest.record.nextNumber {
      let new = try unsafe CompressionDictionary(number: number, bytes.span.bytes)
      after = DictionaryTraining.storedByteCount(of: samples.others, with: new, transaction.scratch.stream)
      // Over all rows it must save more than it takes itself.
      let saved = Double(before - after)
      let isWorthIt = saved / Double(max(1, samples.others.count)) * Double(rowCount) > Double(2 * bytes.count)
      if isWorthIt, saved >= Double(before) * leastSaving { kept = new }
    }
    let record = newest.record.after(rowCount: rowCount, keeping: kept?.number)
    try note(NewestDictionary(record: record, dictionary: kept ?? newest.dictionary), kept, collection, id)
    return DictionaryGain(valueCount: samples.others.count, before, after, isKept: kept != nil)
  }

  /// Removes all dictionaries of a collection, no row of which names one any more.
  func dropAll(_ collection: CollectionState) throws {
    guard let id = collection.id, let tree = transaction.tree(named: DictionaryRecord.treeName) else { return }
    var record = try catalog.newest(collection).record
    guard record.lastNumber > 0 else { return }
    record.current = 0
    transaction.mutationCount &+= 1
    try transaction.deleteRange(from: DictionaryRecord.key(id, 1), to: id.end, in: tree)
    try catalog.storeNewest(record, nil, id)
    collection.dictionaries.note(NewestDictionary(record: record))
  }

  /// Stores what training has found, and `new` if it has made a dictionary.
  private func note(
    _ newest: NewestDictionary, _ new: CompressionDictionary?, _ collection: CollectionState, _ id: CollectionID
  ) throws {
    transaction.mutationCount &+= 1
    try catalog.storeNewest(newest.record, new, id)
    collection.dictionaries.note(newest)
    if new != nil { collection.dictionaries.attempts.restart() }
  }

  /// Values of rows that are spread evenly over the collection: of every other row for training, of the rest to judge.
  private func sample(
    _ collection: CollectionState, _ id: CollectionID, _ rowCount: Int, _ above: Int, _ sampledRowCount: Int
  ) throws -> (given: ValueSample, others: ValueSample) {
    let rowIDs = try sampledRowIDs(id, rowCount, min(rowCount, sampledRowCount))
    var (given, others) = (ValueSample(), ValueSample())
    try transaction.withValues(count: rowIDs.count, in: transaction.trees.rows, { rowIDs[$0] }) { index, bytes in
      guard let bytes else { throw RowView.damaged() }
      try unsafe bytes.withUnsafeBytes { bytes in
        let row = try unsafe RowView(bytes)
        func look(_ half: UnsafeRawBufferPointer) throws {
          // Nothing of a collection with secrets goes into a dictionary.
          if unsafe SealedHeader.isSealed(half) { throw SealError.notExpected(try unsafe SealedHeader(half).keyID) }
          try unsafe transaction.withDecoded(half, collection) { value in
            guard value.count > above else { return }
            if index % 2 == 0 {
              unsafe given.append(value, atMost: DictionaryTraining.sampledByteCount)
            } else {
              unsafe others.append(value, atMost: DictionaryTraining.sampledByteCount)
            }
          }
        }
        try unsafe look(row.object)
        if let metadata = unsafe row.metadata { try unsafe look(metadata) }
      }
    }
    return (given, others)
  }

  private func sampledRowIDs(_ id: CollectionID, _ rowCount: Int, _ sampledRowCount: Int) throws -> [Int64] {
    let first = try transaction.rank(id.prefix, in: transaction.trees.keys)
    var cursor = try transaction.cursor(transaction.trees.keys)
    var rowIDs: [Int64] = []
    for index in 0..<sampledRowCount {
      guard try cursor.seek(toIndex: first + rowCount * index / sampledRowCount) else { break }
      guard
        let rowID = try cursor.withValue({ unsafe Int64(littleEndianBytes: $0.withUnsafeBytes { unsafe $0 }) }) ?? nil
      else { throw RowView.damaged() }
      rowIDs.append(rowID)
    }
    return rowIDs
  }
}

extension DictionaryGain {
  init(valueCount: Int, _ before: Int, _ after: Int, isKept: Bool) {
    self.init(valueCount: valueCount, byteCountBefore: before, byteCountAfter: after, isKept: isKept)
  }
}

extension DictionaryTraining {
  /// What the values take in their stored form, each in the shortest.
  static func storedByteCount(
    of sample: ValueSample, with dictionary: CompressionDictionary?, _ stream: CompressionStream
  ) -> Int {
    var buffer: [UInt8] = []
    let bytes = unsafe sample.bytes.span.bytes
    return (0..<sample.count).reduce(0) { sum, index in
      buffer.removeAll(keepingCapacity: true)
      let value = bytes.extracting(sample.range(index))
      if let dictionary {
        guard ValueCompression.encode(value, dictionary, stream, appendingTo: &buffer) else {
          return sum + 1 + value.byteCount
        }
      } else if !Compression.dictionary(above: 0).compresses(value.byteCount)
        || !ValueCompression.encode(compressing: value, appendingTo: &buffer)
      {
        return sum + 1 + value.byteCount
      }
      return sum + buffer.count
    }
  }
}
