// Upgrades on the fly, over many versions of a program, for objects and metadata; and types that change their names.

import QuireDatabase
import QuireTesting
import Testing

@Suite struct UpgradeTests {
  struct Refusal: Error, Equatable { var number: Int }

  // Six versions of one type, none of which reads as another.
  struct V0: Codable, Sendable { var zero: Int }
  struct V1: Codable, Sendable { var one: String }
  struct V2: Codable, Sendable { var two: [Int] }
  struct V3: Codable, Sendable { var three: [String: Int] }
  struct V4: Codable, Sendable { var four: Double }
  struct V5: Codable, Sendable, Equatable { var five: Int, from: Int }

  /// A version of the program: stores a number as its type has it.
  private struct Version: Sendable {
    let store: @Sendable (Database, Int) throws -> Void

    /// - Parameter value: makes an object of a number. The same type serves as metadata.
    init<Value: Codable & Sendable>(
      _ base: @escaping @Sendable () -> (RowCoder<Value>, RowCoder<Value>), _ value: @escaping @Sendable (Int) -> Value
    ) {
      store = { db, number in
        let (coder, metadataCoder) = base()
        let collection = RowCollection<Value, Value>("c", coder: coder, metadataCoder: metadataCoder)
        try db.write { tx throws in
          try tx[collection].set(value(number), metadata: value(number), for: "k\(number)")
        }
      }
    }
  }

  /// What each version of the program says about its coder: one upgrade more than the one before.
  private static func upgraded<Value: Codable & Sendable>(
    _ coder: RowCoder<Value>, _ count: Int, _ make: @escaping @Sendable (Int, Int) throws -> Value
  ) -> RowCoder<Value> {
    var coder = coder
    if count > 0 { coder = coder.upgrading(from: V0.self) { try make($0.zero, 0) } }
    if count > 1 { coder = coder.upgrading(from: V1.self) { try make(Int($0.one) ?? -1, 1) } }
    if count > 2 { coder = coder.upgrading(from: V2.self) { try make($0.two.count, 2) } }
    if count > 3 { coder = coder.upgrading(from: V3.self) { try make($0.three["n"] ?? -1, 3) } }
    if count > 4 { coder = coder.upgrading(from: V4.self) { try make(Int($0.four), 4) } }
    return coder
  }

  private static func coders<Value: Codable & Sendable>(
    _ isJSON: Bool, _ count: Int, _ make: @escaping @Sendable (Int) -> Value
  ) -> (RowCoder<Value>, RowCoder<Value>) {
    let coder = upgraded(isJSON ? RowCoder<Value>.json : .binary, count) { number, _ in make(number) }
    return (coder, upgraded(.binary, count) { number, _ in make(number) })
  }

  private static func versions(_ isJSON: Bool) -> [Version] {
    let zero: @Sendable (Int) -> V0 = { V0(zero: $0) }
    let one: @Sendable (Int) -> V1 = { V1(one: "\($0)") }
    let two: @Sendable (Int) -> V2 = { V2(two: Array(0..<$0)) }
    let three: @Sendable (Int) -> V3 = { V3(three: ["n": $0]) }
    let four: @Sendable (Int) -> V4 = { V4(four: Double($0)) }
    return [
      Version({ coders(isJSON, 0, zero) }, zero), Version({ coders(isJSON, 1, one) }, one),
      Version({ coders(isJSON, 2, two) }, two), Version({ coders(isJSON, 3, three) }, three),
      Version({ coders(isJSON, 4, four) }, four),
    ]
  }

  private static func newest(_ isJSON: Bool, refusing refused: Int? = nil) -> RowCollection<V5, V5> {
    let make: @Sendable (Int, Int) throws -> V5 = { number, version in
      if number == refused { throw Refusal(number: number) }
      return V5(five: number, from: version)
    }
    return RowCollection(
      "c", coder: upgraded(isJSON ? RowCoder<V5>.json : .binary, 5, make), metadataCoder: upgraded(.binary, 5, make))
  }

  /// Five versions of the program have stored ten rows each.
  private func openOld(_ folder: TestFolder, _ isJSON: Bool) throws -> Database {
    for (number, version) in Self.versions(isJSON).enumerated() {
      let db = try folder.open()
      for row in 0..<10 { try version.store(db, number * 10 + row) }
      try db.close()
    }
    return try folder.open()
  }

  @Test(arguments: [false, true]) func rowsOfFiveVersionsAreReadByTheSixth(_ isJSON: Bool) throws {
    let folder = try TestFolder()
    let db = try openOld(folder, isJSON)
    let collection = Self.newest(isJSON)
    func check(_ db: Database) throws {
      try db.read { tx throws in
        for number in 0..<50 {
          let row = try #require(try tx[collection].row("k\(number)"))
          #expect(row.object == V5(five: number, from: number / 10))
          #expect(row.metadata == row.object)
          #expect(try tx[collection].metadata("k\(number)") == row.object)
        }
      }
    }
    try check(db)
    // A row that is stored again is of today's version, whatever was changed; the others stay as they were.
    try db.write { tx throws in
      try tx[collection].update("k7") { $0.five = 7 }
      try tx[collection].replaceMetadata(V5(five: 19, from: 1), for: "k19")
    }
    try check(db)
    func version(_ key: String) throws -> (UInt8?, UInt8?) {
      let row = try #require(try db.read { tx in try tx.rawRows("c").row(key) })
      return (isJSON ? (row.object.first == 0 ? row.object[1] : 0) : row.object.first, row.metadata?.first)
    }
    #expect(try version("k7") == (5, 0) && version("k19") == (1, 5) && version("k45") == (4, 4))
    try db.rewriteRows(of: collection)
    try check(db)
    #expect(try version("k0") == (5, 5) && version("k45") == (5, 5))
    try db.close()
    try check(try folder.open())
  }

  @Test func anUpgradeThatThrowsFailsTheReadOfItsRow() throws {
    let folder = try TestFolder()
    let db = try openOld(folder, false)
    let collection = Self.newest(false, refusing: 23)
    func error(_ body: (ReadTransaction) throws -> Void) -> DatabaseError? {
      #expect(throws: DatabaseError.self) { try db.read { tx throws in try body(tx) } }
    }
    for error in [
      error { tx in _ = try tx[collection].get("k23") }, error { tx in _ = try tx[collection].metadata("k23") },
      error { tx in _ = try tx[collection].rows(for: ["k22", "k23"]) }, error { tx in for _ in tx[collection].rows {} },
    ] {
      #expect(error?.code == .decodingFailed && error?.collection == "c" && error?.key == "k23")
      #expect(error?.cause as? Refusal == Refusal(number: 23))
    }
    try db.read { tx throws in
      #expect(try tx[collection].get("k22") == V5(five: 22, from: 2))
      #expect(try tx[collection].contains("k23"))
    }
    // What is not decoded can be replaced and removed.
    try db.write { tx throws in
      #expect(try tx[collection].replace(V5(five: 1, from: 5), for: "k23"))
      #expect(try tx[collection].remove("k22"))
    }
    #expect(try db.read { tx in try tx[collection].get("k23") } == V5(five: 1, from: 5))
  }

  // MARK: Names of types

  private enum Before {
    struct Person: Codable, Sendable { var name: String, home: Address, kind: Kind, others: [Person] }
    struct Address: Codable, Sendable { var street: String }
    enum Kind: String, Codable { case friend, relative }
  }

  private struct Contact: Codable, Sendable, Equatable {
    struct Place: Codable, Sendable, Equatable { var street: String }
    enum Relation: String, Codable { case friend, relative }
    var name: String, home: Place, kind: Relation, others: [Contact]
  }

  /// No row says what its types are called: they may be renamed, and moved into others, as long as fields keep theirs.
  @Test(arguments: ["binary", "json", "propertyList"]) func typesMayBeRenamed(_ form: String) throws {
    func coder<Value: Codable & SendableMetatype>(_: Value.Type) -> RowCoder<Value> {
      form == "json" ? .json : form == "propertyList" ? .propertyList : .binary
    }
    let folder = try TestFolder()
    var db = try folder.open()
    let child = Before.Person(name: "b", home: .init(street: "s"), kind: .friend, others: [])
    let people = RowCollection<Before.Person, Before.Address>("people", coder: coder(Before.Person.self))
    try db.write { tx throws in
      try tx[people].set(
        Before.Person(name: "a", home: .init(street: "r"), kind: .relative, others: [child]),
        metadata: Before.Address(street: "t"), for: "k")
    }
    try db.close()
    db = try folder.open()
    let contacts = RowCollection<Contact, Contact.Place>("people", coder: coder(Contact.self))
    let row = try #require(try db.read { tx in try tx[contacts].row("k") })
    let other = Contact(name: "b", home: .init(street: "s"), kind: .friend, others: [])
    #expect(row.object == Contact(name: "a", home: .init(street: "r"), kind: .relative, others: [other]))
    #expect(row.metadata == Contact.Place(street: "t"))
    let raw = try #require(try db.read { tx in try tx.rawRows("people").row("k") })
    for name in ["Person", "Address", "Kind", "Before"] {
      #expect(!String(decoding: raw.object, as: UTF8.self).contains(name))
    }
  }
}
