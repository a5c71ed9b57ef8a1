// Repeatable work on a database that is to be damaged afterwards, and what it must hold after each commit.

package import QuireStorage

/// Drives an engine on a simulated disk and notes the digest of each commit's content.
package final class RotWorkload {
  package static let path = "/rot/db"
  /// Trees that the work is done in; others do not count.
  static let trees = ["texts", "numbers"]

  package let disk: SimulatedDisk
  package let options: StorageOptions
  private(set) var engine: StorageEngine
  /// By number of the commit.
  package private(set) var states: [UInt64: StateDigest] = [:]
  private var model = ModelState()
  private var random: SeededRandom
  /// One value in so many is longer than a page.
  var longOneIn = 0
  var valueByteCount = 60

  /// Opens or creates the database on `disk`.
  package init(_ disk: SimulatedDisk, _ options: StorageOptions, seed: UInt64) throws {
    self.disk = disk
    self.options = options
    random = SeededRandom(seed: seed)
    engine = try Self.open(disk, options)
    try engine.write { tx in
      model.create(try tx.createTree(Self.trees[0], keys: .bytes).id)
      model.create(try tx.createTree(Self.trees[1], keys: .int64).id)
    }
    note()
  }

  /// Opens the database on `disk`, for one thread, with dice that are always the same.
  package static func open(
    _ disk: SimulatedDisk, _ options: StorageOptions
  ) throws(StorageError) -> StorageEngine {
    let dice = SharedRandom(seed: 7)
    let environment = StorageEnvironment(
      fileSystem: disk, random: { dice.next() }, scheduling: .stepped, allowsTestPages: true,
      initialSegmentByteCount: options.logLimit, partByteCount: 1 << 10)
    return try StorageEngine(at: path, options: options, environment: environment)
  }

  private func note() { states[engine.core.head.csn.rawValue] = model.digest }

  /// The newest commit.
  var newest: UInt64 { engine.core.head.csn.rawValue }

  /// One transaction with so many changes, some of them undone by a savepoint.
  func commit(changes: Int) throws {
    var draft = model
    try engine.write { tx in
      for step in 0..<changes {
        if changes > 8, step % 8 == 7 {
          let saved = draft
          try? tx.savepoint { inner in
            try change(inner, &draft)
            try inner.rollback()
          }
          draft = saved
        } else {
          try change(tx, &draft)
        }
      }
    }
    model = draft
    note()
  }

  private func change(_ tx: borrowing WriteTransaction, _ draft: inout ModelState) throws {
    guard let texts = tx.tree(named: Self.trees[0]), let numbers = tx.tree(named: Self.trees[1]) else { return }
    let number = random.below(400)
    let text = "a common prefix/\(number)"
    let integer = Int64(number) - 200
    if random.oneIn(5) {
      if number % 2 == 0 {
        _ = try tx.delete(text, in: texts)
        draft.delete(Array(text.utf8), in: texts.id)
      } else {
        _ = try tx.delete(integer, in: numbers)
        draft.delete(KeyUniverse.key(integer), in: numbers.id)
      }
      return
    }
    let isLong = longOneIn > 0 && random.oneIn(longOneIn)
    let count = isLong ? options.pageSize * (1 + random.below(3)) + 17 : random.below(valueByteCount)
    let start = random.next()
    let value = (0..<count).map { UInt8(truncatingIfNeeded: (start &+ UInt64($0)) &* 0x9e37_79b9_7f4a_7c15 >> 56) }
    if number % 2 == 0 {
      try tx.put(value, for: text, in: texts)
      draft.put(Array(text.utf8), value, in: texts.id)
    } else {
      try tx.put(value, for: integer, in: numbers)
      draft.put(KeyUniverse.key(integer), value, in: numbers.id)
    }
  }

  /// Leaves the engine to itself: what it holds open on `disk` is closed.
  func close() throws { try engine.close() }
}
