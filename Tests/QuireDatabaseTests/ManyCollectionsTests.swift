// Thousands of collections in one transaction: the time grows with their number, not with its square.

import Foundation
import QuireDatabase
import QuireTesting
import Testing

@Suite(.serialized) struct ManyCollectionsTests {
  private static func texts(_ number: Int) -> RowCollection<String, String> { .texts("collection number \(number)") }

  private static func fill(_ database: Database, _ count: Int) throws {
    try database.write { tx in
      for number in 0..<count { try tx[texts(number)].set("text \(number)", metadata: "", for: "key") }
    }
  }

  private static func open() throws -> Database {
    try SimulatedDisk().openDatabase(seed: 1, Database.Options())
  }

  @Test("Four times as many collections take about four times as long to make, and to write to once more")
  func fillingIsLinear() throws {
    let growth = try Effort.growth(of: TestSize.trials(300, divisor: 2), by: 4) { count in
      let database = try Self.open()
      return {
        try Self.fill(database, count)
        try database.write { tx in
          for number in 0..<count { try tx[Self.texts(number)].set("another", metadata: "", for: "other") }
        }
        try database.close()
      }
    }
    #expect(growth < 9, "a square would make it 16")
  }

  @Test("Four times as many collections take about four times as long to empty")
  func emptyingIsLinear() throws {
    let growth = try Effort.growth(of: TestSize.trials(300, divisor: 2), by: 4) { count in
      let database = try Self.open()
      try Self.fill(database, count)
      // All names are known by their numbers, and are to be forgotten.
      try database.read { tx in
        let id = try #require(try tx.rowID(of: RowKey("collection number 0", "key")))
        try #require(try tx.key(of: id)?.key == "key")
      }
      return {
        try database.write { tx in
          for number in 0..<count { try tx[Self.texts(number)].removeAll() }
        }
        try database.close()
      }
    }
    #expect(growth < 9, "a square would make it 16")
  }

  @Test("Four times as many collections take about four times as long to name by the ids of rows")
  func namingIsLinear() throws {
    let growth = try Effort.growth(of: 150, by: 4) { count in
      let database = try Self.open()
      try Self.fill(database, count)
      return {
        try database.write { tx in
          for number in 0..<count {
            let name = "collection number \(number)"
            let rowID = try #require(try tx.rowID(of: RowKey(name, "key")))
            try #require(try tx.key(of: rowID) == RowKey(name, "key"))
            let made = "made beside \(number)"
            try tx[.texts(made)].set("new", metadata: "", for: "new")
            let newID = try #require(try tx.rowID(of: RowKey(made, "new")))
            try #require(try tx.key(of: newID)?.collection == made)
          }
        }
        try database.close()
      }
    }
    #expect(growth < 9, "a square would make it 16")
  }

  /// More collections than are looked through one by one, and a name that comes back as another collection.
  @Test func manyCollectionsAreToldApart() throws {
    let database = try Self.open()
    try Self.fill(database, 100)
    struct Undo: Error {}
    try database.write { tx in
      for number in 0..<100 { #expect(try tx[Self.texts(number)].get("key") == "text \(number)") }
      #expect(throws: Undo.self) {
        try tx.savepoint {
          try tx[.texts("first")].set("1", metadata: "", for: "a")
          let id = try #require(try tx.rowID(of: RowKey("first", "a")))
          #expect(try tx.key(of: id) == RowKey("first", "a"))
          throw Undo()
        }
      }
      try tx[.texts("second")].set("2", metadata: "", for: "b")
      let id = try #require(try tx.rowID(of: RowKey("second", "b")))
      #expect(try tx.key(of: id) == RowKey("second", "b"))
    }
    // Another description of a name that is known by now.
    let other = RowCollection<Int, NoMetadata>("collection number 40")
    #expect(
      errorCode {
        try database.write { tx in
          for number in 0..<100 { _ = try tx[Self.texts(number)].get("key") }
          _ = try tx[other].get("key")
        }
      } == .collectionMismatch)
    try database.close()
  }

  /// Numbers lead to names over transactions: of collections that come and go, that come back, and that only a snapshot
  /// still has.
  @Test func namesOfNumbersFollowEachCommit() throws {
    let database = try Self.open()
    try Self.fill(database, 20)
    func id(_ name: String) throws -> RowID {
      try #require(try database.read { tx in try tx.rowID(of: RowKey(name, "key")) })
    }
    func name(_ id: RowID) throws -> String? { try database.read { tx in try tx.key(of: id)?.collection } }
    let (first, second) = (try id("collection number 1"), try id("collection number 2"))
    #expect(try name(first) == "collection number 1")
    let pin = try database.pin()
    try database.write { tx in
      try tx[Self.texts(1)].removeAll()
      try tx[.texts("made")].set("1", metadata: "", for: "key")
    }
    try database.checkInvariants()
    let made = try id("made")
    #expect(try name(first) == nil)
    #expect(try name(second) == "collection number 2")
    #expect(try name(made) == "made")
    try database.write { tx in try tx[Self.texts(1)].set("again", metadata: "", for: "key") }
    try database.checkInvariants()
    #expect(try name(try id("collection number 1")) == "collection number 1")
    #expect(try name(first) == nil)
    for _ in 0..<2 {
      #expect(try pin.read { tx in try tx.key(of: first)?.collection } == "collection number 1")
      #expect(try pin.read { tx in try tx.key(of: made) } == nil)
    }
    // Nobody asks for a name between one removal and the next.
    try database.write { tx in for number in 2..<6 { try tx[Self.texts(number)].removeAll() } }
    try database.checkInvariants()
    #expect(try name(second) == nil)
    withExtendedLifetime(pin) {}
  }

  @Test("The name of a row's collection takes no longer to find where there are a hundred times as many")
  func namesAreFoundOnceForAllTransactions() throws {
    let growth = try Effort.growth(of: 4, by: 100) { count in
      let database = try Self.open()
      try Self.fill(database, count)
      let id = try #require(try database.read { tx in try tx.rowID(of: RowKey("collection number 0", "key")) })
      func ask() throws { try #require(try database.read { tx in try tx.key(of: id)?.key } == "key") }
      try ask()
      return { for _ in 0..<50 { try ask() } }
    }
    #expect(growth < 5, "it was looked for among all of them")
  }
}
