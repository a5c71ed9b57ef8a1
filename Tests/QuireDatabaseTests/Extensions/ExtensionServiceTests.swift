// What the database does for extensions beside hooks and trees.

@testable import QuireDatabase
import QuireStorage
import QuireTesting
import Testing

/// An extension that hands its writer to a closure at some moments.
private struct Probe: DatabaseExtension {
  static let kind = "test.probe"

  let name: String
  var version = ""
  var collections: CollectionFilter = .all
  var didBuild: @Sendable (Writer) throws -> Void = { _ in }
  var build: @Sendable (Writer, UnbuiltRows) throws -> Void = { _, _ in }
  var willChange: @Sendable (Writer, RowChange) throws -> Void = { _, _ in }
  var didChange: @Sendable (Writer, RowChange) throws -> Void = { _, _ in }
  var registered: @Sendable (Database) throws -> Void = { _ in }

  func makeReader(_ store: ExtensionStore) throws -> ExtensionStore { store }
  func makeWriter(_ store: ExtensionStore) throws -> Writer { Writer(self, store) }
  func didRegister(in database: Database) throws { try registered(database) }

  final class Writer: ExtensionWriter {
    let probe: Probe
    let store: ExtensionStore

    init(_ probe: Probe, _ store: ExtensionStore) {
      self.probe = probe
      self.store = store
    }

    func willBuild(_ reason: ExtensionBuildReason) throws { try store.removeEverything() }
    func build(_ rows: UnbuiltRows) throws { try probe.build(self, rows) }
    func didBuild() throws { try probe.didBuild(self) }
    func willChange(_ change: RowChange) throws { try probe.willChange(self, change) }
    func didChange(_ change: RowChange) throws { try probe.didChange(self, change) }
  }
}

@Suite struct ExtensionServiceTests {
  @Test("An extension is told that it is registered, each time, and may open transactions")
  func didRegister() throws {
    let folder = try TestFolder()
    let calls = Recorder()
    var probe = Probe(name: "probe")
    probe.registered = { db in
      try db.write { tx throws in try tx[.texts("t")].set("x", for: "\(calls.values.count)") }
      calls.append(try db.extensions().first?.state == .ready ? "ready" : "not ready")
    }
    for count in 1...2 {
      let db = try folder.open()
      try db.register(probe)
      #expect(calls.values == Array(repeating: "ready", count: count))
      #expect(try db.read { tx throws in tx.count } == count)
      try db.close()
    }
    struct Refused: Error {}
    let db = try folder.open()
    probe.registered = { _ in throw Refused() }
    #expect(throws: Refused.self) { try db.register(probe) }
    #expect(try db.extensions().map(\.isRegistered) == [true])
    try db.close()
  }

  @Test("An extension that changes rows when it is built hears of all of them")
  func changesInDidBuild() throws {
    let heard = Recorder()
    var probe = Probe(name: "probe")
    probe.didBuild = { writer in
      for key in ["1", "2"] { try writer.store.writeTransaction?.remove(RowKey("t", key)) }
    }
    probe.didChange = { _, change in heard.append("\(change.kind) \(change.key)") }
    let db = try Database.inMemory()
    try db.write { tx throws in for key in ["1", "2", "3"] { try tx[.texts("t")].set("x", for: key) } }
    try db.register(probe)
    #expect(heard.values == ["remove 1", "remove 2"])
    #expect(try db.read { tx throws in Array(tx[.texts("t")].keys) } == ["3"])
  }

  private struct Item: SynthesizedCodable, Sendable { var number: Int }

  @Test("Rows are handed over many at a time, as they are by then", arguments: [false, true])
  func buildsManyAtATime(byFields: Bool) throws {
    let items = RowCollection<Item, NoMetadata>("items")
    let heard = Recorder()
    var probe = Probe(name: "probe")
    probe.build = { writer, rows in
      guard let tx = writer.store.writeTransaction else { return }
      func take(_ number: Int) throws {
        heard.append("\(number)")
        // What has been changed meanwhile is handed over as it is, and what is gone is not.
        if number == 25 {
          try tx[items].set(Item(number: 1000), for: "26")
          try tx[items].remove("27")
        }
      }
      if byFields {
        let reader = FieldReader(writer.store.readTransaction[items])
        let field = reader.add(\.number)
        try reader.forEachRow(in: rows) { _, fields in
          var bytes: [UInt8]?
          _ = fields.hasValue(field) { value in
            bytes = value.withUnsafeBytes { [UInt8]($0) }
            return true
          }
          let number = try reader.object().number
          #expect(bytes.map { $0 == number.sortBytes } ?? true)
          try take(number)
        }
      } else {
        try rows.forEach { try take(try $0.object(in: items)?.number ?? -1) }
      }
    }
    let db = try Database.inMemory()
    try db.write { tx throws in
      for number in 0..<30 {
        try tx[.texts("others")].set("x", for: "\(number)")
        try tx[items].set(Item(number: number), for: "\(number)")
      }
      if !byFields { _ = try tx[.texts("others")].removeAll() }
    }
    try db.register(probe)
    let expected = (0..<30).filter { $0 != 27 }.map { $0 == 26 ? 1000 : $0 }
    #expect(heard.values == expected.map { "\($0)" })
  }

  private struct Refused: Error {}

  @Test("An error of building names the row that was handed over, and none behind the walk", arguments: [false, true])
  func buildingNamesTheRow(isBehind: Bool) throws {
    let db = try Database.inMemory()
    try db.write { tx throws in
      for (name, key) in [("b", "k0"), ("a", "k1"), ("b", "k2")] { try tx[.texts(name)].set("x", for: key) }
    }
    var probe = Probe(name: "probe", collections: .only(["a"]))
    probe.build = { _, rows in
      try rows.forEach { _ in if !isBehind { throw Refused() } }
      throw Refused()
    }
    let error = #expect(throws: DatabaseError.self) { try db.register(probe) }
    #expect(error?.code == .extensionFailed)
    #expect(error?.collection == (isBehind ? nil : "a") && error?.key == (isBehind ? nil : "k1"))
  }

  @Test("A row that is damaged is no fault of the extension that is built")
  func damagedRowsAreNoFault() throws {
    let folder = try TestFolder()
    do {
      let db = try folder.open()
      try db.write { tx throws in
        try tx[.texts("a")].set("x", for: "k1")
        try tx[.texts("b")].set("x", for: "k2")
      }
      try db.close()
    }
    do {
      let engine = try StorageEngine(at: folder.path)
      try engine.write { tx in
        guard let rows = tx.tree(named: "quire.rows") else { throw Refused() }
        var cursor = try tx.cursor(rows)
        _ = try cursor.seek(2 as Int64)
        var row = try #require(try cursor.value)
        // The key, behind the seven bytes in front of it.
        (row[7], row[8]) = (0xff, 0xfe)
        try tx.put(row, for: 2 as Int64, in: rows)
      }
      try engine.close()
    }
    let db = try folder.open()
    var probe = Probe(name: "probe", collections: .only(["a"]))
    probe.build = { _, rows in try rows.forEach { _ in } }
    #expect(errorCode { try db.register(probe) } == .damagedRow)
    #expect(try db.extensions().map(\.state) == [.building])
    try db.close()
  }

  @Test("A key index that is damaged is an error of each walk over it", arguments: [0, 1, 2])
  func damagedKeysAreErrors(damage: Int) throws {
    let folder = try TestFolder()
    do {
      let db = try folder.open()
      try db.write { tx throws in for key in ["k1", "k2"] { try tx[.texts("a")].set("x", for: key) } }
      try db.close()
    }
    do {
      let engine = try StorageEngine(at: folder.path)
      try engine.write { tx in
        guard let keys = tx.tree(named: "quire.keys") else { throw Refused() }
        var cursor = try tx.cursor(keys)
        guard try cursor.seekLast(), let key = cursor.key, let value = try cursor.value else { throw Refused() }
        switch damage {
        case 0: try tx.put(Array(value.dropLast()), for: key, in: keys)
        case 1: try tx.put(value, for: Array(key.dropLast()) + [0xff, 0xfe], in: keys)
        default: try tx.put(Array(repeating: 7, count: 3000), for: key, in: keys)
        }
      }
      try engine.close()
    }
    let db = try folder.open()
    // Twice: what a walk has on loan is given back when it fails.
    for _ in 0..<2 {
      #expect(errorCode { try db.read { tx throws in for _ in tx[.texts("a")].keys {} } } == .damagedRow)
      #expect(errorCode { try db.write { tx throws in for _ in tx[.texts("a")].keys.reversed() {} } } == .damagedRow)
    }
    try db.write { tx throws in try tx[.texts("b")].set("y", for: "k") }
    try db.close()
  }

  @Test("What a row was before a change is there for all, and decoded once") func before() throws {
    let heard = Recorder()
    let decoded = Recorder()
    let coder = RowCoder<String>(
      encode: { Array($0.utf8) },
      decode: { bytes in
        decoded.append("decoded")
        return bytes.withUnsafeBytes { String(decoding: $0, as: UTF8.self) }
      })
    let texts = RowCollection<String, Int>("texts", coder: coder)
    let db = try Database.inMemory()
    for name in ["first", "second"] {
      var probe = Probe(name: name)
      probe.willChange = { _, change in
        let (object, metadata) = (try change.objectBefore(in: texts), try change.metadataBefore(in: texts))
        heard.append("\(name) \(change.kind): \(object ?? "none") \(metadata ?? 0)")
      }
      probe.didChange = { _, change in
        if try change.objectBefore(in: texts) != nil { heard.append("known afterwards") }
      }
      try db.register(probe)
    }
    try db.write { tx throws in try tx[texts].set("a", metadata: 1, for: "k") }
    #expect(decoded.values.isEmpty)
    try db.write { tx throws in try tx[texts].set("b", metadata: nil, for: "k") }
    #expect(decoded.values.count == 1)
    try db.write { tx throws in try tx[texts].remove("k") }
    #expect(decoded.values.count == 2)
    let both = ["insert: none 0", "update: a 1", "remove: b 0"].flatMap { ["first \($0)", "second \($0)"] }
    #expect(heard.values == both)
  }

  @Test("What rows that are removed together were before is there for all, and decoded once") func beforeMany() throws {
    let heard = Recorder()
    let decoded = Recorder()
    let coder = RowCoder<String>(
      encode: { Array($0.utf8) },
      decode: { bytes in
        decoded.append("decoded")
        return bytes.withUnsafeBytes { String(decoding: $0, as: UTF8.self) }
      })
    let texts = RowCollection<String, Int>("texts", coder: coder)
    let db = try Database.inMemory()
    for name in ["first", "second"] {
      var probe = Probe(name: name)
      probe.willChange = { _, change in
        guard change.kind == .remove else { return }
        let (object, metadata) = (try change.objectBefore(in: texts), try change.metadataBefore(in: texts))
        heard.append("\(name) \(change.key): \(object ?? "none") \(metadata ?? 0)")
      }
      probe.didChange = { _, change in
        if try change.objectBefore(in: texts) != nil { heard.append("known afterwards") }
      }
      try db.register(probe)
    }
    try db.write { tx throws in
      for (index, key) in ["a", "b", "c"].enumerated() { try tx[texts].set("of \(key)", metadata: index, for: key) }
    }
    try db.write { tx throws in try tx[texts].remove(["a", "c"]) }
    #expect(heard.values == ["first", "second"].flatMap { ["\($0) a: of a 0", "\($0) c: of c 2"] })
    #expect(decoded.values.count == 2)
    try db.write { tx throws in try tx[texts].removeAll() }
    #expect(heard.values.suffix(2) == ["first b: of b 1", "second b: of b 1"])
    #expect(decoded.values.count == 3)
  }

  @Test("Extensions of one kind find each other in a transaction") func writers() throws {
    let db = try Database.inMemory()
    for name in ["first", "second"] { try db.register(Probe(name: name)) }
    try db.register(letterIndex())
    try db.write { tx throws in
      let second = try tx.access(to: Probe(name: "second"))
      #expect(try second.store.writers(as: Probe.Writer.self).map(\.probe.name) == ["first", "second"])
    }
    try db.read { tx throws in
      #expect(try tx.access(to: Probe(name: "first")).writers(as: Probe.Writer.self).isEmpty)
    }
  }

  @Test("What cannot throw is thrown by the next call") func noting() throws {
    struct Broken: Error {}
    let db = try Database.inMemory()
    try db.register(Probe(name: "probe"))
    let error = #expect(throws: DatabaseError.self) {
      try db.write { tx throws in
        let store = try tx.access(to: Probe(name: "probe")).store
        try tx[.texts("t")].set("x", for: "1")
        let value = store.noting(7) { throw Broken() }
        if value != 7 { Issue.record("noted \(value)") }
      }
    }
    #expect(error?.code == .transactionFailed && error?.cause is Broken)
    #expect(try db.read { tx throws in try tx.access(to: Probe(name: "probe")).noting(0) { 8 } } == 8)
    #expect(try db.read { tx throws in tx.count } == 0)
  }

  @Test("A commit's actions may use the database that the extension was given") func databaseAfterwards() throws {
    let counts = Recorder()
    var probe = Probe(name: "probe")
    probe.didChange = { writer, _ in
      let database = writer.store.database
      writer.store.writeTransaction?.onCommit { counts.append("\((try? database.read { $0.count }) ?? -1)") }
    }
    let db = try Database.inMemory()
    try db.register(probe)
    try db.write { tx throws in try tx[.texts("t")].set("x", for: "1") }
    #expect(counts.values == ["1"])
  }

  @Test("Rows of any type by their keys") func rowsByKey() throws {
    let db = try Database.inMemory()
    try db.write { tx throws in
      try tx[.texts("t")].set("x", for: "1")
      let known = RowKey("t", "1")
      let rowID = try tx[.texts("t")].rowID("1")
      #expect(try rowID != nil && tx.rowID(of: known) == rowID)
      for unknown in [RowKey("t", "2"), RowKey("u", "1"), RowKey(String(repeating: "x", count: 5000), "1")] {
        #expect(try tx.rowID(of: unknown) == nil)
        #expect(try !tx.remove(unknown))
      }
      #expect(tx.collections == ["t"])
    }
    try db.read { tx throws in #expect(try tx.rowID(of: RowKey("t", "1")) != nil) }
    try db.write { tx throws in
      #expect(try tx.remove(RowKey("t", "1")))
      #expect(try tx.rowID(of: RowKey("t", "1")) == nil)
    }
    #expect(try db.read { tx throws in tx.collections }.isEmpty)
  }

  @Test("An error of the disk under a hook names one row, and no part of each of two")
  func diskErrorsNameOneRow() {
    let inner = DatabaseError(.inputOutput, "It cannot be read.", collection: "artists")
    let outer = inner.inCall("didChange", of: "x", "songs", "s1")
    #expect(outer.collection == "artists" && outer.key == nil)
    let other = DatabaseError(.diskFull, "It is full.").inCall("didChange", of: "x", "songs", "s1")
    #expect(other.collection == "songs" && other.key == "s1" && other.code == .diskFull)
  }
}
