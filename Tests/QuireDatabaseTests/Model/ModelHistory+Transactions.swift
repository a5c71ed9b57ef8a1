// Random transactions, done to the database and to the model.

import QuireDatabase
import QuireTesting

extension ModelHistory {
  static let names = ["", "songs", "albums", "\u{e9}", "e\u{301}x"]
  static let keys: [String] = [""] + (0..<30).map { "k\($0)" } + ["a", "ab", "abc", "z", "\u{10ffff}", "\u{7f}", "k\0"]

  func randomKey() -> String { Self.keys[random.below(Self.keys.count)] }

  private func randomBag() -> Bag {
    var numbers: [Int: Int] = [:]
    for _ in 0..<random.below(5) { numbers[random.below(14)] = random.below(1000) }
    var text: String?
    switch random.below(12) {
    case 0: text = String(repeating: "la ", count: random.below(2000))
    case 1: text = String((0..<random.below(6000)).map { _ in Character(Unicode.Scalar(UInt8(32 + random.below(90)))) })
    case 2...5: text = "text \(random.below(100))"
    default: break
    }
    return Bag(numbers: numbers, text: text, refuses: random.oneIn(25))
  }

  /// One transaction, which may throw.
  func transact() throws {
    commitNumber += 1
    (model, changes) = (newest, ModelChanges())
    let isUndone = random.oneIn(8)
    let connection = connections[random.below(connections.count)]
    do {
      try connection.write { tx throws in
        tx.commitInfo = commitNumber
        for _ in 0..<1 + random.below(12) { try operate(tx, depth: 0) }
        if random.oneIn(10) { try checkInside(tx) }
        if isUndone { throw Undo() }
      }
      try expect(!isUndone, "a transaction that threw has returned")
      count("commit")
    } catch is Undo {
      count("rollback")
      // Ids are not given again, not even then.
      states[states.count - 1].newestRowID = model.newestRowID
      return
    }
    if !changes.isEmpty {
      told.append(commitNumber)
      for index in pins.indices { pins[index].missed.append((commitNumber, changes)) }
    }
    model.commit()
    if isFull { states = [model] } else { states.append(model) }
  }

  /// Stores the rows of all collections with another compression, and may stop half-way.
  func rewrite() throws {
    let compression = random.oneIn(2) ? Compression.none : .lz4(above: 0)
    for name in Self.names {
      let before = newest.collections[name, default: [:]].count
      do {
        let collection = RowCollection<Bag, Int>(name, compression: compression)
        let result = try db.rewriteRows(of: collection) { _ in
          if random.oneIn(12) { throw Undo() }
          if random.oneIn(3) { try transact() }
        }
        if result.rewrittenCount > 0 { count("rewrite") }
        try expect(before == 0 || result.checkedCount > 0, "rewriting «\(name)» has seen no row")
      } catch is Undo { return count("rewrite stopped") }
    }
  }

  private func checkInside(_ tx: WriteTransaction) throws {
    try expect(tx.collections == model.names, "inside, the collections are \(tx.collections), not \(model.names)")
    try expect(tx.count == model.count, "inside, there are \(tx.count) rows, not \(model.count)")
    let name = Self.names[random.below(Self.names.count)]
    try check(tx[.bags(name)], model.collections[name, default: [:]], name)
  }

  private func operate(_ tx: WriteTransaction, depth: Int) throws {
    operations += 1
    let name = Self.names[random.below(Self.names.count)]
    let (rows, key) = (tx[.bags(name)], randomKey())
    let existing = model.collections[name]?[key]
    switch random.below(40) {
    case 0...15: try set(rows, name, key, existing)
    case 16...20: try replace(rows, name, key, existing)
    case 21...23: try replaceMetadata(rows, name, key, existing)
    case 24, 25: try touch(rows, name, key, existing)
    case 26...31: try remove(rows, name, key, existing)
    case 32: try clear(rows, name)
    case 33: if random.oneIn(4) { try clearAll(tx) }
    case 34...37: if depth < 3 { try savepoint(tx, depth) }
    default: try expect(try rows.get(key) == existing?.object, "inside, «\(name)/\(key)» is another object")
    }
  }

  /// Does `body`, which stores `object`; one that refuses changes nothing.
  private func storing(_ object: Bag, _ body: () throws -> Void) throws -> Bool {
    do { try body() } catch let error as DatabaseError where error.code == .encodingFailed {
      count("refused")
      try expect(object.refuses && error.cause is Bag.Refused, "\(error)")
      return false
    }
    return true
  }

  private func set(_ rows: WritableRows<Bag, Int>, _ name: String, _ key: String, _ existing: ModelRow?) throws {
    let (object, metadata) = (randomBag(), random.oneIn(2) ? random.below(100) : nil)
    guard try storing(object, { try rows.set(object, metadata: metadata, for: key) }) else { return }
    try expect(!object.refuses, "what refuses to be encoded was stored")
    guard let rowID = try rows.rowID(key) else { throw ModelMismatch(description: "a row has no id") }
    if let existing {
      try expect(rowID == existing.rowID, "a row has changed its id")
    } else {
      try expect(rowID > model.newestRowID, "\(rowID) was given again, after \(model.newestRowID)")
      model.newestRowID = rowID
    }
    model.collections[name, default: [:]][key] = ModelRow(object: object, metadata: metadata, rowID: rowID)
    changes.note(name, key) { row in
      (row.object, row.metadata) = (true, true)
      if existing == nil { row.isInserted = true }
    }
  }

  private func replace(_ rows: WritableRows<Bag, Int>, _ name: String, _ key: String, _ existing: ModelRow?) throws {
    let object = randomBag()
    var isReplaced = false
    let isStored = try storing(object) {
      isReplaced = try random.oneIn(2) ? rows.replace(object, for: key) : rows.update(key) { $0 = object }
    }
    guard isStored else { return }
    try expect(isReplaced == (existing != nil), "replace has returned \(isReplaced)")
    guard isReplaced else { return }
    model.collections[name]?[key]?.object = object
    changes.note(name, key) { $0.object = true }
  }

  private func replaceMetadata(
    _ rows: WritableRows<Bag, Int>, _ name: String, _ key: String, _ existing: ModelRow?
  ) throws {
    let metadata = random.oneIn(3) ? nil : random.below(100)
    let isReplaced = try rows.replaceMetadata(metadata, for: key)
    try expect(isReplaced == (existing != nil), "replaceMetadata has returned \(isReplaced)")
    guard isReplaced else { return }
    model.collections[name]?[key]?.metadata = metadata
    changes.note(name, key) { $0.metadata = true }
  }

  private func touch(_ rows: WritableRows<Bag, Int>, _ name: String, _ key: String, _ existing: ModelRow?) throws {
    let isObject = random.oneIn(2)
    let isTouched = try isObject ? rows.touchObject(key) : rows.touch(key)
    try expect(isTouched == (existing != nil), "touch has returned \(isTouched)")
    guard isTouched else { return }
    changes.note(name, key) { row in
      row.object = true
      if !isObject { row.metadata = true }
    }
  }

  private func remove(_ rows: WritableRows<Bag, Int>, _ name: String, _ key: String, _ existing: ModelRow?) throws {
    let keys = random.oneIn(3) ? [key, randomKey(), randomKey()] : [key]
    let there = keys.enumerated().filter { index, key in
      model.collections[name]?[key] != nil && keys.firstIndex(of: key) == index
    }.map(\.element)
    let count = try keys.count == 1 ? (rows.remove(key) ? 1 : 0) : rows.remove(keys)
    try expect(count == there.count, "\(count) rows were removed, not \(there.count)")
    for key in there {
      model.collections[name]?[key] = nil
      changes.note(name, key) { $0 = ModelChanges.Row(isRemoved: true) }
    }
  }

  private func clear(_ rows: WritableRows<Bag, Int>, _ name: String) throws {
    let expected = model.collections[name, default: [:]].count
    let removed = try rows.removeAll()
    try expect(removed == expected, "\(removed) rows of «\(name)» were removed, not \(expected)")
    guard expected > 0 else { return }
    model.collections[name] = nil
    changes.collections[name] = ModelChanges.Collection(isCleared: true)
  }

  private func clearAll(_ tx: WriteTransaction) throws {
    let (removed, expected) = (try tx.removeAll(), model.count)
    try expect(removed == expected, "\(removed) rows were removed, not \(expected)")
    guard expected > 0 else { return }
    count("clear all")
    model.collections = [:]
    changes = ModelChanges()
    changes.isAllCleared = true
  }

  private func savepoint(_ tx: WriteTransaction, _ depth: Int) throws {
    let before = (model, changes)
    let isUndone = random.oneIn(2)
    do {
      try tx.savepoint {
        for _ in 0..<1 + random.below(6) { try operate(tx, depth: depth + 1) }
        if isUndone { throw Undo() }
      }
      count("savepoint kept")
    } catch is Undo {
      count("savepoint undone")
      let newest = model.newestRowID
      (model, changes) = before
      model.newestRowID = newest
    }
  }
}
