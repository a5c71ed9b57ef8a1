// Rows that a full disk refuses, in transactions that go on without them.

import QuireDatabase
import QuireTesting
import Testing

@Suite("Rows that a full disk refuses") struct RefusedRowTests {
  private static let options = Database.Options(durability: .full, maintainsWhenIdle: false)

  @Test("A collection whose first row was refused does not exist", arguments: [false, true])
  func firstRow(isTriedTwice: Bool) throws {
    let disk = SimulatedDisk()
    var db = try disk.openDatabase(seed: 1, Self.options)
    try db.write { tx throws in try tx[.texts("t")].set("before", for: "k") }
    try db.checkpoint()
    let album = Album(name: String(repeating: "a long name, ", count: 100_000))
    disk.capacity = disk.usedByteCount + (256 << 10)
    try db.write { tx throws in
      for _ in 0..<(isTriedTwice ? 2 : 1) {
        #expect(errorCode { try tx[.albums].set(album, for: "k") } == .diskFull)
      }
      #expect(try tx[.albums].get("k") == nil)
      try tx[.texts("t")].set("after", for: "k")
    }
    func check() throws {
      try db.read { tx throws in
        #expect(tx.collections == ["t"] && tx.count == 1)
        #expect(try tx[.texts("t")].get("k") == "after")
      }
      try db.verify()
    }
    try check()
    disk.capacity = nil
    try db.close()
    db = try disk.openDatabase(seed: 2, Self.options)
    try check()
    try db.write { tx throws in try tx[.albums].set(album, for: "k") }
    #expect(try db.read { tx in try tx[.albums].get("k") } == album)
    try db.verify()
    try db.close()
  }
}
