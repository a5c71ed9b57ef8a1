// Values of types that the layer knows at run time alone: they are made and handed out by their place in memory, each
// exactly once, whatever their size and kind, and also where a coder throws half-way.

import QuireDatabase
import QuireTesting
import Synchronization
import Testing

/// What of the values of a test is alive.
private final class Life: Sendable {
  private let counts = Shared((alive: 0, made: 0))
  var alive: Int { counts.withLock { $0.alive } }
  var made: Int { counts.withLock { $0.made } }

  func begin() { counts.withLock { $0 = ($0.alive + 1, $0.made + 1) } }
  func end() { counts.withLock { $0.alive -= 1 } }
}

/// A value whose life is counted.
private final class Tracked: Sendable, Equatable {
  let number: Int
  let life: Life

  init(_ number: Int, _ life: Life) {
    (self.number, self.life) = (number, life)
    life.begin()
  }

  deinit { life.end() }

  static func == (left: Tracked, right: Tracked) -> Bool { left.number == right.number }

  /// A coder that makes something before it throws, of rows that say so.
  static func coder(_ life: Life) -> RowCoder<Tracked> {
    RowCoder(
      encode: { tracked in
        if tracked.number == 99 { throw Refused() }
        return [UInt8(tracked.number)]
      },
      decode: { bytes in
        let tracked = Tracked(Int(bytes.unsafeLoad(as: UInt8.self)), life)
        if tracked.number >= 100 { throw Refused() }
        return tracked
      })
  }
}

private struct Refused: Error {}
private struct Empty: Codable, Equatable {}

private struct Eight<Value: Codable & Equatable & Sendable>: Codable, Equatable, Sendable {
  var a: Value, b: Value, c: Value, d: Value, e: Value, f: Value, g: Value, h: Value
  init(_ value: Value) { (a, b, c, d, e, f, g, h) = (value, value, value, value, value, value, value, value) }
}

/// More than 4 KiB, with a reference at its end.
private struct Large: Codable, Equatable {
  var numbers: Eight<Eight<Eight<Double>>>
  var text: String
  init(_ number: Double) {
    (numbers, text) = (Eight(Eight(Eight(number))), "the number \(number), and enough text to be counted")
  }
}

/// Aligned to more than what memory usually is.
private struct Aligned: Codable, Equatable { var lanes: SIMD16<Float> }

private enum Choice: Codable, Equatable {
  case nothing
  case text(String)
  case numbers([Int], Double)
}

private final class Node: Codable, Equatable, Sendable {
  let name: String
  let next: Node?
  init(_ name: String, _ next: Node? = nil) { (self.name, self.next) = (name, next) }
  static func == (left: Node, right: Node) -> Bool { left.name == right.name && left.next == right.next }
}

/// Holds a value of any type.
private struct Holder: Equatable, Sendable {
  let value: any Sendable & CustomStringConvertible
  static func == (left: Holder, right: Holder) -> Bool { left.value.description == right.value.description }
  static let coder = RowCoder<Holder>(
    encode: { Array($0.value.description.utf8) },
    decode: { bytes in Holder(value: String(decoding: bytes.withUnsafeBytes { Array($0) }, as: UTF8.self)) })
}

@Suite struct ValuePlaceTests {
  private func open(isCached: Bool) throws -> Database {
    try Database.inMemory(options: Database.Options(objectCache: isCached ? ObjectCacheOptions() : nil))
  }

  // MARK: Kinds of types

  /// Stores two values in turns, as objects and as metadata, and reads them in every way.
  private func exercise<Value: Sendable & Equatable>(
    _ coder: RowCoder<Value>, _ one: Value, _ other: Value, isCached: Bool
  ) throws {
    let db = try open(isCached: isCached)
    let collection = RowCollection<Value, Value>("values", coder: coder, metadataCoder: coder)
    func value(_ number: Int) -> Value { number % 2 == 0 ? one : other }
    let numbers = 10..<10 + TestSize.trials(40, least: 12)
    let keys = numbers.map { "\($0)" }
    try db.write { tx throws in
      let rows = tx[collection]
      for number in numbers {
        try rows.set(other, metadata: number % 3 == 0 ? nil : value(number + 1), for: "\(number)")
        try rows.update("\(number)") { $0 = value(number) }
      }
      let more: [(String, Value, Value?)] = [("more", one, other), ("most", other, nil)]
      try rows.load(more)
      #expect(try rows.replace(other, for: "more") && rows.replaceMetadata(nil, for: "more") && rows.remove("most"))
    }
    for _ in 0..<TestSize.trials(3, least: 2) {
      try db.read { tx throws in
        let rows = tx[collection]
        let objects: [Value?] = numbers.map(value)
        let metadata: [Value?] = numbers.map { $0 % 3 == 0 ? nil : value($0 + 1) }
        #expect(try keys.map { try rows.get($0) } == objects)
        #expect(try rows.objects(for: ["none"] + keys + ["none"]) == objects)
        #expect(try keys.map { try rows.row($0)?.metadata } == metadata)
        #expect(try keys.map { try rows.metadata($0) } == metadata)
        let found = try rows.rows(for: keys + ["none", "10"])
        #expect(found.dropLast().map(\.object) == objects && found.dropLast().map(\.metadata) == metadata)
        #expect(found.map(\.key) == keys + ["10"] && found.last?.object == value(10))
        #expect(rows.rows.map(\.object) == objects + [other] && rows.rows.map(\.metadata) == metadata + [nil])
        #expect(rows.rows.reversed().map(\.key) == ["more"] + keys.reversed())
        #expect(rows.metadata.map(\.metadata) == metadata + [nil])
        #expect(try rows.objects(withIDs: rows.rowIDs) == objects + [other])
        let (rowIDs, all) = (try rows.rowIDs, Array(rows.rows))
        #expect(try rows.rows(withIDs: rowIDs) == all && rows.rows(withIDs: []) == [])
        let twice = try rows.rows(withIDs: [RowID(1 << 40)] + rowIDs.reversed() + rowIDs.prefix(2) + [RowID(0)])
        #expect(twice == all.reversed() + all.prefix(2))
        for (rowID, row) in zip(rowIDs, all) { #expect(try rows.row(withID: rowID) == row) }
        #expect(try rows.row(withID: RowID(1 << 40)) == nil)
        for row in rows.rows where row.key == "15" { break }
      }
    }
    try db.checkInvariants()
    try db.close()
  }

  @Test(.enabled(if: TestSize.hasSlowTests, "slow"), arguments: [false, true])
  func valuesOfEveryKindComeBack(isCached: Bool) throws {
    try exercise(.binary, Empty(), Empty(), isCached: isCached)
    try exercise(.json, Empty(), Empty(), isCached: isCached)
    try exercise(.binary, Large(1), Large(2), isCached: isCached)
    try exercise(.json, Large(1), Large(2), isCached: isCached)
    try exercise(.binary, Aligned(lanes: .init(repeating: 1)), Aligned(lanes: .init(repeating: 2)), isCached: isCached)
    try exercise(.binary, Choice.text("a text that is long enough"), .numbers([1, 2], 3), isCached: isCached)
    try exercise(.propertyList, [Choice.nothing], [.text("t"), .nothing], isCached: isCached)
    try exercise(.binary, Node("a", Node("b")), Node("c"), isCached: isCached)
    try exercise(.binary, Int?.none, 7, isCached: isCached)
    try exercise(.bytes, [1, 2] as [UInt8], [], isCached: isCached)
    try exercise(Holder.coder, Holder(value: 1), Holder(value: "two"), isCached: isCached)
  }

  @Test func aLargeOldValueIsUpgraded() throws {
    let upgraded = RowCoder<Aligned>.binary.upgrading(from: Large.self) { large in
      if large.numbers.a.a.a == 4 { throw Refused() }
      return Aligned(lanes: .init(repeating: Float(large.numbers.a.a.a)))
    }
    let context = RowCodingContext(schema: RowSchema())
    let row = try encoded(Large(3), .binary, context)
    #expect(try decoded(row, upgraded, context) == Aligned(lanes: .init(repeating: 3)))
    let refused = try encoded(Large(4), .binary, context)
    #expect(throws: Refused.self) { try decoded(refused, upgraded, context) }
  }

  // MARK: Lives

  private static func tracked(_ life: Life) -> RowCollection<Tracked, Tracked> {
    RowCollection("tracked", coder: Tracked.coder(life), metadataCoder: Tracked.coder(life))
  }

  /// Rows as bytes, which need not be any that a coder would make.
  private static let raw = RowCollection<[UInt8], [UInt8]>("tracked", coder: rawCoder, metadataCoder: rawCoder)
  private static let rawCoder = RowCoder<[UInt8]>(
    encode: { $0 }, decode: { bytes in bytes.withUnsafeBytes { Array($0) } })

  /// Objects 1 to 40, of which 20 does not decode, and metadata, of which that of row 30 does not.
  private func fill(_ db: Database) throws {
    try db.write { tx throws in
      for number in 1...40 {
        let key = number < 10 ? "0\(number)" : "\(number)"
        try tx[Self.raw].set(
          [number == 20 ? 120 : UInt8(number)], metadata: number % 2 == 0 ? [number == 30 ? 130 : 50] : nil, for: key)
      }
    }
  }

  /// A database that was filled by somebody else: types are remembered as long as it is open.
  private func filled(_ folder: TestFolder, isCached: Bool) throws -> Database {
    let options = Database.Options(objectCache: isCached ? ObjectCacheOptions() : nil)
    let before = try folder.open(options)
    try fill(before)
    try before.close()
    return try folder.open(options)
  }

  @Test(arguments: [false, true]) func nothingOfAFailedReadStaysAlive(isCached: Bool) throws {
    let (life, folder) = (Life(), try TestFolder())
    do {
      let db = try filled(folder, isCached: isCached)
      let keys = (1...40).map { $0 < 10 ? "0\($0)" : "\($0)" }
      for _ in 0..<3 {
        try db.read { tx throws in
          let rows = tx[Self.tracked(life)]
          for key in ["20", "30"] { #expect(errorCode { _ = try rows.row(key) } == .decodingFailed) }
          let error = #expect(throws: DatabaseError.self) { try rows.get("20") }
          #expect(error?.key == "20" && error?.collection == "tracked" && error?.cause is Refused)
          #expect(try rows.get("30")?.number == 30)
          #expect(errorCode { _ = try rows.metadata("30") } == .decodingFailed)
          for key in ["20", "30"] {
            let rowID = try #require(try rows.rowID(key))
            #expect(errorCode { _ = try rows.row(withID: rowID) } == .decodingFailed)
          }
          #expect(errorCode { _ = try rows.rows(withIDs: rows.rowIDs) } == .decodingFailed)
          #expect(errorCode { _ = try rows.objects(for: keys) } == .decodingFailed)
          #expect(errorCode { _ = try rows.rows(for: keys) } == .decodingFailed)
          #expect(errorCode { _ = try rows.rows(for: ["29", "30", "31"]) } == .decodingFailed)
          #expect(try rows.objects(for: keys.filter { $0 != "20" }).count == 39)
        }
        let rowCode = errorCode {
          try db.read { tx throws in #expect(tx[Self.tracked(life)].rows.map(\.object.number) == Array(1...19)) }
        }
        let metadataCode = errorCode {
          try db.read { tx throws in #expect(tx[Self.tracked(life)].metadata.map(\.key).last == "29") }
        }
        #expect(rowCode == .decodingFailed && metadataCode == .decodingFailed)
      }
      // The cache keeps what it likes until then.
      try db.close()
    }
    #expect(life.made > 100 && life.alive == 0)
  }

  @Test func aLoopThatEndsEarlyLeavesNothing() throws {
    let (life, folder) = (Life(), try TestFolder())
    let db = try filled(folder, isCached: false)
    let code = errorCode {
      try db.read { tx throws in try walk(tx, life) }
    }
    #expect(code == .decodingFailed && life.alive == 0)
  }

  private func walk(_ tx: ReadTransaction, _ life: Life) throws {
    for count in 1...19 {
      for row in tx[Self.tracked(life)].rows where row.object.number == count { break }
      #expect(life.alive == 0)
    }
    do {
      var kept: RowSequence<Tracked, Tracked>.Iterator? = tx[Self.tracked(life)].rows.makeIterator()
      for number in 1...9 { #expect(kept?.next()?.object.number == number) }
      // Both go on with what was fetched, and then share the rest.
      var copy = kept
      #expect((10...15).map { _ in copy?.next()?.object.number } == Array(10...15))
      #expect((10...15).map { _ in kept?.next()?.object.number } == Array(10...15))
      let rest = [copy?.next()?.key, kept?.next()?.key]
      #expect(rest[0] == "16" && rest[1] == nil, "The copy has fetched up to the row that does not decode.")
      (kept, copy) = (nil, nil)
    }
    #expect(life.alive == 0)
  }

  @Test func storingCountsEachValueOnce() throws {
    let life = Life()
    let db = try open(isCached: true)
    let collection = Self.tracked(life)
    let shaped = collection.sanitizing { _, object in object.number == 7 ? nil : Tracked(object.number + 1, life) }
      .sanitizingMetadata { _, metadata in
        if metadata.number == 8 { throw Refused() }
        return metadata.number == 9 ? nil : Tracked(metadata.number + 1, life)
      }
      .afterStoring { key, object in if key == "refused" { throw Refused() } }
    try db.write { tx throws in
      let (rows, shapedRows) = (tx[collection], tx[shaped])
      try rows.set(Tracked(1, life), metadata: Tracked(2, life), for: "a")
      #expect(errorCode { try rows.set(Tracked(99, life), for: "b") } == .encodingFailed)
      #expect(errorCode { try rows.set(Tracked(1, life), metadata: Tracked(99, life), for: "b") } == .encodingFailed)
      #expect(try rows.update("a") { $0 = Tracked($0.number + 10, life) } && rows.get("a")?.number == 11)
      #expect(throws: Refused.self) { try rows.update("a") { _ in throw Refused() } }
      #expect(errorCode { try rows.update("a") { $0 = Tracked(99, life) } } == .encodingFailed)
      #expect(try rows.update("none") { _ in } == false && rows.get("a")?.number == 11)
      try shapedRows.set(Tracked(3, life), metadata: Tracked(4, life), for: "c")
      #expect(try rows.row("c")?.object.number == 4 && rows.row("c")?.metadata?.number == 5)
      #expect(throws: Refused.self) { try shapedRows.set(Tracked(3, life), metadata: Tracked(8, life), for: "c") }
      #expect(throws: Refused.self) { try shapedRows.set(Tracked(3, life), for: "refused") }
      try shapedRows.set(Tracked(3, life), metadata: Tracked(9, life), for: "d")
      #expect(try rows.row("d")?.object.number == 4 && rows.metadata("d") == nil)
      #expect(try shapedRows.replace(Tracked(5, life), for: "d") && rows.get("d")?.number == 6)
      #expect(try shapedRows.replaceMetadata(Tracked(5, life), for: "d") && rows.metadata("d")?.number == 6)
      #expect(try shapedRows.update("d") { $0 = Tracked(7, life) } && !rows.contains("d"))
      #expect(errorCode { try rows.load([("x", Tracked(1, life)), ("y", Tracked(99, life))]) } == .encodingFailed)
      #expect(life.alive == 0)
    }
    try db.close()
    #expect(life.made > 20 && life.alive == 0)
  }

  // MARK: Coders that come back

  @Test(arguments: [false, true]) func aCoderThatReadsFindsRoomOfItsOwn(isCached: Bool) throws {
    struct Chain: Equatable { var names: [String], padding = Eight(Eight(1.5)) }
    let rows = Shared<ReadableRows<Chain, NoMetadata>?>(nil)
    let chains = RowCollection<Chain, NoMetadata>(
      "chains",
      coder: RowCoder(
        encode: { Array($0.names[0].utf8) },
        decode: { bytes in
          let name = String(decoding: bytes.withUnsafeBytes { Array($0) }, as: UTF8.self)
          guard let rows = rows.withLock({ $0 }), name.count < 6 else { return Chain(names: [name]) }
          // Two more, one after the other: the second one must not be made where the first one is.
          let next = try #require(try rows.get(name + "a"))
          return Chain(names: [name] + next.names + (try rows.row(name + "b")?.object.names ?? []))
        }))
    let db = try open(isCached: isCached)
    func names(_ depth: Int) -> [String] { depth == 0 ? [""] : names(depth - 1).flatMap { [$0 + "a", $0 + "b"] } }
    try db.write { tx throws in
      for depth in 1...6 { for name in names(depth) { try tx[chains].set(Chain(names: [name]), for: name) } }
    }
    func expected(_ name: String) -> [String] {
      name.count == 6 ? [name] : [name] + expected(name + "a") + expected(name + "b")
    }
    try db.read { tx throws in
      rows.withLock { $0 = tx[chains] }
      defer { rows.withLock { $0 = nil } }
      #expect(try tx[chains].get("a")?.names == expected("a"))
      #expect(try tx[chains].row("b")?.object.names == expected("b"))
      #expect(try tx[chains].objects(for: ["aa", "ba"]).map(\.names) == [expected("aa"), expected("ba")])
      #expect(tx[chains].rows.allSatisfy { $0.object.names == expected($0.key) })
    }
  }
}
