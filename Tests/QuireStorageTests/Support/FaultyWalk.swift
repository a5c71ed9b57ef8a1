// Cursors over a disk that fails: what they say is held against a model, and a step that throws is taken again.

import QuireTesting
import Testing

@testable import QuireStorage

/// A database that nobody has open, with a tree of several levels, and some values too long for a page.
struct ClosedTree {
  static let options = StorageOptions(pageSize: 512, cacheSize: 256 * 512, durability: .relaxed)
  let disk = SimulatedDisk()
  let keys: KeyKind
  private(set) var model = SortedModel()

  init(_ keys: KeyKind, count: Int, seed: UInt64) throws {
    self.keys = keys
    var random = SeededRandom(seed: seed)
    for number in 0..<count {
      let value = [UInt8](marked: number, count: random.oneIn(15) ? 600 + random.below(900) : random.below(60))
      let text = Array("\(random.oneIn(2) ? "shared front " : "")\(number)".utf8)
      _ = model.put(value, keys == .bytes ? text : orderedKey(Int64(number * 3 - 300)))
    }
    let engine = try disk.openEngine(Self.options, seed: seed)
    let model = model
    try engine.write { tx in
      let tree = try tx.createTree("t", keys: keys)
      for (key, value) in zip(model.keys, model.values) { try tx.modelPut(value, key, in: tree) }
    }
    try engine.close()
  }

  /// Lets `walk` have a cursor over the tree, of which no page is in memory, and one read of the disk fail.
  func walk(
    by owner: ReadFaultCursorTests.Owner, failing number: Int, seed: UInt64,
    _ walk: (FaultyWalk, inout Cursor) throws -> Void
  ) throws -> FaultyWalk {
    let disk = disk.processKillImage()
    let engine = try disk.openEngine(Self.options, seed: seed)
    let faulty = FaultyWalk(model, seed: seed)
    func go(_ cursor: inout Cursor) throws {
      let fault = FailingRead(number, on: disk)
      do { try walk(faulty, &cursor) } catch let mismatch as Mismatch {
        throw Mismatch("\(owner), seed \(seed), read \(number): \(mismatch)")
      }
      faulty.hasFailed = fault.end()
    }
    if owner == .writer {
      try engine.write { tx in
        guard let tree = tx.tree(named: "t") else { throw Mismatch("no tree") }
        var cursor = try tx.cursor(tree)
        try go(&cursor)
      }
    } else {
      try engine.read { tx in
        guard let tree = tx.tree(named: "t") else { throw Mismatch("no tree") }
        var cursor = Cursor(
          tx.reader, try tx.root(tree), tree: tree, slots: tx.slots, slot: tx.slot, writer: nil,
          copies: owner == .readerOfCopies)
        try go(&cursor)
      }
    }
    try engine.close()
    return faulty
  }
}

/// Takes steps, again if they throw, and holds what they give against the model.
final class FaultyWalk {
  /// Where the cursor is.
  enum Place {
    case nowhereYet
    /// On the entry of this rank; in front of the first one at -1, behind the last at their count.
    case at(Int)
    /// On none, in front of the entry of this rank.
    case inFrontOf(Int)
  }

  let model: SortedModel
  var random: SeededRandom
  var place = Place.nowhereYet
  /// Whether the disk has failed.
  var hasFailed = false
  /// How many calls have told so.
  private(set) var thrownCount = 0

  init(_ model: SortedModel, seed: UInt64) {
    self.model = model
    random = SeededRandom(seed: seed &* 31 &+ 7)
  }

  /// Calls `body`, and once more if the disk has failed.
  func step<Result>(_ body: () throws -> Result) throws -> Result {
    do { return try body() } catch let error as StorageError {
      try note(error)
      return try body()
    }
  }

  func note(_ error: StorageError) throws {
    try require(error.code == .inputOutput && thrownCount == 0, "\(error)")
    thrownCount += 1
  }

  // MARK: Looking

  /// Throws unless the cursor is on the entry of a rank.
  func look(_ cursor: inout Cursor, at rank: Int) throws {
    var key = cursor.key
    if key == nil {
      try require(cursor.isOnEntry, "no entry where entry \(rank) is expected")
      thrownCount += 1
      key = cursor.key
    }
    try require(equal(key, model.keys[rank]), "on \(String(describing: key)), expected \(model.keys[rank])")
    let value = try step { try cursor.value }
    try require(equal(value, model.values[rank]), "entry \(rank) has another value")
    let lent = try step { try cursor.withValue { $0.withUnsafeBytes { Array($0) } } }
    try require(equal(lent, model.values[rank]), "entry \(rank) is lent with another value")
  }

  func look(_ cursor: inout Cursor) throws {
    guard case .at(let rank) = place, (0..<model.count).contains(rank) else {
      return try require(!cursor.isOnEntry, "on \(String(describing: cursor.key)), expected at \(place)")
    }
    try look(&cursor, at: rank)
  }

  // MARK: Runs and spans

  /// Hands `take` what a run gives, and lets it begin once more where it was cut off, until it is complete.
  private func collect(
    _ cursor: inout Cursor, _ expected: Range<Int>, _ take: (inout Cursor, _ given: inout Int) throws -> Void
  ) throws -> Int {
    var given = 0
    do { try take(&cursor, &given) } catch let error as StorageError {
      try note(error)
      try take(&cursor, &given)
    }
    try require(given == expected.count, "\(given) entries, expected \(expected)")
    return given
  }

  func check(_ key: RawSpan?, _ value: RawSpan?, _ rank: Int) throws {
    try require(rank < model.count, "there is more behind the last entry")
    if let key {
      let isSame = key.withUnsafeBytes { equal(Array($0), model.keys[rank]) }
      try require(isSame, "a run has another key at entry \(rank)")
    }
    if let value {
      let isSame = value.withUnsafeBytes { equal(Array($0), model.values[rank]) }
      try require(isSame, "a run has another value at entry \(rank)")
    }
  }

  func takeRun(_ cursor: inout Cursor, from rank: Int, limit: Int) throws -> Int {
    let end = limit < model.count - rank ? rank + limit : model.count
    let hasKeys = random.oneIn(2)
    return try collect(&cursor, rank..<end) { cursor, given in
      if hasKeys {
        try cursor.forEach(limit: end - rank - given) { key, value in
          try check(key, value, rank + given)
          given += 1
          return true
        }
      } else {
        try cursor.forEachValue(limit: end - rank - given) { value in
          try check(nil, value, rank + given)
          given += 1
          return true
        }
      }
    }
  }

  func takeNumbers(_ cursor: inout Cursor, from rank: Int, limit: Int) throws -> Int {
    let end = limit < model.count - rank ? rank + limit : model.count
    return try collect(&cursor, rank..<end) { cursor, given in
      if rank + given == end { return }
      try cursor.forEachNumber { key, value in
        try require(key == integer(model.keys[rank + given]), "a run has another number at entry \(rank + given)")
        try check(nil, value, rank + given)
        given += 1
        return rank + given < end
      }
    }
  }

  func takeKeys(_ cursor: inout Cursor, from rank: Int, below end: Int?) throws -> Int {
    try collect(&cursor, rank..<max(rank, end ?? model.count)) { cursor, given in
      let isDone = try model.withKey(end) { upper in
        try cursor.forEachKey(below: upper) { key in
          try check(key, nil, rank + given)
          given += 1
          return true
        }
      }
      try require(isDone, "a span ends early")
    }
  }

  /// Goes forwards to the entry of a rank; returns where the cursor is then.
  func advance(_ cursor: inout Cursor, to target: Int, from rank: Int) throws -> Int {
    let end = max(rank, target)
    let found = try step {
      try model.keys[target].withUnsafeBytes { key in
        try cursor.advance(to: key) { key in key.withUnsafeBytes { Array($0) } }
      }
    }
    try require(equal(found, end < model.count ? model.keys[end] : nil), "went to \(String(describing: found))")
    return end
  }
}

extension SortedModel {
  /// Lends the key of a rank, or nothing.
  func withKey<Result>(
    _ rank: Int?, _ body: (UnsafeRawBufferPointer?) throws -> Result
  ) rethrows -> Result {
    guard let rank else { return try body(nil) }
    return try keys[rank].withUnsafeBytes { try body($0) }
  }
}
