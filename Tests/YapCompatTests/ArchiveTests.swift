// The default deserializer: what it reads, and that no archive ends the process.

import Foundation
import Quire
import QuireTesting
import Testing
import YapCompat

/// A class of the app's that archives itself. `NSKeyedArchiver` takes no classes that are private or inside of others.
final class ArchivedPerson: NSObject, NSSecureCoding {
  static var supportsSecureCoding: Bool { true }
  let name: String
  let age: Int
  let height: Double
  let isGuest: Bool
  let mark: [UInt8]
  var friend: ArchivedPerson?
  let tags: [String]

  init(_ name: String, age: Int = 3, friend: ArchivedPerson? = nil, tags: [String] = []) {
    (self.name, self.age, self.friend, self.tags) = (name, age, friend, tags)
    (height, isGuest, mark) = (1.5, true, [1, 2])
  }

  required init?(coder: NSCoder) {
    guard let name = coder.decodeObject(of: NSString.self, forKey: "name") else { return nil }
    self.name = name as String
    age = coder.decodeInteger(forKey: "age")
    height = coder.decodeDouble(forKey: "height")
    isGuest = coder.decodeBool(forKey: "isGuest")
    friend = coder.decodeObject(of: ArchivedPerson.self, forKey: "friend")
    tags = coder.decodeObject(of: [NSArray.self, NSString.self], forKey: "tags") as? [String] ?? []
    #if canImport(ObjectiveC)
      var count = 0
      let bytes = unsafe coder.decodeBytes(forKey: "mark", returnedLength: &count)
      mark = unsafe bytes.map { unsafe Array(UnsafeBufferPointer(start: $0, count: count)) } ?? []
    #else
      mark = unsafe coder.withDecodedUnsafeBufferPointer(forKey: "mark") { unsafe $0.map { Array($0) } ?? [] }
    #endif
  }

  func encode(with coder: NSCoder) {
    coder.encode(name as NSString, forKey: "name")
    coder.encode(age, forKey: "age")
    coder.encode(height, forKey: "height")
    coder.encode(isGuest, forKey: "isGuest")
    coder.encode(friend, forKey: "friend")
    coder.encode(tags as NSArray, forKey: "tags")
    unsafe mark.withUnsafeBufferPointer { bytes in
      if let start = bytes.baseAddress { unsafe coder.encodeBytes(start, length: bytes.count, forKey: "mark") }
    }
  }
}

/// A class that asks for what a coder with keys has not.
final class UnkeyedPerson: NSObject, NSCoding {
  override init() { super.init() }
  init?(coder: NSCoder) { _ = coder.decodeObject() }
  func encode(with coder: NSCoder) { coder.encode(1, forKey: "x") }
}

/// Calls that are obsolete, for tests of them.
private protocol ArchiveBlocks {
  func serializer() -> YapDatabaseSerializer
  func plain() -> YapDatabaseDeserializer
  func own() -> YapDatabaseDeserializer
}

private struct ObsoleteBlocks: ArchiveBlocks {
  @available(*, deprecated)
  func serializer() -> YapDatabaseSerializer { YapDatabase.defaultSerializer() }
  @available(*, deprecated)
  func plain() -> YapDatabaseDeserializer { YapDatabase.defaultDeserializer() }
  @available(*, deprecated)
  func own() -> YapDatabaseDeserializer {
    YapDatabase.defaultDeserializer(
      classes: [ArchivedPerson.self, UnkeyedPerson.self], named: ["Old.Person": ArchivedPerson.self])
  }
}

@Suite struct ArchiveTests {
  private let blocks: any ArchiveBlocks = ObsoleteBlocks()

  private func archive(_ object: Any) throws -> Data { try blocks.serializer()("c", "k", object) }
  private func read(_ data: Data) throws -> Any? { try blocks.plain()("c", "k", data) }
  private func readOwn(_ data: Data) throws -> Any? { try blocks.own()("c", "k", data) }

  // MARK: What is read

  @Test func valuesComeBack() throws {
    let date = Date(timeIntervalSinceReferenceDate: 5.25)
    let uuid = try #require(UUID(uuidString: "20743EDD-CD2C-4898-8F3B-0FF697426ADE"))
    let values: [NSObject] = [
      "text" as NSString, "ünïcode ☃ 𝄞" as NSString, "" as NSString, NSMutableString(string: "longer"),
      NSNumber(value: 7), NSNumber(value: -7), NSNumber(value: Int64.min), NSNumber(value: UInt64.max),
      NSNumber(value: true), NSNumber(value: 1.5), NSNumber(value: Float(0.1)), date as NSDate,
      Data([1, 2, 3]) as NSData, NSMutableData(data: Data([9])),
      NSArray(array: [1, "a", [2.5, []] as [Any]] as [Any]),
      NSMutableArray(array: [1]), NSDictionary(dictionary: ["a": 1, "b": ["c": date]] as [String: Any]),
      NSMutableDictionary(), NSSet(array: ["a", "b"]), NSMutableSet(array: [1]), uuid as NSUUID,
      try #require(NSURL(string: "http://a.b/c?d")), NSArray(array: (0..<1000).map { "element \($0)" }),
    ]
    for value in values {
      let made = try #require(try read(archive(value)) as? NSObject)
      #expect(made == value, "\(value)")
    }
    // Objects that may be changed stay so.
    let list = NSMutableArray(array: [NSMutableDictionary(dictionary: ["k": NSMutableString(string: "v")])])
    let made = try #require(try read(archive(list)) as? NSMutableArray)
    made.add("another")
    #expect(made.count == 2 && made[0] as? [String: String] == ["k": "v"])
    let null = try #require(try read(archive(NSNull())) as? NSObject)
    #expect(null is NSNull)
  }

  @Test func anObjectThatIsSharedIsMadeOnce() throws {
    let shared = ArchivedPerson("shared")
    let made = try readOwn(archive(NSArray(array: [NSArray(object: shared), NSArray(object: shared)])))
    let lists = try #require(made as? [[ArchivedPerson]])
    #expect(lists.map(\.count) == [1, 1] && lists[0][0].name == "shared" && lists[0][0] === lists[1][0])
  }

  @Test func ownClassesAreReadOnceTheyAreNamed() throws {
    let person = ArchivedPerson("Ann", friend: ArchivedPerson("Bob", age: 4), tags: ["a", "b"])
    let data = try archive(NSArray(array: [person, person]))
    let people = try #require(try readOwn(data) as? [ArchivedPerson])
    #expect(people.count == 2 && people[0] === people[1])
    let made = people[0]
    #expect(made.name == "Ann" && made.age == 3 && made.height == 1.5 && made.isGuest && made.mark == [1, 2])
    #expect(made.tags == ["a", "b"] && made.friend?.name == "Bob" && made.friend?.age == 4)
    #expect(made.friend?.friend == nil)
    // Under the name that it had before.
    let old = archive(table: [.dictionary([("$class", .uid(2)), ("name", .string("Eve"))]), Self.type("Old.Person")])
    #expect((try readOwn(old) as? ArchivedPerson)?.name == "Eve")
    let error = try #require(failure { try read(data) })
    #expect("\(error)".contains("YapCompatTests.ArchivedPerson") && "\(error)".contains("classes:named:"))
  }

  @Test func aCollectionReadsArchives() throws {
    let folder = try TestFolder()
    let database = try YapDatabase(path: folder.path)
    database.registerDefaultSerializer(blocks.serializer())
    database.registerDefaultDeserializer(blocks.plain())
    let connection = database.newConnection()
    try connection.readWrite { transaction in
      transaction.setObject("text", forKey: "k", inCollection: "a", withMetadata: [1, 2])
      transaction.setObject(ArchivedPerson("Ann"), forKey: "person", inCollection: "a")
    }
    try connection.read { transaction in
      #expect(transaction.object(forKey: "k", inCollection: "a") as? String == "text")
      #expect(transaction.metadata(forKey: "k", inCollection: "a") as? [Int] == [1, 2])
    }
    let error = databaseError { try connection.read { _ = $0.object(forKey: "person", inCollection: "a") } }
    #expect(error?.code == .decodingFailed && error?.collection == "a" && error?.key == "person")
  }

  // MARK: What is an error

  private func failure(_ body: () throws -> Any?) -> (any Error)? {
    do { _ = try body() } catch { return error }
    return nil
  }

  /// An archive of a table whose first object is nothing, and whose second one is the outermost.
  private func archive(table: [PropertyListValue]) -> Data {
    PropertyListValue.archive([.string("$null")] + table)
  }

  private static func type(_ name: String) -> PropertyListValue { .type(name) }

  @Test func anotherClassIsAnError() throws {
    for name in ["NSObject", "NSDateFormatter", "No.Such", "", "NSKeyedUnarchiver", "NSInvocation", "Process"] {
      let data = archive(table: [.dictionary([("$class", .uid(2))]), Self.type(name)])
      #expect(failure { try read(data) } != nil && failure { try readOwn(data) } != nil, "\(name)")
    }
    #expect(failure { try readOwn(archive(UnkeyedPerson())) } != nil)
  }

  @Test func hostileTablesAreErrors() throws {
    let (list, map) = (Self.type("NSArray"), Self.type("NSDictionary"))
    func object(_ fields: [(String, PropertyListValue)]) -> PropertyListValue {
      .dictionary(fields + [("$class", .uid(2))])
    }
    let person = Self.type("YapCompatTests.ArchivedPerson")
    let tables: [String: [PropertyListValue]] = [
      "inside of itself": [object([("NS.objects", .array([.uid(1)]))]), list],
      "inside of each other": [
        object([("NS.objects", .array([.uid(3)]))]), list, object([("NS.objects", .array([.uid(1)]))]),
      ],
      "an own object inside of itself": [object([("name", .string("x")), ("friend", .uid(1))]), person],
      "outside of the table": [object([("NS.objects", .array([.uid(99)]))]), list],
      "far outside": [object([("NS.objects", .array([.uid(Int(UInt32.max))]))]), list],
      "no elements": [object([]), list], "elements that are none": [object([("NS.objects", .uid(0))]), list],
      "missing elements": [object([("NS.objects", .array([.uid(0)]))]), list],
      "a class that is text": [object([]), .string("NSArray")],
      "a class that is an object": [object([]), object([])],
      "a class without a name": [object([]), .dictionary([])],
      "a class outside of the table": [.dictionary([("$class", .uid(7))])],
      "a class by its name": [.dictionary([("$class", .string("NSArray"))])],
      "no class": [.dictionary([])], "a list as it is": [.array([])], "a reference as it is": [.uid(1)],
      "keys without values": [
        object([("NS.keys", .array([.uid(3)])), ("NS.objects", .array([]))]), map, .string("k"),
      ],
      "a list as a key": [
        object([("NS.keys", .array([.uid(3)])), ("NS.objects", .array([.uid(3)]))]), map,
        .dictionary([("$class", .uid(4)), ("NS.objects", .array([]))]), list,
      ],
      "a date of text": [object([("NS.time", .string("now"))]), Self.type("NSDate")],
      "a short UUID": [object([("NS.uuidbytes", .data([1]))]), Self.type("NSUUID")],
      "a URL of numbers": [object([("NS.base", .uid(0)), ("NS.relative", .integer(1))]), Self.type("NSURL")],
      "a URL on text": [object([("NS.base", .string("x")), ("NS.relative", .string("y"))]), Self.type("NSURL")],
      "data of text": [object([("NS.data", .string("x"))]), Self.type("NSMutableData")],
      "text of data": [object([("NS.string", .data([1]))]), Self.type("NSMutableString")],
      "text that is none": [object([("NS.bytes", .data([0xff, 0xfe]))]), Self.type("NSString")],
      "an own object without its name": [object([]), person],
      "an own object with a number as its name": [object([("name", .integer(1))]), person],
      "an own object with text as a number": [object([("name", .string("x")), ("age", .string("3"))]), person],
      "an own object with a friend of text": [object([("name", .string("x")), ("friend", .string("y"))]), person],
      "an own object with a fraction of years": [object([("name", .string("x")), ("age", .real(1.5))]), person],
    ]
    for (what, table) in tables {
      #expect(failure { try readOwn(archive(table: table)) } != nil, "\(what)")
      _ = try? read(archive(table: table))
    }
    #expect(try readOwn(archive(table: [object([("name", .string("x"))]), person])) is ArchivedPerson)
  }

  /// Objects in each other, so many.
  private func nested(_ depth: Int, _ type: PropertyListValue, _ field: (Int) -> [(String, PropertyListValue)]) -> Data
  {
    archive(
      table: (0..<depth).map { .dictionary(field($0 + 2) + [("$class", .uid(depth + 2))]) } + [.string("end"), type])
  }

  @Test func depthHasALimit() throws {
    let deep = TestSize.trials(100_000, divisor: 10)
    for (depth, isRead) in [(200, true), (255, true), (256, false), (5000, false), (deep, false)] {
      let lists = nested(depth, Self.type("NSArray")) { [("NS.objects", .array([.uid($0)]))] }
      #expect((failure { try read(lists) } == nil) == isRead, "\(depth)")
      let people = nested(depth, Self.type("YapCompatTests.ArchivedPerson")) {
        [("name", .string("x"))] + ($0 > depth ? [] : [("friend", .uid($0))])
      }
      #expect((failure { try readOwn(people) } == nil) == (depth <= 256), "\(depth)")
    }
  }

  // Lists that share their elements would grow without bounds if each were copied.
  @Test(.enabled(if: TestSize.hasSlowTests, "slow")) func sharingHasALimit() throws {
    let count = 3000
    let shared = PropertyListValue.shared(.array((0..<count).map { _ in .uid(count + 2) }))
    let list = PropertyListValue.dictionary([("$class", .uid(count + 3)), ("NS.objects", shared)])
    let lists = Array(repeating: list, count: count)
    let all = PropertyListValue.dictionary([
      ("$class", .uid(count + 3)), ("NS.objects", .array((2..<count + 2).map { .uid($0) })),
    ])
    let data = archive(table: [all] + lists + [.string("x"), Self.type("NSArray")])
    #expect(failure { try read(data) } != nil)
  }

  // MARK: Damage

  @Test func noDamageEndsTheProcess() throws {
    let person = ArchivedPerson("Ann", friend: ArchivedPerson("Bob"), tags: ["a", "b"])
    let uuid = try #require(NSUUID(uuidString: "20743EDD-CD2C-4898-8F3B-0FF697426ADE"))
    let seeds = [
      try archive(NSDictionary(dictionary: ["a": [1, 2.5, "x"], "d": Date(), "b": Data([1])] as [String: Any])),
      try archive(
        NSArray(array: [person, uuid, try #require(NSURL(string: "http://a.b/c")), NSSet(array: [1, "ü"])])),
    ]
    var random = SeededRandom(seed: 7)
    var (read, refused) = (0, 0)
    func attempt(_ data: Data) {
      if failure({ try readOwn(data) }) == nil { read += 1 } else { refused += 1 }
    }
    for seed in seeds {
      // Every byte as something else, and every end.
      for place in seed.indices where TestSize.isFull || place % 7 == 0 {
        for value: UInt8 in [0, 1, 0x7f, 0x80, 0xff, seed[place] ^ 1, seed[place] &+ 1, 0xa1, 0xd1, 0x4f] {
          var data = seed
          data[place] = value
          attempt(data)
        }
        attempt(seed.prefix(place))
      }
      for _ in 0..<TestSize.trials(10_000, divisor: 10) {
        var data = seed
        for _ in 0...random.below(6) { data[random.below(data.count)] = UInt8(random.below(256)) }
        if random.oneIn(4) { data.removeSubrange(random.below(data.count)..<data.count) }
        if random.oneIn(8) {
          data.insert(contentsOf: seed.prefix(random.below(60)), at: data.startIndex + random.below(data.count + 1))
        }
        attempt(data)
      }
    }
    // The short size has a sixth of them.
    let (leastRead, leastRefused) = TestSize.isFull ? (100, 10_000) : (10, 1000)
    #expect(read > leastRead && refused > leastRefused, "\(read) read, \(refused) refused")
    for data in [Data(), Data("bplist00".utf8), Data(repeating: 0, count: 40), Data("<?xml".utf8)] {
      #expect(failure { try self.read(data) } != nil)
    }
  }
}
