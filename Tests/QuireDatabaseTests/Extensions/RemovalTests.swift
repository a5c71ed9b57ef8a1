// Extensions that remove many entries of their trees, or many rows, at once.

import Quire
import QuireTesting
import Testing

@Suite("Removals of many at once") struct RemovalTests {
  private func index(_ name: String = "words", isPersistent: Bool = true) -> ValueIndex<String, String> {
    var index = ValueIndex<String, String>(name, { .texts($0) }) { object, _ in object }
    index.isPersistent = isPersistent
    return index
  }

  private func key(_ number: Int) -> [UInt8] { Array("key \(number)".utf8) }

  /// Neighbours, keys far apart, keys that are not there, and keys that are there twice, in order and out of it.
  @Test(arguments: [true, false], TestSize.some(1...4 as ClosedRange<UInt64>, of: 2))
  func keysAreRemoved(_ isPersistent: Bool, seed: UInt64) throws {
    let db = try Database.inMemory()
    let index = index(isPersistent: isPersistent)
    try db.register(index)
    var random = SeededRandom(seed: seed)
    try db.write { tx throws in
      let entries = try tx.access(to: index).reader.entries
      var expected: Set<[UInt8]> = []
      for _ in 0..<TestSize.trials(30, divisor: 4) {
        for number in 0..<2000 where random.below(3) > 0 {
          expected.insert(key(number))
          if number % 2 == 0 {
            try entries.put([1], for: key(number))
          } else {
            let (key, value) = (key(number), [1 as UInt8])
            try entries.put(value.span.bytes, for: key.span.bytes)
          }
        }
        var numbers: [Int] = []
        for _ in 0..<random.below(20) {
          let first = random.below(2000)
          numbers += first..<first + random.below(random.below(2) == 0 ? 3 : 300)
        }
        if random.below(2) == 0 { numbers.sort { key($0).lexicographicallyPrecedes(key($1)) } }
        var keys = ByteKeys()
        for number in numbers {
          let key = key(number)
          keys.append(key.span.bytes)
          expected.remove(key)
        }
        #expect(keys.count == numbers.count && numbers.indices.allSatisfy { keys[$0] == key(numbers[$0]) })
        try entries.remove(keys)
        #expect(try entries.count == expected.count)
        let cursor = try entries.cursor()
        var found: Set<[UInt8]> = []
        while try cursor.next() { if let key = cursor.key { found.insert(key) } }
        #expect(found == expected)
      }
      try entries.removeAll()
    }
  }

  @Test func keysKnowTheirOrder() {
    var keys = ByteKeys()
    for key in ["", "a", "ab", "b"] {
      let bytes = Array(key.utf8)
      keys.append(bytes.span.bytes)
      #expect(keys.isAscending)
    }
    let bytes = Array("b".utf8)
    keys.append(bytes.span.bytes)
    #expect(!keys.isAscending && keys[0].isEmpty && keys[4] == bytes)
  }

  /// Rows are removed without hooks up to one that somebody else follows; what is reported is as of single removals.
  @Test func rowsThatNobodyElseFollowsAreRemoved() throws {
    let db = try Database.inMemory()
    try db.register(index())
    var other = index("other")
    other.collections = .only(["followed"])
    try db.register(other)
    var rowIDs: [RowID] = []
    try db.write { tx throws in
      for number in 0..<100 {
        let rows = tx[.texts(number == 60 ? "followed" : number < 30 ? "a" : "b")]
        try rows.set("text", for: "\(number)")
        if let rowID = try rows.rowID("\(number)") { rowIDs.append(rowID) }
      }
    }
    let pin = try db.pin()
    try db.write { tx throws in
      let store = try tx.access(to: index()).store
      #expect(try store.hasRow(rowIDs[0]) && !store.hasRow(RowID(9999)) && !store.hasRow(RowID(-1)))
      // One that is not there, in front and inside.
      #expect(try store.removeUnfollowedRows([RowID(9999)]).doneCount == 1)
      let wanted = Array(rowIDs[..<20]) + [RowID(9999)] + rowIDs[20..<30]
      let first = try store.removeUnfollowedRows(wanted[...])
      #expect(first.doneCount == 21 && first.removed == Array(rowIDs[..<20]))
      let second = try store.removeUnfollowedRows(wanted[21...] + rowIDs[30...])
      // Up to the other collection.
      #expect(second.doneCount == 10 && second.removed == Array(rowIDs[20..<30]))
      let third = try store.removeUnfollowedRows(rowIDs[31...] + [rowIDs[40]])
      #expect(third.doneCount == 29 && third.removed == Array(rowIDs[31..<60]))
      #expect(try store.removeUnfollowedRows(rowIDs[60...]).doneCount == 0)
      #expect(tx[.texts("b")].count == 40 && tx[.texts("a")].count == 0 && tx[.texts("followed")].count == 1)
      #expect(try !store.hasRow(rowIDs[31]) && store.hasRow(rowIDs[30]))
    }
    let commits = try pin.advance()
    #expect(commits.map { $0.changes.removedKeys(in: .texts("b")).count } == [29])
    #expect(commits.map { $0.changes.removedKeys(in: .texts("a")).count } == [30])
    try db.verify()
    #expect(try db.read { tx throws in try tx.access(to: index()).rows("text").count } == 100)
  }

  /// Who follows a read that has asked whether a row is there is told when it goes.
  @Test func askingForARowIsARead() throws {
    let db = try Database.inMemory()
    var other = index("other")
    other.collections = .only(["others"])
    try db.register(other)
    let index = other
    let rowIDs = try db.write { tx throws in
      try ["a", "b"].map { key in
        try tx[.texts("t")].set("text", for: key)
        return try #require(try tx[.texts("t")].rowID(key))
      }
    }
    let pin = try db.pin()
    let (found, reads) = try pin.followingRead { tx in try tx.access(to: index).store.hasRow(rowIDs[0]) }
    #expect(found)
    try db.write { tx throws in try tx[.texts("t")].remove("b") }
    #expect(!reads.areChanged(by: try pin.advanceTellingAll()))
    try db.write { tx throws in try tx[.texts("t")].remove("a") }
    #expect(reads.areChanged(by: try pin.advanceTellingAll()))
  }

  /// Rows of two collections by turns go in steps of one, at no more than a few look-ups each.
  @Test func alternatingRowsGoInStepsOfOne() throws {
    let db = try Database.inMemory()
    try db.register(index())
    try db.write { tx throws in
      var rowIDs: [RowID] = []
      for number in 0..<64 {
        let rows = tx[.texts(number % 2 == 0 ? "a" : "b")]
        try rows.set("text", for: "\(number)")
        rowIDs.append(try #require(try rows.rowID("\(number)")))
      }
      let store = try tx.access(to: index()).store
      var rest = rowIDs[...]
      while !rest.isEmpty {
        let step = try store.removeUnfollowedRows(rest)
        #expect(step.doneCount == 1 && step.removed == [rest.first])
        rest = rest.dropFirst()
      }
      #expect(tx[.texts("a")].count == 0 && tx[.texts("b")].count == 0)
    }
    try db.verify()
  }
}
