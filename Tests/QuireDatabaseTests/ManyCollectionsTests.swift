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
}
