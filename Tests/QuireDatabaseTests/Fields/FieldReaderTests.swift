// Fields that are read out of stored rows beside those of the decoded objects.

import Foundation
import QuireTesting
import Testing

@testable import QuireDatabase

@Suite("Fields that are read by themselves") struct FieldReaderTests {
  typealias Rows = RowCollection<Wide, NoMetadata>

  private func fill(_ db: Database, _ rows: Rows, _ count: Int, seed: UInt64) throws {
    var random = SeededRandom(seed: seed)
    try db.write { tx throws in for index in 0..<count { try tx[rows].set(random.wide(), for: "key-\(index)") } }
  }

  /// Reads all fields of all rows, and compares them with the objects; returns how often each was told after the first
  /// rows.
  private func check(_ db: Database, _ rows: Rows) throws -> [Int] {
    let fields = ReadField.all
    var told = [Int](repeating: 0, count: fields.count)
    try db.read { tx throws in
      let reader = FieldReader(tx[rows])
      let numbers = fields.map { reader.add($0.path, each: $0.each) }
      var count = 0
      try reader.forEachRow { rowID, stored in
        let object = try #require(try tx[rows].row(withID: rowID)).object
        for (index, field) in fields.enumerated() {
          var read: Set<[UInt8]> = []
          let isTold = stored.hasValue(numbers[index]) { bytes in
            read.insert(bytes.withUnsafeBytes { [UInt8]($0) })
            return false
          }
          guard isTold != nil else { continue }
          told[index] += 1
          #expect(read == field.keys(object), "\(field.name)")
        }
        count += 1
        return true
      }
      #expect(count == tx[rows].count)
    }
    return told
  }

  @Test(
    .enabled(if: TestSize.hasSlowTests, "slow"), arguments: [Compression.none, .lz4(above: 20), .dictionary(above: 50)])
  func fieldsAreThoseOfTheObjects(_ compression: Compression) throws {
    let folder = try TestFolder()
    let db = try folder.open()
    let rows = Rows("wide", compression: compression)
    // A dictionary is trained of a thousand rows.
    let isTrained = compression == .dictionary(above: 50)
    let count = isTrained ? 1200 : TestSize.trials(1200, divisor: 6)
    try fill(db, rows, count, seed: 7)
    for (field, told) in zip(ReadField.all, try check(db, rows)) {
      // Of a hundred rows so many.
      if field.least == 0 { #expect(told == 0, "\(field.name)") }
      #expect(told >= field.least * (count - 100) / 100, "\(field.name) told \(told) times")
    }
  }

  @Test func aCoderOfAnotherFormTellsNothing() throws {
    let folder = try TestFolder()
    let db = try folder.open()
    let custom = RowCoder<Wide>(
      encode: { try Array(PropertyListEncoder().encode($0)) },
      decode: { bytes in try PropertyListDecoder().decode(Wide.self, from: bytes.withUnsafeBytes { Data($0) }) })
    for (name, coder) in [("list", RowCoder<Wide>.propertyList), ("custom", custom)] {
      let rows = Rows(name, coder: coder)
      try fill(db, rows, 40, seed: 8)
      #expect(try check(db, rows).allSatisfy { $0 == 0 })
    }
  }

  #if Encryption
    @Test func rowsThatWereEncryptedAreDecryptedFirst() throws {
      let folder = try TestFolder()
      let db = try folder.open()
      let rows = Rows("secret", coder: .binary.encrypted(with: KeyRing(current: try testKey(1))))
      try fill(db, rows, 120, seed: 9)
      for (field, told) in zip(ReadField.all, try check(db, rows)) { #expect(told >= field.least, "\(field.name)") }
    }
  #endif

  @Test("Rows above a number are those of all rows that are", arguments: [0, 200])
  func readsRowsAboveANumber(otherCount: Int) throws {
    let folder = try TestFolder()
    let db = try folder.open()
    let rows = Rows("wide")
    // Where most rows are of another collection, rows are looked up one by one.
    try fill(db, Rows("others"), otherCount, seed: 10)
    try fill(db, rows, 50, seed: 11)
    try fill(db, Rows("more"), otherCount / 2, seed: 12)
    try db.read { tx throws in
      let all = try tx[rows].rowIDs.sorted()
      let reader = FieldReader(tx[rows])
      let numbers: [Int64] = [.min, 0, all[0].rawValue - 1, all[0].rawValue, all[20].rawValue, all[49].rawValue, .max]
      for number in numbers {
        for limit in [1, 7, 50] {
          var seen: [RowID] = []
          try reader.forEachRow(above: RowID(number)) { rowID, _ in
            seen.append(rowID)
            return seen.count < limit
          }
          #expect(seen == Array(all.filter { $0.rawValue > number }.prefix(limit)), "above \(number)")
        }
      }
    }
  }

  // MARK: Older rows

  private struct Older: Codable, Sendable {
    var score: Double, name: String, left: String, count: Int32
    var list: [Int]
  }
  private struct Newer: SynthesizedCodable, Sendable {
    var added: Int?
    var count: Int
    var name: String
    var score: Double
    var list: [Double]
  }

  @Test func rowsOfAnOlderTypeAreReadAsTheyAreDecoded() throws {
    let folder = try TestFolder()
    var db = try folder.open()
    let older = RowCollection<Older, NoMetadata>("rows")
    try db.write { tx throws in
      for index in 0..<100 {
        let row = Older(score: Double(index), name: "n\(index)", left: "x", count: Int32(index), list: [index])
        try tx[older].set(row, for: "\(index)")
      }
    }
    try db.close()
    db = try folder.open()
    let newer = RowCollection<Newer, NoMetadata>("rows")
    var told = 0
    func check() throws {
      try db.read { tx throws in
        let reader = FieldReader(tx[newer])
        let paths: [PartialKeyPath<Newer>] = [\.score, \.count, \.name, \.added]
        let fields = paths.map { reader.add($0) }
        let list = reader.add(\.list, each: true)
        try reader.forEachRow { _, stored in
          let object = try reader.object()
          let keys = [object.score.sortBytes, object.count.sortBytes, object.name.sortBytes, object.added.sortBytes]
          for (field, key) in zip(fields, keys) {
            let isSame = stored.hasValue(field) { bytes in bytes.withUnsafeBytes { $0.elementsEqual(key) } }
            if isSame != nil { told += 1 }
            #expect(isSame != false)
          }
          let has = stored.hasValue(list) { bytes in
            bytes.withUnsafeBytes { $0.elementsEqual(object.list[0].sortBytes) }
          }
          #expect(has != false)
          return true
        }
      }
    }
    try check()
    // The name that no row has yet is not told.
    #expect(told == 84 * 3)
    // Rows of both types, and a name that the schema has only since now.
    try db.write { tx throws in
      let new = Newer(added: 3, count: 1 << 40, name: "new", score: 0.5, list: [1.5])
      for index in 50..<150 { try tx[newer].set(new, for: "\(index)") }
    }
    try check()
    #expect(told == 84 * 3 + 134 * 4)
  }

  private struct Lacking: SynthesizedCodable, Sendable { var name: String, missing: Int }

  @Test func aRowWithoutAFieldFailsAsItsObjectDoes() throws {
    let folder = try TestFolder()
    var db = try folder.open()
    try db.write { tx throws in
      let rows = RowCollection<Lacking, NoMetadata>("rows")
      for index in 0..<30 { try tx[rows].set(Lacking(name: "n", missing: 1), for: "\(index)") }
    }
    try db.close()
    db = try folder.open()
    struct Older: Codable, Sendable { var name: String }
    try db.write { tx throws in
      try tx[RowCollection<Older, NoMetadata>("rows")].set(Older(name: "old"), for: "last")
    }
    try db.close()
    db = try folder.open()
    let error = #expect(throws: DatabaseError.self) {
      try db.read { tx throws in
        let reader = FieldReader(tx[RowCollection<Lacking, NoMetadata>("rows")])
        let missing = reader.add(\.missing)
        try reader.forEachRow { _, stored in
          if stored.hasValue(missing, where: { _ in true }) == nil { _ = try reader.object() }
          return true
        }
      }
    }
    #expect(error?.code == .decodingFailed && error?.key == "last")
  }

  private struct Upgraded: SynthesizedCodable, Sendable, Equatable { var name: String, count: Int }

  @Test func rowsFromBeforeAnUpgradeAreDecodedWhole() throws {
    struct Former: Codable, Sendable { var name: String, count: Int }
    let folder = try TestFolder()
    var db = try folder.open()
    try db.write { tx throws in
      let rows = RowCollection<Former, NoMetadata>("rows")
      for index in 0..<100 { try tx[rows].set(Former(name: "n", count: index), for: "\(index)") }
    }
    try db.close()
    db = try folder.open()
    let coder = RowCoder<Upgraded>.binary.upgrading(from: Former.self) { Upgraded(name: $0.name, count: -$0.count) }
    let rows = RowCollection<Upgraded, NoMetadata>("rows", coder: coder)
    try db.write { tx throws in
      for index in 100..<200 { try tx[rows].set(Upgraded(name: "n", count: index), for: "\(index)") }
    }
    var told: [Int] = []
    try db.read { tx throws in
      let reader = FieldReader(tx[rows])
      let count = reader.add(\.count)
      try reader.forEachRow { _, stored in
        let own = try reader.object().count
        let isSame = stored.hasValue(count) { bytes in bytes.withUnsafeBytes { $0.elementsEqual(own.sortBytes) } }
        #expect(isSame != false)
        if isSame != nil { told.append(own) }
        return true
      }
    }
    #expect(told == Array(100..<200))
  }

  // MARK: Broken promises

  private struct Renamed: SynthesizedCodable, Sendable {
    var first: Int, second: Int
    enum CodingKeys: String, CodingKey {
      case first = "second"
      case second = "first"
    }
  }

  private struct Constant: SynthesizedCodable, Sendable {
    let kind: Int
    init(_ kind: Int) { self.kind = kind }
    init(from decoder: any Decoder) throws { kind = 4 }
  }

  private func scan<Object: Sendable>(
    _ object: @Sendable (Int) -> Object, _ rows: RowCollection<Object, NoMetadata>, _ path: PartialKeyPath<Object>
  ) throws {
    let folder = try TestFolder()
    let db = try folder.open()
    try db.write { tx throws in for index in 0..<20 { try tx[rows].set(object(index), for: "\(index)") } }
    try db.read { tx throws in
      let reader = FieldReader(tx[rows])
      _ = reader.add(path)
      try reader.forEachRow { _, _ in true }
    }
  }

  @Test func aTypeThatBreaksThePromiseIsFoundOut() {
    let renamed = #expect(throws: DatabaseError.self) {
      try scan({ Renamed(first: $0, second: -1) }, RowCollection("rows"), \.first)
    }
    let constant = #expect(throws: DatabaseError.self) {
      try scan({ Constant($0) }, RowCollection("rows"), \.kind)
    }
    for (error, type, field) in [(renamed, "Renamed", "first"), (constant, "Constant", "kind")] {
      #expect(error?.code == .decodingFailed && error?.collection == "rows")
      let text = "\(error.map { "\($0)" } ?? "")"
      #expect(text.contains(type) && text.contains(field) && text.contains("SynthesizedCodable"))
    }
  }

  private struct Shadowed: SynthesizedCodable, Sendable {
    /// Without any bytes, and so at the place of the next property.
    enum Only: Int, Codable, Sendable, SortKey { case one = 1 }
    var only: Only
    var number: Int
  }

  @Test func aPropertyIsNotTakenForTheOneWithoutBytesAtItsPlace() throws {
    try scan({ Shadowed(only: .one, number: $0) }, RowCollection("rows"), \.number)
    try scan({ Shadowed(only: .one, number: $0) }, RowCollection("rows"), \.only)
  }

  private struct Wrapped: SynthesizedCodable, Sendable {
    @Defaulted<Int> var plays = 0
    var observed = 0 { didSet {} }
    static let one = Wrapped(plays: 1, observed: 2)
  }

  @Test func wrappedAndObservedPropertiesAreDecoded() throws {
    try scan({ _ in Wrapped.one }, RowCollection("rows"), \.plays)
    try scan({ _ in Wrapped.one }, RowCollection("rows"), \.observed)
  }
}
