// Damage: it is found, told with the place, and never a trap.

import Foundation
import QuireDatabase
@testable import QuireFullText
import QuireTesting
import QuireText
import Testing

@Suite("Damage to full texts")
struct VerifyTests {
  private static let treeNames = ["blocks", "positions", "recent", "lengths"]

  private func database(_ text: MemoText, _ seed: UInt64) throws -> Database {
    let db = try Database.inMemory()
    try db.register(text)
    var random = SeededRandom(seed: seed)
    try db.write { tx in for number in 0..<300 { try tx[.memos].set(random.memo(60), for: "k\(number)") } }
    for _ in 0..<20 { try db.write { tx in try tx[.memos].set(random.memo(60), for: "k\(random.below(300))") } }
    try db.verify(text)
    return db
  }

  private struct Undo: Error {}

  /// Runs `body` in a transaction that is rolled back.
  private func undone(_ db: Database, _ body: (WriteTransaction) throws -> Void) throws {
    do {
      try db.write { tx in
        try body(tx)
        throw Undo()
      }
    } catch is Undo {}
  }

  @Test(
    "An entry that is gone, or too many, is told", .enabled(if: TestSize.hasSlowTests, "slow"),
    arguments: Self.treeNames + ["rows"])
  func missingAndStrayEntriesAreTold(name: String) throws {
    let text = MemoText.memos()
    let db = try database(text, 1)
    var random = SeededRandom(seed: 2)
    for _ in 0..<TestSize.trials(25, divisor: 4) {
      try undone(
        db,
        { tx in
          let trees = try tx.access(to: text).upkeep.trees
          if name == "rows" {
            guard let entry = try trees.rows.entry(at: random.below(trees.rows.count)) else { return }
            if random.oneIn(2) {
              try trees.rows.remove(entry.key)
            } else {
              try trees.rows.put(entry.value, for: RowID(99_999))
            }
          } else {
            let tree = try trees.store.tree(name, of: [UInt8].self)
            guard try tree.count > 0, let entry = try tree.entry(at: random.below(tree.count)) else { return }
            if random.oneIn(2) {
              try tree.remove(entry.key)
            } else {
              var key = entry.key
              key[key.count - 1 - random.below(2)] ^= UInt8(1 << random.below(7))
              if try tree.contains(key) { return }
              try tree.put(entry.value, for: key)
            }
          }
          #expect(fullTextError { try tx.access(to: text).reader.verify() } != nil)
        })
    }
    try db.verify(text)
  }

  @Test(
    "Bytes that flip are told, or change nothing, and never trap", .enabled(if: TestSize.hasSlowTests, "slow"),
    arguments: PostingDetail.allCases)
  func flippedBytesAreTold(detail: PostingDetail) throws {
    let text = MemoText.memos(detail)
    let db = try database(text, 3)
    var random = SeededRandom(seed: 4)
    var (toldCount, count) = (0, 0)
    for _ in 0..<TestSize.trials(4000, divisor: 100) {
      try undone(db) { tx in
        let trees = try tx.access(to: text).upkeep.trees
        let tree = try trees.store.tree(random.pick(Self.treeNames), of: [UInt8].self)
        guard try tree.count > 0, let entry = try tree.entry(at: random.below(tree.count)) else { return }
        var (key, value) = (entry.key, entry.value)
        if random.oneIn(4) || value.isEmpty {
          key[random.below(key.count)] ^= UInt8(1 << random.below(8))
          try tree.remove(entry.key)
        } else {
          for _ in 0...random.below(2) { value[random.below(value.count)] ^= UInt8(1 << random.below(8)) }
          if random.oneIn(10) { value.removeLast(random.below(value.count)) }
        }
        try tree.put(value, for: key)
        count += 1
        // What a search could find is right if nothing is told.
        if fullTextError({ try tx.access(to: text).reader.verify() }) != nil { toldCount += 1 }
        // Going on may be refused, and does not trap.
        _ = fullTextError {
          for _ in 0..<5 { try tx[.memos].set(random.memo(60), for: "k\(random.below(300))") }
          try tx.access(to: text).merge(count: 500)
        }
      }
    }
    // Limits may be wider than they have to be.
    #expect(toldCount > count * 3 / 4)
    try db.verify(text)
  }

  @Test("A value that breaks the format is told where it is asked for")
  func brokenValuesAreTold() throws {
    let text = MemoText.memos()
    let db = try database(text, 5)
    for name in ["totals", "state", "definition"] {
      for bytes in [[], [1], [UInt8](repeating: 0xff, count: 8)] as [[UInt8]] {
        try undone(db) { tx in
          let store = try tx.access(to: text).store
          if name == "state" { try store.set(Int(bytes.count + 7), for: name) } else { try store.set(bytes, for: name) }
          #expect(fullTextError { try tx.access(to: text).reader.verify() } != nil)
        }
      }
    }
    try db.verify(text)
  }

  @Test("Records and chunks of lengths are read as they were written, and no bytes trap")
  func smallFormatsAreHostile() {
    var random = SeededRandom(seed: 12)
    for _ in 0..<3000 {
      let bytes = (0..<random.below(20)).map { _ in UInt8(random.below(256)) }
      if let record = unsafe TextRecord(bytes.span.bytes) {
        #expect(unsafe TextRecord(record.bytes.span.bytes) == record)
      }
      if let chunk = unsafe LengthChunk(bytes.span.bytes) { #expect(chunk.bytes == bytes) }
    }
    let record = TextRecord(length: 1 << 40, hash: .max)
    #expect(unsafe TextRecord(record.bytes.span.bytes) == record)
    var chunk = LengthChunk()
    #expect(chunk.bytes.isEmpty)
    chunk[200] = 7
    #expect(chunk.bytes.count == 402)
    #expect(unsafe LengthChunk(chunk.bytes.span.bytes) == chunk)
    chunk[200] = 0
    #expect(chunk.bytes.isEmpty)
  }
}
