// What archives and property lists hold, as values; whatever their bytes are.

import Foundation
import QuireDatabase
import QuireImporting
import QuireTesting
import Testing

@Suite struct ArchivedValueTests {
  private func archive(_ object: Any) throws -> [UInt8] {
    [UInt8](try NSKeyedArchiver.archivedData(withRootObject: object, requiringSecureCoding: false))
  }

  private func read(_ table: [PropertyListValue]) throws -> RowValue {
    try ArchivedValue.read([UInt8](PropertyListValue.archive([.string("$null")] + table))).value
  }

  private func object(_ fields: [(String, PropertyListValue)]) -> PropertyListValue {
    .dictionary(fields + [("$class", .uid(2))])
  }

  @Test func foundationsValuesBecomePlainOnes() throws {
    let uuid = try #require(UUID(uuidString: "20743EDD-CD2C-4898-8F3B-0FF697426ADE"))
    let date = Date(timeIntervalSinceReferenceDate: 5.25)
    let pairs: [(Any, RowValue)] = [
      ("ünïcode ☃" as NSString, "ünïcode ☃"), (NSMutableString(string: "longer"), "longer"),
      (NSNumber(value: Int64.min), .integer(Int128(Int64.min))),
      (NSNumber(value: UInt64.max), .integer(Int128(UInt64.max))), (NSNumber(value: 1.5), 1.5),
      (NSNumber(value: true), true), (date as NSDate, .date(date)), (Data([1, 2]) as NSData, .bytes([1, 2])),
      (uuid as NSUUID, .uuid(uuid)), (try #require(NSURL(string: "http://a.b/c?d")), "http://a.b/c?d"),
      (NSNull(), nil), (NSArray(array: [1, "a", [2.5]] as [Any]), [1, "a", [2.5]]), (NSSet(array: ["x"]), ["x"]),
      (NSDictionary(dictionary: ["a": ["b": 1]]), ["a": ["b": 1]]),
      (NSDictionary(dictionary: [7: "x"]), [["key": 7, "value": "x"]]),
    ]
    for (object, value) in pairs {
      let read = try ArchivedValue.read(archive(object))
      #expect(read.value == value && read.kind == .archive, "\(object)")
    }
  }

  @Test func ownClassesBecomeRecords() throws {
    let friend = PropertyListValue.dictionary([("$class", .uid(2)), ("name", .uid(5)), ("friend", .uid(0))])
    let value = try read([
      object([("stars", .integer(3)), ("name", .uid(3)), ("friend", .uid(4))]), .type("App.Person"), .string("Ann"),
      friend, .string("Bob"),
    ])
    #expect(
      value
        == [
          "$class": "App.Person", "friend": ["$class": "App.Person", "friend": nil, "name": "Bob"], "name": "Ann",
          "stars": 3,
        ])
  }

  @Test func aDictionaryWithAKeyTwiceBecomesPairs() throws {
    func dictionary(_ keys: [String]) throws -> RowValue {
      let places = (0..<keys.count).map { PropertyListValue.uid($0 + 3) }
      let values = keys.indices.map { PropertyListValue.integer($0) }
      return try read(
        [object([("NS.keys", .array(places)), ("NS.objects", .array(values))]), .type("NSDictionary")]
          + keys.map { .string($0) })
    }
    #expect(try dictionary(["k", "l"]) == ["k": 0, "l": 1])
    #expect(try dictionary(["k", "k"]) == [["key": "k", "value": 0], ["key": "k", "value": 1]])
    // The same in a property list, at the place of an object without a class.
    let plain = try read([.dictionary([("k", .integer(1)), ("k", .integer(2))])])
    #expect(plain == [["key": "k", "value": 1], ["key": "k", "value": 2]])
  }

  @Test func propertyListsAndOtherBytes() throws {
    let encoder = PropertyListEncoder()
    encoder.outputFormat = .binary
    let list = try ArchivedValue.read([UInt8](encoder.encode(["a": [1.5], "b": []])))
    #expect(list.kind == .propertyList && list.value["a"] == [1.5] && list.value["b"] == [])
    for bytes in [[], [1, 2], Array("{}".utf8)] as [[UInt8]] {
      let other = try ArchivedValue.read(bytes)
      #expect(other.kind == nil && other.value == .bytes(bytes))
    }
  }

  @Test func hostileTablesAreErrors() throws {
    let list = PropertyListValue.type("NSArray")
    let tables: [String: [PropertyListValue]] = [
      "inside of itself": [object([("NS.objects", .array([.uid(1)]))]), list],
      "inside of each other": [
        object([("NS.objects", .array([.uid(3)]))]), list, object([("NS.objects", .array([.uid(1)]))]),
      ],
      "an own object inside of itself": [object([("friend", .uid(1))]), .type("App.Person")],
      "outside of the table": [object([("NS.objects", .array([.uid(99)]))]), list],
      "far outside": [object([("NS.objects", .array([.uid(Int(UInt32.max))]))]), list],
      "no elements": [object([]), list], "elements that are none": [object([("NS.objects", .uid(0))]), list],
      "a reference as it is": [.uid(1)], "a class that is text": [object([]), .string("NSArray")],
      "keys without values": [
        object([("NS.keys", .array([.uid(3)])), ("NS.objects", .array([]))]), .type("NSDictionary"), .string("k"),
      ],
      "a date of text": [object([("NS.time", .string("now"))]), .type("NSDate")],
      "a short UUID": [object([("NS.uuidbytes", .data([1]))]), .type("NSUUID")],
      "a URL of numbers": [object([("NS.relative", .integer(1))]), .type("NSURL")],
      "text that is none": [object([("NS.bytes", .data([0xff, 0xfe]))]), .type("NSString")],
    ]
    for (what, table) in tables {
      let error = #expect(throws: (any Error).self, "\(what)") { try read(table) }
      #expect(error.map { "\($0)".isEmpty } != true)
    }
  }

  @Test func depthAndSharingHaveLimits() throws {
    func nested(_ depth: Int) -> [PropertyListValue] {
      (0..<depth).map { .dictionary([("next", .uid($0 + 2)), ("$class", .uid(depth + 2))]) }
        + [.string("end"), .type("App.Node")]
    }
    #expect(throws: Never.self) { try read(nested(200)) }
    for depth in [300, TestSize.trials(100_000, divisor: 10)] {
      #expect(throws: (any Error).self) { try read(nested(depth)) }
    }
    // Each holds the next one twice: 2⁶⁰ of the last one.
    let doubled = (0..<60).map {
      PropertyListValue.dictionary([("a", .uid($0 + 2)), ("b", .uid($0 + 2)), ("$class", .uid(62))])
    }
    let error = #expect(throws: (any Error).self) { try read(doubled + [.string("end"), .type("App.Node")]) }
    #expect(error.map { "\($0)" }?.contains("too often") == true)
  }

  @Test func whatIsSharedIsCounted() throws {
    // Many fields of one long name, which is read for each of them.
    let name = String(repeating: "n", count: 64 << 10)
    let fields = (0..<200).map { _ in (name, PropertyListValue.integer(1)) }
    let error = #expect(throws: (any Error).self) { try read([object(fields), .type("App.Person")]) }
    #expect(error.map { "\($0)" }?.contains("share their names too often") == true)
    // A text in a list: 4 times is well, and 600 times too often.
    func shared(_ count: Int) throws -> (value: RowValue, kind: ArchivedValue.Kind?, cost: Int) {
      let texts = PropertyListValue.array(Array(repeating: .uid(3), count: count))
      let table = [object([("NS.objects", texts)]), .type("NSArray"), .string(String(repeating: "t", count: 1000))]
      return try ArchivedValue.read([UInt8](PropertyListValue.archive([.string("$null")] + table)))
    }
    let few = try shared(4)
    #expect(few.value.list?.count == 4 && few.cost > 4000)
    #expect(throws: (any Error).self) { try shared(600) }
  }

  @Test func noDamageEndsTheProcess() throws {
    let seed = try archive(
      NSArray(array: [
        NSDictionary(dictionary: ["a": [1, 2.5, "x"], "d": Date(), "b": Data([1])] as [String: Any]),
        NSUUID(), NSSet(array: [1, "ü"]), NSNull(),
      ]))
    var random = SeededRandom(seed: 7)
    var (read, refused) = (0, 0)
    func attempt(_ bytes: [UInt8]) {
      if (try? ArchivedValue.read(bytes)) != nil { read += 1 } else { refused += 1 }
    }
    for place in seed.indices where TestSize.isFull || place % 4 == 0 {
      for value: UInt8 in [0, 0x7f, 0xff, seed[place] ^ 1, 0xa1, 0xd1, 0x4f, 0x80] {
        var bytes = seed
        bytes[place] = value
        attempt(bytes)
      }
      attempt(Array(seed.prefix(place)))
    }
    for _ in 0..<TestSize.trials(10_000, divisor: 10) {
      var bytes = seed
      for _ in 0...random.below(6) { bytes[random.below(bytes.count)] = UInt8(random.below(256)) }
      attempt(bytes)
    }
    #expect(read > 10 && refused > 500, "\(read) read, \(refused) refused")
  }
}
