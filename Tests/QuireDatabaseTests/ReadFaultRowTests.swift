// Each read of the disk fails once while rows and trees of extensions are walked through: the transaction throws, and
// never takes an error for the end. The next one finds everything.

import QuireDatabase
import QuireTesting
import Testing

@Suite("Reads of rows that fail once") struct ReadFaultRowTests {
  /// What is asked, and answered with texts in order.
  enum Question: CaseIterable {
    case objects, reversedObjects, keys, reversedKeys, metadata, rowIDs, entries, entryKeys, entriesAsLent, walk
  }

  private static let options = Database.Options(durability: .relaxed, cacheSize: 4 << 20, maintainsWhenIdle: false)
  private static let index = ValueIndex<String, String>("words", { .texts($0) }) { object, _ in
    String(object.prefix(20))
  }

  /// A database that nobody has open: two collections of equal rows, some of which are too long for a page.
  private static func makeDisk() throws -> SimulatedDisk {
    let disk = SimulatedDisk()
    let db = try disk.openDatabase(seed: 1, options)
    try db.register(index)
    try db.write { tx throws in
      for name in ["t", "u"] {
        for number in 0..<600 {
          let text = "word \(number &* 7919 % 1009) " + String(repeating: "x", count: number % 50 == 0 ? 9000 : 40)
          try tx[.texts(name)].set(text, metadata: "\(number)", for: "key \(1000 + number)")
        }
      }
    }
    try db.close()
    return disk
  }

  private static let wholeDisk = Result { try makeDisk() }

  private static func ask(_ question: Question, _ tx: ReadTransaction) throws -> [String] {
    let rows = tx[.texts("t")]
    let entries = try tx.access(to: index).entries
    switch question {
    case .objects: return rows.rows.map(\.object)
    case .reversedObjects: return rows.rows.reversed().map(\.object)
    case .keys: return Array(rows.keys)
    case .reversedKeys: return Array(rows.keys.reversed())
    case .metadata: return rows.metadata.map { $0.metadata ?? "" }
    case .rowIDs: return try rows.rowIDs.map(\.description)
    case .entries, .entryKeys, .entriesAsLent:
      var found: [String] = []
      let cursor = try entries.cursor()
      while try cursor.next() {
        switch question {
        case .entries: if let entry = try cursor.entry { found.append("\(entry)") }
        case .entryKeys: if let key = cursor.key { found.append("\(key)") }
        default: try cursor.withEntry { key, value in found.append("\(key.byteCount) \(value.byteCount)") }
        }
      }
      return found
    case .walk:
      var found: [String] = []
      try entries.forEach(from: nil, upTo: nil) { key, _ in
        found.append(key.withUnsafeBytes { "\(Array($0))" })
        return true
      }
      return found
    }
  }

  @Test("No row and no entry is passed over", .enabled(if: TestSize.hasSlowTests, "slow"), arguments: Question.allCases)
  func questions(question: Question) throws {
    let whole = try Self.wholeDisk.get()
    let calm = try whole.processKillImage().openDatabase(seed: 1, Self.options)
    try calm.register(Self.index)
    let expected = try calm.read { tx in try Self.ask(question, tx) }
    try calm.close()
    var (readCount, toldCount) = (0, 0)
    while true {
      let disk = whole.processKillImage()
      let db = try disk.openDatabase(seed: 1, Self.options)
      try db.register(Self.index)
      let fault = FailingRead(readCount, on: disk)
      do {
        let found = try db.read { tx in try Self.ask(question, tx) }
        #expect(found == expected, "read \(readCount) failed, and nobody was told")
      } catch let error as DatabaseError {
        #expect(error.code == .inputOutput, "read \(readCount)")
        toldCount += 1
        let again = try db.read { tx in try Self.ask(question, tx) }
        #expect(again == expected, "read \(readCount) failed")
      }
      let hasFailed = fault.end()
      try db.close()
      if !hasFailed { break }
      readCount += 1
    }
    #expect(expected.count >= 2 && readCount >= 1 && toldCount >= 1)
  }

  @Test(
    "A collection that is removed leaves no row", .enabled(if: TestSize.hasSlowTests, "slow"), arguments: [false, true])
  func removal(isOneByOne: Bool) throws {
    let whole = try Self.wholeDisk.get()
    // In the short size each third read fails.
    let step = TestSize.isFull ? 1 : 3
    var (readCount, toldCount) = (0, 0)
    while true {
      let disk = whole.processKillImage()
      let db = try disk.openDatabase(seed: 1, Self.options)
      try db.register(Self.index)
      let fault = FailingRead(readCount, on: disk)
      func remove() throws {
        try db.write { tx throws in
          if isOneByOne {
            for key in Array(tx[.texts("t")].keys) { try tx[.texts("t")].remove(key) }
          } else {
            _ = try tx[.texts("t")].removeAll()
          }
        }
      }
      do { try remove() } catch let error as DatabaseError {
        #expect(error.code == .inputOutput, "read \(readCount)")
        toldCount += 1
        #expect(try db.read { tx in tx[.texts("t")].count } == 600)
        try remove()
      }
      let hasFailed = fault.end()
      try db.checkInvariants()
      try db.verify()
      let left = try db.read { tx in tx[.texts("t")].count }
      let entryCount = try db.read { tx in try tx.access(to: Self.index).entries.count }
      #expect(left == 0 && entryCount == 600)
      try db.close()
      if !hasFailed { break }
      readCount += step
    }
    #expect(readCount >= 5 && toldCount >= 5 / step)
  }
}
