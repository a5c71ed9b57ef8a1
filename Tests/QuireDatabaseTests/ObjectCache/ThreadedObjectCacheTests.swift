// Readers of many snapshots share a small cache while writers change what is in it: every read is compared with one of
// the same snapshot that goes past the cache.

import Foundation
import QuireDatabase
import QuireTesting
import Synchronization
import Testing

@Suite struct ThreadedObjectCacheTests {
  private struct Undo: Error {}
  private struct Mismatch: Error, CustomStringConvertible { var description: String }

  private final class Signals: Sendable {
    let writersLeft = Atomic<Int>(2)
    let readCount = Atomic<Int>(0)
  }

  private static let names = ["a", "b", "c"]
  private static let keyCount = 60

  /// The object is its bytes, so that it can be compared without a decoder.
  private static func rows(_ name: String) -> RowCollection<[UInt8], Int> { RowCollection(name, coder: .bytes) }

  /// One random transaction, which may be undone in part or as a whole.
  private static func change(_ db: Database, _ random: inout SeededRandom) throws {
    let isUndone = random.oneIn(6)
    var draw = random
    do {
      try db.write { tx throws in
        // Now and then more than the cache has places.
        for _ in 0..<(draw.oneIn(40) ? 900 : 1 + draw.below(8)) { try step(tx, &draw) }
        if draw.oneIn(5) {
          do {
            try tx.savepoint {
              for _ in 0..<4 { try step(tx, &draw) }
              throw Undo()
            }
          } catch is Undo {}
        }
        if isUndone { throw Undo() }
      }
    } catch is Undo {}
    random = draw
  }

  private static func step(_ tx: WriteTransaction, _ random: inout SeededRandom) throws {
    let rows = tx[rows(names[random.below(names.count)])]
    let key = "key \(random.below(keyCount))"
    switch random.below(50) {
    case 0: try rows.removeAll()
    case 1: if random.oneIn(4) { try tx.removeAll() }
    case 2...9: try rows.remove(key)
    case 10...14: try rows.replaceMetadata(random.oneIn(2) ? nil : random.below(100), for: key)
    case 15...19: try rows.touch(key)
    default:
      let bytes = (0..<random.below(60)).map { _ in UInt8(random.below(256)) }
      try rows.set(bytes, metadata: random.oneIn(2) ? nil : random.below(1000), for: key)
    }
  }

  /// Reads some rows in every way that uses the cache, and past it.
  private static func compare(_ tx: ReadTransaction, _ random: inout SeededRandom, _ what: String) throws {
    for _ in 0..<8 {
      let name = names[random.below(names.count)]
      let (rows, key) = (tx[rows(name)], "key \(random.below(keyCount))")
      let raw = try tx.rawRows(name).row(key)
      func expect(_ isRight: Bool, _ call: String) throws {
        if isRight { return }
        throw Mismatch(description: "\(what), \(tx.csn): \(call) of \(name)/\(key) differs from the trees")
      }
      switch random.below(6) {
      case 0, 1: try expect(try rows.get(key) == raw?.object, "get")
      case 5: try expect(try hasItsOwn(tx, name, raw?.rowID ?? RowID(1), &random), "an object by a number")
      case 2:
        let row = try rows.row(key)
        try expect(row?.object == raw?.object && row?.rowID == raw?.rowID, "row")
        try expect((row?.metadata == nil) == (raw?.metadata == nil), "row's metadata")
      case 3: try expect((try rows.metadata(key) == nil) == (raw?.metadata == nil), "metadata")
      default:
        let keys = [key, "key \(random.below(keyCount))", key]
        let expected = try keys.compactMap { try tx.rawRows(name).row($0)?.object }
        try expect(try rows.objects(for: keys) == expected, "objects")
        try expect(try rows.rows(for: keys).map(\.object) == expected, "rows")
      }
    }
  }

  /// Whether the cache, asked for a row that is there, and for one that may have been there before, or comes later, or
  /// is of another collection, has nothing or what the trees have.
  private static func hasItsOwn(
    _ tx: ReadTransaction, _ name: String, _ known: RowID, _ random: inout SeededRandom
  ) throws -> Bool {
    for rowID in [known, RowID(known.rawValue + Int64(random.below(9)) - 4)] {
      guard let object = tx[rows(name)].handle.objectCached(rowID) else { continue }
      guard let key = try tx.key(of: rowID), key.collection == name,
        try tx.rawRows(name).row(key.key)?.object == object
      else { return false }
    }
    return true
  }

  // In functions of their own, which are not async, and read on their thread.

  private static func read(_ db: Database, _ random: inout SeededRandom, _ what: String) throws {
    try db.read { tx throws in try compare(tx, &random, what) }
  }

  private static func read(_ pin: PinnedSnapshot, _ random: inout SeededRandom) throws {
    try pin.read { tx throws in try compare(tx, &random, "pin") }
  }

  @Test(.enabled(if: TestSize.hasSlowTests, "slow"), arguments: [Durability.relaxed, .full])
  func everyReadIsThatOfItsSnapshot(_ durability: Durability) async throws {
    let folder = try TestFolder()
    let db = try folder.open(
      Database.Options(durability: durability, objectCache: ObjectCacheOptions(countLimit: 120, byteLimit: 25_000)))
    let steps = TestSize.trials(durability == .full ? 150 : 600, divisor: 3)
    let readCount = TestSize.trials(1000, divisor: 3)
    let signals = Signals()
    try await withThrowingTaskGroup(of: Void.self) { group in
      for writer in 0..<2 {
        group.addTask {
          var random = SeededRandom(seed: UInt64(writer))
          var step = 0
          // Until readers have had their turns, on a machine with few cores as well.
          while step < steps || signals.readCount.load(ordering: .relaxed) < readCount {
            try Self.change(db, &random)
            step += 1
            try await Self.pause()
          }
          signals.writersLeft.subtract(1, ordering: .releasing)
        }
      }
      for reader in 0..<2 {
        group.addTask {
          var random = SeededRandom(seed: UInt64(10 + reader))
          while signals.writersLeft.load(ordering: .acquiring) > 0 {
            for _ in 0..<5 { try Self.read(db, &random, "reader \(reader)") }
            signals.readCount.add(5, ordering: .relaxed)
            try await Self.pause()
          }
        }
      }
      group.addTask {
        var random = SeededRandom(seed: 20)
        var pins: [PinnedSnapshot] = []
        while signals.writersLeft.load(ordering: .acquiring) > 0 {
          if pins.count < 5 { pins.append(try db.pin()) }
          for pin in pins { try Self.read(pin, &random) }
          switch random.below(20) {
          case 0: pins.remove(at: random.below(pins.count))
          case 1: try pins[random.below(pins.count)].advance()
          case 2: db.flushMemory()
          case 3: try db.checkInvariants()
          default: break
          }
          try await Self.pause()
        }
      }
      try await group.waitForAll()
    }
    let figures = try #require(db.objectCacheStatistics)
    let least = TestSize.trials(100, divisor: 3)
    #expect(figures.hits > least && figures.evictions > least / 5 && figures.invalidations > least, "\(figures)")
    try Self.finish(db)
  }

  /// Lets others go on, and ends a task of which another one has failed.
  private static func pause() async throws {
    try Task.checkCancellation()
    await Task.yield()
  }

  private static func finish(_ db: Database) throws {
    try db.checkInvariants()
    try db.verify()
    try db.close()
  }

  /// Code that a coder calls while it decodes a row, once.
  private typealias Interruption = @Sendable () -> Void

  @Test("A reader that decodes a row while it is changed keeps the old object for itself")
  func aLateReaderLeavesNothing() throws {
    let interruption = Shared<Interruption?>(nil)
    let coder = RowCoder<[UInt8]>(
      encode: { $0 },
      decode: { bytes in
        interruption.withLock { $0.take() }?()
        return [bytes.unsafeLoad(as: UInt8.self)]
      })
    let rows = RowCollection<[UInt8], NoMetadata>("rows", coder: coder)
    let db = try Database.inMemory(options: Database.Options(objectCache: ObjectCacheOptions()))
    try db.write { tx throws in try tx[rows].set([1], for: "k") }
    interruption.withLock {
      $0 = {
        let isDone = DispatchSemaphore(value: 0)
        Thread.detachNewThread {
          #expect(throws: Never.self) { try db.write { tx throws in try tx[rows].set([2], for: "k") } }
          isDone.signal()
        }
        isDone.wait()
      }
    }
    #expect(try db.read { tx in try tx[rows].get("k") } == [1])
    #expect(try #require(db.objectCacheStatistics).insertions == 0)
    for _ in 0..<2 { #expect(try db.read { tx in try tx[rows].get("k") } == [2]) }
    #expect(try #require(db.objectCacheStatistics).hits == 1)
    try Self.finish(db)
  }
}
