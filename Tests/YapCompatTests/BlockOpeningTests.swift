// Opening with blocks, and values that were serialized beforehand.

import Foundation
import Quire
import QuireTesting
import Testing
import YapCompat

@Suite struct BlockOpeningTests {
  let folder: TestFolder

  init() throws { folder = try TestFolder() }

  private func utf8(_ mark: String) -> YapDatabaseSerializer {
    { collection, key, object in Data("\(mark)\(collection)/\(key)=\(object)".utf8) }
  }

  private let text: YapDatabaseDeserializer = { _, _, data in String(decoding: data, as: UTF8.self) }

  private func stored(_ database: YapDatabase) throws -> [String] {
    let connection = database.newConnection()
    try connection.readWrite { transaction in
      transaction.setObject("o", forKey: "k", inCollection: "c", withMetadata: "m")
    }
    return try connection.read { transaction in
      [transaction.object(forKey: "k", inCollection: "c"), transaction.metadata(forKey: "k", inCollection: "c")]
        .map { $0 as? String ?? "none" }
    }
  }

  // As the page “Storing Objects” has them: [[YapDatabase alloc] initWithPath:serializer:deserializer:].
  @Test func oneBlockForBothHalves() throws {
    let database = try YapDatabase(path: folder.path, serializer: utf8(""), deserializer: text)
    #expect(try stored(database) == ["c/k=o", "c/k=m"])
    try database.close()
    let again = try YapDatabase(
      url: URL(fileURLWithPath: folder.path), serializer: utf8("2 "), deserializer: text,
      preSanitizer: { _, _, value in "\(value)!" }, postSanitizer: nil, options: YapDatabaseOptions())
    #expect(try stored(again) == ["2 c/k=o!", "2 c/k=m!"])
  }

  @Test func blocksForEachHalf() throws {
    let seen = Recorder()
    let database = try YapDatabase(
      path: folder.path, objectSerializer: utf8("o "), objectDeserializer: text, metadataSerializer: utf8("m "),
      metadataDeserializer: text, objectPreSanitizer: { _, _, value in "\(value)1" },
      objectPostSanitizer: { _, _, value in seen.append("object \(value)") },
      metadataPreSanitizer: { _, _, value in "\(value)2" },
      metadataPostSanitizer: { _, _, value in seen.append("metadata \(value)") }, options: YapDatabaseOptions())
    #expect(try stored(database) == ["o c/k=o1", "m c/k=m2"])
    #expect(seen.values == ["object o1", "metadata m2"])
    try database.close()
    let url = try YapDatabase(
      url: URL(fileURLWithPath: folder.path), objectSerializer: utf8(""), objectDeserializer: text,
      metadataSerializer: utf8(""), metadataDeserializer: text)
    #expect(try stored(url) == ["c/k=o", "c/k=m"])
    // A collection may have types all the same.
    url.registerCodableSerialization(Int.self, forCollection: "numbers")
    let connection = url.newConnection()
    try connection.readWrite { $0.setObject(7, forKey: "k", inCollection: "numbers") }
    #expect(try connection.read { $0.object(forKey: "k", inCollection: "numbers") as? Int } == 7)
  }

  @Test func nilIsAnArchive() throws {
    let database = try YapDatabase(path: folder.path, serializer: nil, deserializer: nil)
    let connection = database.newConnection()
    try connection.readWrite { transaction in
      transaction.setObject(["a": NSNumber(value: 1)] as NSDictionary, forKey: "k", inCollection: "c")
    }
    let read = try connection.read { $0.object(forKey: "k", inCollection: "c") as? NSDictionary }
    #expect(read == ["a": NSNumber(value: 1)] as NSDictionary)
  }

  // MARK: Serialized beforehand

  private static let counted = Recorder()

  private func counting<Value>(_ name: String, _ make: @escaping @Sendable (String) -> Value) -> RowCoder<Value> {
    RowCoder(
      encode: { value in
        Self.counted.append(name)
        return Array("\(value)".utf8)
      },
      decode: { bytes in make(String(decoding: bytes.withUnsafeBytes { Array($0) }, as: UTF8.self)) })
  }

  @Test("In collections with types the bytes are stored, and no coder runs") func typed() throws {
    let database = try YapDatabase(path: folder.path)
    database.register(
      RowCollection<String, String>(
        "t", coder: counting("object") { $0 }, metadataCoder: counting("metadata") { $0 }))
    let connection = database.newConnection()
    try connection.readWrite { transaction in
      transaction.setObject(
        "o", forKey: "k", inCollection: "t", withMetadata: "m", serializedObject: Data("O".utf8),
        serializedMetadata: Data("M".utf8))
      transaction.setObject(
        "o", forKey: "r", inCollection: "t", withMetadata: "m", serializedObject: Data("O".utf8),
        serializedMetadata: Data("M".utf8))
      transaction.replace("o", forKey: "r", inCollection: "t", withSerializedObject: Data("P".utf8))
      transaction.replaceMetadata("m", forKey: "r", inCollection: "t", withSerializedMetadata: Data("N".utf8))
    }
    #expect(!Self.counted.values.contains("object") && !Self.counted.values.contains("metadata"))
    try connection.read { transaction in
      #expect(transaction.object(forKey: "k", inCollection: "t") as? String == "O")
      #expect(transaction.metadata(forKey: "k", inCollection: "t") as? String == "M")
      #expect(transaction.object(forKey: "r", inCollection: "t") as? String == "P")
      #expect(transaction.metadata(forKey: "r", inCollection: "t") as? String == "N")
    }
    // The value is of the registered type even so.
    #expect(
      errorCode {
        try connection.readWrite {
          $0.setObject(
            7, forKey: "k", inCollection: "t", withMetadata: nil, serializedObject: Data(), serializedMetadata: nil)
        }
      } == .collectionMismatch)
  }

  @Test("Property lists of the original's are stored; the compact form is made anew") func forms() throws {
    let database = try YapDatabase(path: folder.path)
    database.registerCodableSerialization(Song.self, forCollection: "lists", coder: .propertyList)
    database.registerCodableSerialization(Song.self, forCollection: "compact")
    let song = Song(title: "Luka")
    let bytes = try YapDatabase.codableSerializer(Song.self)("", "", Song(title: "Given"))
    let connection = database.newConnection()
    try connection.readWrite { transaction in
      for name in ["lists", "compact"] {
        transaction.setObject(
          song, forKey: "k", inCollection: name, withMetadata: nil, serializedObject: bytes, serializedMetadata: nil)
      }
    }
    try connection.read { transaction in
      #expect(transaction.object(forKey: "k", inCollection: "lists") as? Song == Song(title: "Given"))
      #expect(transaction.serializedObject(forKey: "k", inCollection: "lists") == bytes)
      #expect(transaction.object(forKey: "k", inCollection: "compact") as? Song == song)
    }
  }
}
