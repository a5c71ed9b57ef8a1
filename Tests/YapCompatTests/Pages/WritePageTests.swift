// What the original's reference of read-write transactions says, call by call.

import Foundation
import QuireTesting
import Testing
import YapCompat

@Suite struct WritePageTests {
  private let fixture: YapFixture
  private var connection: YapDatabaseConnection { fixture.connection }

  init() throws {
    fixture = try YapFixture()
    try connection.readWrite { transaction in
      transaction.setObject("object", forKey: "k", inCollection: "c", withMetadata: "metadata")
    }
  }

  /// Object and metadata of the row.
  private func row(_ key: String = "k", _ collection: String? = "c") throws -> [String?] {
    try connection.read { transaction in
      [
        transaction.object(forKey: key, inCollection: collection) as? String,
        transaction.metadata(forKey: key, inCollection: collection) as? String,
      ]
    }
  }

  @Test("A rollback discards what came before it and after it") func rollback() throws {
    try connection.readWrite { transaction in
      transaction.setObject("before", forKey: "k", inCollection: "c")
      transaction.rollback()
      transaction.setObject("after", forKey: "k", inCollection: "c")
    }
    #expect(try row() == ["object", "metadata"])
  }

  @Test("A custom object goes along with the notification", .timeLimit(.minutes(1))) func customObject() async throws {
    let (gate, seen) = (Gate(), Recorder())
    let token = NotificationCenter.default.addObserver(
      forName: .YapDatabaseModified, object: fixture.database, queue: nil
    ) { notification in
      guard let custom = notification.userInfo?[YapDatabaseCustomKey] as? String else { return }
      seen.append(custom)
      gate.open()
    }
    defer { NotificationCenter.default.removeObserver(token) }
    try connection.readWrite { transaction in
      transaction.yapDatabaseModifiedNotificationCustomObject = "mine"
      #expect(transaction.yapDatabaseModifiedNotificationCustomObject as? String == "mine")
      transaction.setObject("o", forKey: "k2", inCollection: "c")
    }
    await gate.wait()
    #expect(seen.values == ["mine"])
  }

  @Test("Setting an object alone erases the metadata") func setObject() throws {
    try connection.readWrite { $0.setObject("new", forKey: "k", inCollection: "c") }
    #expect(try row() == ["new", nil])
  }

  @Test("Object and metadata are set together") func setBoth() throws {
    try connection.readWrite { $0.setObject("new", forKey: "k", inCollection: "c", withMetadata: "m") }
    #expect(try row() == ["new", "m"])
  }

  @Test("No collection is the collection with the empty name") func noCollection() throws {
    try connection.readWrite { $0.setObject("o", forKey: "k", inCollection: nil) }
    #expect(try row("k", "") == ["o", nil])
  }

  @Test("Setting or replacing nil removes the row") func nilRemoves() throws {
    let calls: [(YapDatabaseReadWriteTransaction) -> Void] = [
      { $0.setObject(nil, forKey: "k", inCollection: "c") },
      { $0.setObject(nil, forKey: "k", inCollection: "c", withMetadata: "m") },
      {
        $0.setObject(
          nil, forKey: "k", inCollection: "c", withMetadata: "m", serializedObject: Data(), serializedMetadata: Data())
      },
      { $0.replace(nil, forKey: "k", inCollection: "c") },
      { $0.replace(nil, forKey: "k", inCollection: "c", withSerializedObject: Data()) },
    ]
    for call in calls {
      try connection.readWrite { $0.setObject("o", forKey: "k", inCollection: "c", withMetadata: "m") }
      try connection.readWrite { call($0) }
      #expect(try row() == [nil, nil])
      #expect(try connection.read { !$0.hasObject(forKey: "k", inCollection: "c") })
    }
  }

  /// A collection whose blocks count how often they make bytes.
  private func counted() -> Recorder {
    let calls = Recorder()
    fixture.database.registerSerializer(
      { _, _, object in
        calls.append("\(object)")
        return Data("\(object)".utf8)
      }, forCollection: "raw")
    fixture.database.registerDeserializer(
      { _, _, data in String(decoding: data, as: UTF8.self) }, forCollection: "raw")
    return calls
  }

  @Test("Bytes that are there already are not made again") func preserialized() throws {
    let calls = counted()
    try connection.readWrite { transaction in
      transaction.setObject(
        "o", forKey: "k", inCollection: "raw", withMetadata: "m", serializedObject: Data("o".utf8),
        serializedMetadata: Data("m".utf8))
      transaction.replace("p", forKey: "k", inCollection: "raw", withSerializedObject: Data("p".utf8))
      transaction.replaceMetadata("n", forKey: "k", inCollection: "raw", withSerializedMetadata: Data("n".utf8))
    }
    #expect(calls.values.isEmpty)
    #expect(try row("k", "raw") == ["p", "n"])
    // Without an object, bytes alone store nothing; without metadata, theirs are not looked at.
    try connection.readWrite { transaction in
      transaction.setObject(
        "o", forKey: "k", inCollection: "raw", withMetadata: nil, serializedObject: Data("o".utf8),
        serializedMetadata: Data("m".utf8))
    }
    #expect(try row("k", "raw") == ["o", nil])
  }

  @Test("Replacing leaves the other half, and makes no rows") func replacing() throws {
    try connection.readWrite { transaction in
      transaction.replace("new", forKey: "k", inCollection: "c")
      transaction.replace("new", forKey: "none", inCollection: "c")
    }
    #expect(try row() == ["new", "metadata"])
    try connection.readWrite { transaction in
      transaction.replaceMetadata("m", forKey: "k", inCollection: "c")
      transaction.replaceMetadata("m", forKey: "none", inCollection: "c")
    }
    #expect(try row() == ["new", "m"])
    try connection.readWrite { $0.replaceMetadata(nil, forKey: "k", inCollection: "c") }
    #expect(try row() == ["new", nil])
    #expect(try connection.read { $0.numberOfKeys(inCollection: "c") } == 1)
  }

  @Test("Touched rows are told as changed, by half, and are not written") func touching() throws {
    let reader = fixture.database.newConnection()
    _ = try reader.beginLongLivedReadTransaction()
    let calls: [(YapDatabaseReadWriteTransaction) -> Void] = [
      { $0.touchObject(forKey: "k", inCollection: "c") }, { $0.touchMetadata(forKey: "k", inCollection: "c") },
      { $0.touchRow(forKey: "k", inCollection: "c") },
    ]
    for (call, told) in zip(calls, [[true, false], [false, true], [true, true]]) {
      try connection.readWrite { call($0) }
      let notifications = try reader.beginLongLivedReadTransaction()
      #expect(reader.hasObjectChange(forCollection: "c", in: notifications) == told[0])
      #expect(reader.hasMetadataChange(forCollection: "c", in: notifications) == told[1])
      #expect(reader.hasChange(forKey: "k", inCollection: "c", in: notifications))
      #expect(try row() == ["object", "metadata"])
    }
    // A row that is not there is not touched.
    try connection.readWrite { $0.touchRow(forKey: "none", inCollection: "c") }
    let notifications = try reader.beginLongLivedReadTransaction()
    #expect(!reader.hasChange(forKey: "none", inCollection: "c", in: notifications))
  }

  @Test("Rows may be touched while they are enumerated") func touchingInEnumeration() throws {
    try fixture.fill("many")
    try connection.readWrite { transaction in
      var keys: [String] = []
      transaction.enumerateKeys(inCollection: "many") { key, _ in
        transaction.touchObject(forKey: key, inCollection: "many")
        keys.append(key)
      }
      #expect(keys.count == 5)
    }
  }

  @Test("Rows are removed one by one, some, by collection, and all") func removing() throws {
    for name in ["a", "b"] { try fixture.fill(name) }
    func counts() throws -> [UInt] {
      try connection.read { transaction in ["a", "b", "c"].map { transaction.numberOfKeys(inCollection: $0) } }
    }
    try connection.readWrite { $0.removeObject(forKey: "key1", inCollection: "a") }
    #expect(try counts() == [4, 5, 1])
    try connection.readWrite { $0.removeObjects(forKeys: ["key2", "key3", "none"], inCollection: "a") }
    #expect(try counts() == [2, 5, 1])
    try connection.readWrite { $0.removeAllObjects(inCollection: "b") }
    #expect(try counts() == [2, 0, 1])
    #expect(try connection.read { $0.allCollections() } == ["a", "c"])
    try connection.readWrite { $0.removeAllObjectsInAllCollections() }
    #expect(try counts() == [0, 0, 0])
    #expect(try connection.read { $0.numberOfCollections() } == 0)
  }

  @Test("Code inside brings its own completion blocks", .timeLimit(.minutes(1))) func completion() async throws {
    let (gate, connection) = (Gate(), connection)
    try connection.readWrite { transaction in
      transaction.setObject("o", forKey: "k2", inCollection: "c")
      transaction.addCompletionQueue(DispatchQueue(label: "mine")) {
        let isThere = try? connection.read { $0.hasObject(forKey: "k2", inCollection: "c") }
        if isThere == true { gate.open() }
      }
      transaction.addCompletionQueue(nil) { gate.open() }
    }
    await gate.wait(2)
  }
}
