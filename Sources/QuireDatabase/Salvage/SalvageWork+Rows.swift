// Rows and their key index.
//
// A row has its collection and its key with it, so the key index is made anew from the rows. The one of the damaged
// database, as far as it can be read, tells two things that no row does: which rows are lost, by collection and key,
// and which of those that may be old have been removed since.

internal import QuireStorage

extension SalvageWork {
  /// Copies all rows that can be read, and makes the key index.
  func salvageRows(_ tx: borrowing QuireStorage.WriteTransaction, _ trees: DatabaseTrees) throws {
    try forEach(sources.rows, "rows") { entry throws in try takeRow(entry, tx, trees) }
    try tellLostRanges()
    try compareKeys(tx, trees)
    try settleDoubtful(tx, trees)
    assert(
      collections.all.values.reduce(0) { $0 + $1.kept } == rowCount, "rows are counted that are of no collection")
  }

  // MARK: Rows

  private func takeRow(
    _ entry: SalvagedEntry, _ tx: borrowing QuireStorage.WriteTransaction, _ trees: DatabaseTrees
  ) throws {
    guard let number = entry.integerKey, RowID(stored: number) != nil else {
      return try report(SalvageFinding(.lostContent, "An entry of the rows has a number that no row has."))
    }
    lastRow = max(lastRow, number)
    guard let row = unsafe try? RowView(entry.value), SalvagedCollections.isPossible(row.collection),
      unsafe row.key.isUTF8 && row.key.count <= Limits.rowKeyByteCount
    else {
      return try report(SalvageFinding(.lostRow, row: number, nil, nil, "What is stored of the row breaks the format."))
    }
    let id = row.collection
    let key = unsafe [UInt8](row.key)
    let metadataDefect = unsafe row.metadata.flatMap { half in unsafe defect(of: half, id) }
    if let defect = unsafe metadataDefect ?? defect(of: row.object, id) {
      // Where all rows may be old, no lost range speaks for this one.
      let isTold = entry.standing == .mayBeOld && sources.rows?.isCurrent == true
      if !isTold { try loseRow(number, id, key, defect) }
      return
    }
    guard try store(number, id, key, entry.standing, tx, trees) else { return }
    unsafe try tx.put(entry.value, for: number, in: trees.rows)
    rowCount += 1
    collections.count(id) { $0.kept += 1 }
    switch entry.standing {
    case .current: break
    case .mayBeOld: doubtful.insert(number)
    case .unverified:
      unproven.insert(number)
      try report(
        SalvageFinding(
          .unprovenRow, row: number, collections.name(of: id), String(decoding: key, as: UTF8.self),
          "No checksum proves the row."))
    }
  }

  /// Notes a row in the key index. Returns whether the row is to be stored: of two under one key, one of the newest
  /// state is, and of two such the newer one. Where neither is, both are stored until the key index has been asked;
  /// the one that is likelier to be there has the key meanwhile.
  private func store(
    _ number: Int64, _ id: CollectionID, _ rowKey: [UInt8], _ standing: SalvageStanding,
    _ tx: borrowing QuireStorage.WriteTransaction, _ trees: DatabaseTrees
  ) throws -> Bool {
    let (key, value) = (id.prefix + rowKey, number.littleEndianBytes)
    if try tx.insert(value, for: key, in: trees.keys) { return true }
    guard let other = try tx.value(for: key, in: trees.keys).flatMap({ Int64(littleEndianBytes: $0) }) else {
      return false
    }
    // Numbers grow: the one that comes later was stored later.
    assert(other < number, "rows come out of order")
    let isOtherOld = doubtful.contains(other)
    if standing != .current, isCurrent(other) {
      if standing == .unverified {
        try loseRow(number, id, rowKey, "No checksum proves it, and a row that is proven has its key, row \(other).")
      }
      return false
    }
    if standing == .current {
      try remove(other, tx, trees)
    } else if standing == .mayBeOld, !isOtherOld {
      contested.insert(number)
      return true
    } else {
      contested.insert(other)
    }
    try tx.put(value, for: key, in: trees.keys)
    return true
  }

  /// Takes a row out again; its entry in the key index is the caller's.
  private func remove(
    _ number: Int64, _ tx: borrowing QuireStorage.WriteTransaction, _ trees: DatabaseTrees
  ) throws {
    assert(rowCount > 0, "a row is taken out that was not stored")
    let isOld = doubtful.remove(number) != nil
    let id = try tx.withValue(for: number, in: trees.rows) { bytes in
      try unsafe bytes.withUnsafeBytes { bytes in
        let row = try unsafe RowView(bytes)
        if !isOld { try loseRow(number, row.collection, unsafe [UInt8](row.key), "Another row has its key.") }
        return row.collection
      }
    }
    try tx.delete(number, in: trees.rows)
    rowCount -= 1
    if let id { collections.count(id) { $0.kept -= 1 } }
  }

  /// Why a half of a row cannot be read; nil if it can, or is encrypted.
  private func defect(of half: UnsafeRawBufferPointer, _ id: CollectionID) -> String? {
    do {
      let isSealed = try unsafe StoredHalf.decompress(half, room, dictionary: { try dictionary($0, id) }) { _ in }
      hasSealed = hasSealed || isSealed
      return nil
    } catch {
      return "\(error)"
    }
  }

  private func dictionary(_ number: UInt32, _ id: CollectionID) throws -> CompressionDictionary {
    collections.count(id) { $0.lastDictionary = max($0.lastDictionary, number) }
    guard let found = collections.all[id]?.dictionaries[number] else {
      throw CompressionError.missingDictionary(number)
    }
    return found
  }

  private func loseRow(_ number: Int64, _ id: CollectionID, _ key: [UInt8], _ reason: String) throws {
    // A row that cannot be used is missed by the key index as well.
    guard lostRows.insert(number).inserted else { return }
    collections.count(id) { $0.lost += 1 }
    let name = collections.name(of: id)
    try report(SalvageFinding(.lostRow, row: number, name, String(decoding: key, as: UTF8.self), reason))
  }

  private func tellLostRanges() throws {
    for loss in losses(of: sources.rows) {
      let old = loss.staleCount > 0 ? " \(loss.staleCount) rows of it are there that may be old." : ""
      var finding = SalvageFinding(.lostRows, loss, loss.sentence + old)
      finding.firstRow = Self.number(loss.lower)
      finding.endRow = Self.number(loss.upper)
      try report(finding)
    }
  }

  private static func number(_ key: [UInt8]?) -> Int64? {
    key.flatMap { UInt64(bigEndianBytes: $0) }.map { Int64(bitPattern: $0 ^ 1 << 63) }
  }

  // MARK: The key index

  /// Holds what is left of the key index against the new one.
  private func compareKeys(_ tx: borrowing QuireStorage.WriteTransaction, _ trees: DatabaseTrees) throws {
    try forEach(sources.keys, "the key index") { entry throws in
      guard entry.integerKey == nil, unsafe entry.key.count >= CollectionID.byteCount,
        let number = unsafe Int64(littleEndianBytes: entry.value), RowID(stored: number) != nil
      else { return }
      lastRow = max(lastRow, number)
      guard entry.standing != .mayBeOld else { return }
      let found = unsafe try tx.value(for: entry.key, in: trees.keys).flatMap { Int64(littleEndianBytes: $0) }
      if found == number {
        try confirm(number, tx, trees)
      } else if contested.contains(number), let found, !isCurrent(found) {
        let key = unsafe [UInt8](entry.key)
        guard let (id, rowKey) = try place(of: number, tx, trees), id.prefix + rowKey == key else { return }
        contested.remove(number)
        contested.insert(found)
        try tx.put(number.littleEndianBytes, for: key, in: trees.keys)
        try confirm(number, tx, trees)
      } else if try !tx.contains(number, in: trees.rows) {
        let key = unsafe [UInt8](entry.key)
        guard let id = UInt32(bigEndianBytes: key.prefix(CollectionID.byteCount)).map(CollectionID.init),
          SalvagedCollections.isPossible(id)
        else { return }
        var reason = "It was in a damaged part of the file."
        if let found, doubtful.contains(found) {
          reason += " An older row that had its key is there, row \(found)."
          try confirm(found, tx, trees)
        }
        try loseRow(number, id, Array(key.dropFirst(CollectionID.byteCount)), reason)
      }
    }
    for number in contested.sorted() { try remove(number, tx, trees) }
    contested = []
    try tellLosses(of: sources.keys, as: .madeAnew, "The key index was damaged, and is made anew from the rows")
  }

  /// Whether a row of the new database is of the newest state.
  private func isCurrent(_ number: Int64) -> Bool { !doubtful.contains(number) && !unproven.contains(number) }

  /// The key index has the row, so that it is there, though what it holds may be old.
  private func confirm(
    _ number: Int64, _ tx: borrowing QuireStorage.WriteTransaction, _ trees: DatabaseTrees
  ) throws {
    guard doubtful.remove(number) != nil else { return }
    try tellOld(number, tx, trees, "The row is there, but what it holds may be older than the newest state.")
  }

  private func tellOld(
    _ number: Int64, _ tx: borrowing QuireStorage.WriteTransaction, _ trees: DatabaseTrees, _ reason: String
  ) throws {
    guard let (id, key) = try place(of: number, tx, trees) else { return }
    collections.count(id) { $0.old += 1 }
    try report(
      SalvageFinding(
        .oldRow, row: number, collections.name(of: id), String(decoding: key, as: UTF8.self), reason))
  }

  /// The collection and the key of a row of the new database.
  private func place(
    of number: Int64, _ tx: borrowing QuireStorage.WriteTransaction, _ trees: DatabaseTrees
  ) throws -> (CollectionID, [UInt8])? {
    try tx.withValue(for: number, in: trees.rows) { bytes in
      try unsafe bytes.withUnsafeBytes { bytes in
        let row = try unsafe RowView(bytes)
        return (row.collection, unsafe [UInt8](row.key))
      }
    }
  }

  /// Takes out rows that may be old and that a part of the key index which is whole does not have: they were removed.
  /// A key index that is not of the newest state itself proves no removal.
  private func settleDoubtful(_ tx: borrowing QuireStorage.WriteTransaction, _ trees: DatabaseTrees) throws {
    let gaps = sources.keys?.isCurrent == true ? LostKeys(losses(of: sources.keys)) : nil
    for number in doubtful.sorted() {
      guard let (id, rowKey) = try place(of: number, tx, trees) else { continue }
      let key = id.prefix + rowKey
      if gaps?.mayHold(key) ?? true {
        try tellOld(number, tx, trees, "The row may have been changed or removed since.")
      } else {
        try remove(number, tx, trees)
        try tx.delete(key, in: trees.keys)
      }
    }
    doubtful = []
  }
}

/// The ranges of keys that are lost of a tree.
private struct LostKeys {
  /// Ordered by where they begin; each with the highest end of all up to it, nil if one of these has none.
  private var ranges: [(lower: [UInt8], upper: [UInt8]?)] = []

  init(_ losses: [SalvageLoss]) {
    for loss in losses.sorted(by: { ($0.lower ?? []).lexicographicallyPrecedes($1.lower ?? []) }) {
      var upper = loss.upper
      if let last = ranges.last {
        let isHigher = last.upper.map { last in upper.map { last.lexicographicallyPrecedes($0) } ?? true } ?? false
        if !isHigher { upper = last.upper }
      }
      ranges.append((loss.lower ?? [], upper))
    }
  }

  /// Whether a key lies in one of them. O(log n).
  func mayHold(_ key: [UInt8]) -> Bool {
    var (low, high) = (0, ranges.count)
    while low < high {
      let middle = (low + high) / 2
      if key.lexicographicallyPrecedes(ranges[middle].lower) { high = middle } else { low = middle + 1 }
    }
    guard low > 0 else { return false }
    return ranges[low - 1].upper.map { key.lexicographicallyPrecedes($0) } ?? true
  }
}
