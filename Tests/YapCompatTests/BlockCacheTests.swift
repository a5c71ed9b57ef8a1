// Decoded values of collections with blocks: who keeps them, how many, and who shares them.

import Foundation
import Quire
import QuireTesting
import Testing
import YapCompat

/// An object with an identity.
// @unchecked: safe because each test uses it from one thread at a time.
class Note: NSObject, NSCopying, @unchecked Sendable {
  var text: String
  init(_ text: String) { self.text = text }
  func copy(with zone: NSZone? = nil) -> Any { Note(text) }
}

/// One that cannot be copied.
// @unchecked: safe because nothing of it changes.
final class Stone: NSObject, @unchecked Sendable {
  let text: String
  init(_ text: String) { self.text = text }
}

/// One that does something when it goes.
// @unchecked: safe because nothing of it changes.
final class Talker: NSObject, @unchecked Sendable {
  private let onGone: @Sendable () -> Void
  init(_ onGone: @escaping @Sendable () -> Void) { self.onGone = onGone }
  deinit { onGone() }
}

@Suite struct BlockCacheTests {
  let folder: TestFolder
  let database: YapDatabase
  let connection: YapDatabaseConnection
  /// The rows that were decoded.
  let decoded = Recorder()

  init() throws {
    folder = try TestFolder()
    let decoded = decoded
    database = try YapDatabase(
      path: folder.path,
      objectSerializer: { _, _, object in Data(((object as? Note)?.text ?? (object as? Stone)?.text ?? "").utf8) },
      objectDeserializer: { collection, key, data in
        decoded.append("\(collection)/\(key)")
        let text = String(decoding: data, as: UTF8.self)
        return collection == "stones" ? Stone(text) : Note(text)
      },
      metadataSerializer: { _, _, object in Data("\(object)".utf8) },
      metadataDeserializer: { collection, key, data in
        decoded.append("\(collection)/\(key)+")
        return String(decoding: data, as: UTF8.self)
      },
      options: YapDatabaseOptions(Database.Options(durability: .relaxed)))
    connection = database.newConnection()
    try connection.readWrite { transaction in
      for number in 0..<10 {
        transaction.setObject(Note("\(number)"), forKey: "\(number)", inCollection: "notes", withMetadata: "m\(number)")
        transaction.setObject(Stone("\(number)"), forKey: "\(number)", inCollection: "stones")
      }
    }
  }

  private func note(_ key: String, _ connection: YapDatabaseConnection? = nil) throws -> Note? {
    try (connection ?? self.connection).read { $0.object(forKey: key, inCollection: "notes") as? Note }
  }

  /// Expects that `body` decodes so many values.
  private func expectDecodings(_ expected: Int, line: UInt = #line, _ body: () throws -> Void) throws {
    let count = decoded.values.count
    try body()
    let found = decoded.values.count - count
    #expect(found == expected, "line \(line)")
  }

  @Test("A value is decoded once for a connection, and again when it has changed") func once() throws {
    let first = try note("1")
    try expectDecodings(0) { () throws in for _ in 0..<3 { #expect(try note("1") === first) } }
    try expectDecodings(1) { () throws in #expect(try note("1", database.newConnection()) !== first) }
    let pinned = database.newConnection()
    _ = try pinned.beginLongLivedReadTransaction()
    #expect(try note("1", pinned)?.text == "1")
    try database.newConnection().readWrite { $0.setObject(Note("new"), forKey: "1", inCollection: "notes") }
    try expectDecodings(1) { () throws in #expect(try note("1")?.text == "new") }
    try expectDecodings(0) { () throws in #expect(try note("1", pinned)?.text == "1") }
    let metadata = { try connection.read { $0.metadata(forKey: "2", inCollection: "notes") as? String } }
    try expectDecodings(1) { () throws in #expect(try metadata() == "m2") }
    try expectDecodings(0) { () throws in #expect(try metadata() == "m2") }
    connection.flushMemory(with: .caches)
    try expectDecodings(1) { () throws in #expect(try metadata() == "m2") }
  }

  @Test("Limits bind, and the least recently used value goes first") func limits() throws {
    connection.objectCacheLimit = 3
    for key in ["0", "1", "2", "0", "3"] { _ = try note(key) }
    try expectDecodings(0) { () throws in for key in ["0", "2", "3"] { _ = try note(key) } }
    try expectDecodings(1) { () throws in _ = try note("1") }
    // What was used longest ago went for it.
    try expectDecodings(1) { () throws in _ = try note("0") }
    connection.objectCacheLimit = 1
    try expectDecodings(0) { () throws in _ = try note("0") }
    try expectDecodings(1) { () throws in _ = try note("1") }
    connection.objectCacheLimit = 0
    for number in 0..<10 { _ = try note("\(number)") }
    try expectDecodings(0) { () throws in for number in 0..<10 { _ = try note("\(number)") } }
    connection.objectCacheEnabled = false
    try expectDecodings(2) { () throws in for _ in 0..<2 { _ = try note("5") } }
    connection.objectCacheEnabled = true
    try expectDecodings(1) { () throws in for _ in 0..<2 { _ = try note("5") } }
    let config = YapDatabaseConnectionConfig()
    config.metadataCacheEnabled = false
    let other = database.newConnection(config)
    try expectDecodings(2) { () throws in
      for _ in 0..<2 { try other.read { _ = $0.metadata(forKey: "5", inCollection: "notes") } }
    }
  }

  @Test("Enumerations are served, and push nothing out") func enumerations() throws {
    let all = {
      try connection.read { $0.enumerateKeysAndObjects(inCollection: "notes", using: { _, _, _ in }, withFilter: nil) }
    }
    connection.objectCacheLimit = 4
    for key in ["7", "8", "9"] { _ = try note(key) }
    // There is room for one more object and for all metadata; four objects are there the second time.
    try expectDecodings(17) { () throws in try all() }
    try expectDecodings(6) { () throws in try all() }
    try expectDecodings(0) { () throws in for key in ["7", "8", "9"] { _ = try note(key) } }
  }

  @Test("What a block has changed in place is forgotten when its transaction fails") func rollback() throws {
    try connection.readWrite { transaction in
      (transaction.object(forKey: "1", inCollection: "notes") as? Note)?.text = "changed"
      transaction.rollback()
    }
    #expect(try note("1")?.text == "1")
  }

  @Test("Other blocks make other values") func otherBlocks() throws {
    let first = try note("1")
    database.registerObjectDeserializer({ _, _, _ in Note("other") }, forCollection: "notes")
    #expect(try note("1")?.text == "other" && first?.text == "1")
  }

  @Test("Connections share objects, copy them, or decode for themselves") func policies() throws {
    let connections = (0..<3).map { _ in database.newConnection() }
    let read = { (key: String) in try connections.map { try #require(try note(key, $0)) } }
    func distinct(_ notes: [Note]) -> Int { Set(notes.map { ObjectIdentifier($0) }).count }
    try expectDecodings(3) { () throws in #expect(try distinct(read("1")) == 3) }
    database.setObjectPolicy(.share, forCollection: "notes")
    try expectDecodings(1) { () throws in #expect(try distinct(read("2")) == 1) }
    database.setObjectPolicy(.copy, forCollection: "notes")
    try expectDecodings(1) { () throws in
      let notes = try read("3")
      #expect(distinct(notes) == 3)
      // A connection keeps its own, and nobody sees what it does to it.
      notes[0].text = "changed"
      #expect(try note("3", connections[0])?.text == "changed" && note("3", connections[1])?.text == "3")
      #expect(try note("3", connections[0]) === notes[0])
      let late = database.newConnection()
      #expect(try note("3", late)?.text == "3")
    }
    database.setObjectPolicy(.copy, forCollection: "stones")
    let stones = try connections.map { connection in
      try connection.read { try #require($0.object(forKey: "1", inCollection: "stones") as? Stone) }
    }
    #expect(Set(stones.map { ObjectIdentifier($0) }).count == 3)
  }

  @Test("With types, the policy to copy has each read hand out a copy") func typedCopies() throws {
    let coder = RowCoder<Note>(
      encode: { Array($0.text.utf8) },
      decode: { bytes in Note(String(decoding: bytes.withUnsafeBytes { Array($0) }, as: UTF8.self)) })
    var options = Database.Options(durability: .relaxed)
    options.objectCache = ObjectCacheOptions()
    let folder = try TestFolder()
    let database = try YapDatabase(path: folder.path, options: YapDatabaseOptions(options))
    database.register(RowCollection<Note, NoMetadata>("notes", coder: coder))
    let connection = database.newConnection()
    try connection.readWrite { $0.setObject(Note("1"), forKey: "1", inCollection: "notes") }
    for _ in 0..<3 { _ = try note("1", connection) }
    #expect(try note("1", connection) === note("1", connection))
    database.setObjectPolicy(.copy, forCollection: "notes")
    let copy = try note("1", connection)
    #expect(try copy?.text == "1" && note("1", connection) !== copy)
  }

  @Test("An object that uses the connection when it goes holds nobody up", .timeLimit(.minutes(1)))
  func talkers() throws {
    let (connection, gone) = (connection, Recorder())
    database.registerSerializer({ _, _, _ in Data() }, forCollection: "talkers")
    database.registerDeserializer(
      { _, key, _ in
        Talker {
          gone.append(key)
          connection.objectCacheLimit = 1
        }
      }, forCollection: "talkers")
    try connection.readWrite { transaction in
      for key in ["a", "b"] { transaction.setObject(Talker {}, forKey: key, inCollection: "talkers") }
    }
    connection.objectCacheLimit = 1
    for _ in 0..<2 {
      for key in ["a", "b"] {
        #expect(try connection.read { $0.object(forKey: key, inCollection: "talkers") is Talker })
      }
    }
    #expect(gone.values == ["a", "b", "a"])
    connection.flushMemory(with: .all)
    #expect(gone.values == ["a", "b", "a", "b"])
  }

  @Test("A random run shows what the file has, whatever the limits") func randomRun() throws {
    var random = SeededRandom(seed: 23)
    var model = Dictionary(uniqueKeysWithValues: (0..<10).map { ("\($0)", "\($0)") })
    let connections = (0..<3).map { _ in database.newConnection() }
    for step in 0..<2000 {
      let (connection, key) = (connections[random.below(3)], "\(random.below(10))")
      switch random.below(5) {
      case 0:
        let isKept = random.below(4) > 0
        try connection.readWrite { transaction in
          transaction.setObject(Note("\(step)"), forKey: key, inCollection: "notes")
          #expect((transaction.object(forKey: key, inCollection: "notes") as? Note)?.text == "\(step)")
          if !isKept { transaction.rollback() }
        }
        if isKept { model[key] = "\(step)" }
      case 1: connection.objectCacheLimit = UInt(random.below(6))
      case 2: database.setObjectPolicy([.containment, .share, .copy][random.below(3)], forCollection: "notes")
      default: #expect(try note(key, connection)?.text == model[key], "step \(step)")
      }
    }
  }
}
