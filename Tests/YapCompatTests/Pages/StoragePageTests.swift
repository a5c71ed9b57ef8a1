// The examples of the original's page on storing objects.

import Foundation
import QuireTesting
import Testing
import YapCompat

/// The page's object, at its second version. `NSKeyedArchiver` takes no classes that are private or inside of others.
final class MyObject: NSObject, NSCoding {
  let myString: String
  let myWhatever: MyWhatever?
  let myFloat: Float
  let myName: String

  init(_ myString: String, whatever: MyWhatever? = nil, float: Float = 0, name: String) {
    (self.myString, myWhatever, myFloat, myName) = (myString, whatever, float, name)
  }

  required init?(coder decoder: NSCoder) {
    let version = decoder.decodeInt32(forKey: "version")
    myString = decoder.decodeObject(forKey: "myString") as? String ?? ""
    myWhatever = decoder.decodeObject(forKey: "myWhatever") as? MyWhatever
    myFloat = decoder.decodeFloat(forKey: "myFloat")
    // Its name is of version 2.
    myName = version < 2 ? "default" : decoder.decodeObject(forKey: "myName") as? String ?? ""
  }

  func encode(with encoder: NSCoder) {
    // A name that begins so is stored as version 1 did.
    if !myName.hasPrefix("v1") {
      encoder.encode(Int32(2), forKey: "version")
      encoder.encode(myName as NSString, forKey: "myName")
    }
    encoder.encode(myString as NSString, forKey: "myString")
    encoder.encode(myWhatever, forKey: "myWhatever")
    encoder.encode(myFloat, forKey: "myFloat")
  }
}

/// What an object holds besides.
final class MyWhatever: NSObject, NSCoding {
  let text: String
  init(_ text: String) { self.text = text }
  required init?(coder decoder: NSCoder) { text = decoder.decodeObject(forKey: "text") as? String ?? "" }
  func encode(with encoder: NSCoder) { encoder.encode(text as NSString, forKey: "text") }
}

/// Calls that are obsolete, for tests of them.
private protocol PageBlocks {
  func serializer() -> YapDatabaseSerializer
  func deserializer() -> YapDatabaseDeserializer
}

private struct ObsoletePageBlocks: PageBlocks {
  @available(*, deprecated)
  func serializer() -> YapDatabaseSerializer { YapDatabase.defaultSerializer() }
  @available(*, deprecated)
  func deserializer() -> YapDatabaseDeserializer {
    YapDatabase.defaultDeserializer(classes: [MyObject.self, MyWhatever.self])
  }
}

@Suite struct StoragePageTests {
  private let folder: TestFolder
  private let database: YapDatabase
  private let connection: YapDatabaseConnection

  init() throws {
    folder = try TestFolder()
    database = try YapDatabase(path: folder.path)
    connection = database.newConnection()
  }

  private func useArchives() {
    let blocks: any PageBlocks = ObsoletePageBlocks()
    database.registerDefaultSerializer(blocks.serializer())
    database.registerDefaultDeserializer(blocks.deserializer())
  }

  private func stored(_ object: Any, metadata: Any? = nil) throws -> (object: Any?, metadata: Any?) {
    try connection.readWrite { transaction in
      transaction.setObject(object, forKey: "key", inCollection: "collection", withMetadata: metadata)
    }
    var row: (object: Any?, metadata: Any?)
    try connection.read { transaction in
      row.object = transaction.object(forKey: "key", inCollection: "collection")
      row.metadata = transaction.metadata(forKey: "key", inCollection: "collection")
    }
    return row
  }

  @Test("By default objects of Foundation are stored as they are") func defaultSetup() throws {
    useArchives()
    #expect(try stored("text").object as? String == "text")
    #expect(try stored(NSNumber(value: 7)).object as? NSNumber == 7)
    #expect(try stored(["a", "b"] as NSArray).object as? [String] == ["a", "b"])
    #expect(try stored(["a": 1] as NSDictionary).object as? [String: Int] == ["a": 1])
    #expect(try stored(NSSet(array: ["a"])).object as? Set<String> == ["a"])
    #expect(try stored(Data([1, 2]) as NSData).object as? Data == Data([1, 2]))
  }

  @Test("Objects with `NSCoding`, what they hold, and lists of them") func ownClasses() throws {
    useArchives()
    let object = MyObject("s", whatever: MyWhatever("w"), float: 1.5, name: "n")
    let back = try #require(try stored(object, metadata: Date(timeIntervalSinceReferenceDate: 7) as NSDate).object)
    let made = try #require(back as? MyObject)
    #expect(made.myString == "s" && made.myWhatever?.text == "w" && made.myFloat == 1.5 && made.myName == "n")
    let list = try #require(try stored([object, MyObject("t", name: "m")] as NSArray).object as? [MyObject])
    #expect(list.map(\.myString) == ["s", "t"])
  }

  @Test("Objects are brought to a new version as they are read") func upgrades() throws {
    useArchives()
    let back = try #require(try stored(MyObject("s", float: 2, name: "v1 has none")).object as? MyObject)
    #expect(back.myString == "s" && back.myFloat == 2 && back.myName == "default")
    let newer = try #require(try stored(MyObject("s", name: "given")).object as? MyObject)
    #expect(newer.myName == "given")
  }

  @Test("Objects and metadata have routines of their own") func differentRoutines() throws {
    database.registerObjectSerializer(YapDatabase.propertyListSerializer(), forCollection: "collection")
    database.registerObjectDeserializer(YapDatabase.propertyListDeserializer(), forCollection: "collection")
    database.registerMetadataSerializer(YapDatabase.timestampSerializer(), forCollection: "collection")
    database.registerMetadataDeserializer(YapDatabase.timestampDeserializer(), forCollection: "collection")
    let date = Date(timeIntervalSinceReferenceDate: 1.25)
    let row = try stored(["list": [1, 2], "date": date] as [String: Any], metadata: date)
    #expect((row.object as? [String: Any])?["list"] as? [Int] == [1, 2] && row.metadata as? Date == date)
    try connection.read { transaction in
      #expect(transaction.serializedMetadata(forKey: "key", inCollection: "collection")?.count == 8)
    }
  }

  @Test("Routines of one's own get collection, key and bytes, as for encryption") func encryption() throws {
    /// Another mask for each row.
    @Sendable func mask(_ collection: String, _ key: String, _ data: Data) -> Data {
      let pad = Array("\(key)/\(collection)".utf8)
      return Data(data.enumerated().map { $1 ^ pad[$0 % pad.count] ^ 0x80 })
    }
    database.registerDefaultSerializer { collection, key, object in
      mask(collection, key, Data((object as? String ?? "").utf8))
    }
    database.registerDefaultDeserializer { collection, key, data in
      String(decoding: mask(collection, key, data), as: UTF8.self)
    }
    #expect(try stored("secret", metadata: "too").object as? String == "secret")
    try connection.readWrite { $0.setObject("secret", forKey: "other", inCollection: "collection") }
    try connection.read { transaction in
      let bytes = ["key", "other"].map { transaction.serializedObject(forKey: $0, inCollection: "collection") }
      #expect(bytes[0] != nil && bytes[0] != bytes[1] && !bytes.contains(Data("secret".utf8)))
      #expect(transaction.metadata(forKey: "key", inCollection: "collection") as? String == "too")
    }
  }
}
