// Every scalar in every kind of container, written and read by hand, as generated code and that of libraries do it.

import QuireDatabase
import QuireTesting
import Testing

@Suite struct CodingScalarTests {
  /// One of each, coded one after the other through the containers that `way` says.
  private struct Scalars: Codable, Equatable, Sendable {
    enum Way: String, Codable, Sendable { case keyed, optional, missing, unkeyed, unkeyedOptional, single }

    var way: Way
    var bool = true
    var text = "text"
    var (double, float) = (1.5, Float(0.1))
    var (int, int8, int16, int32, int64) = (-1, Int8(-128), Int16(-129), Int32.min, Int64.min)
    var (uint, uint8, uint16, uint32, uint64) = (UInt(1), UInt8(255), UInt16.max, UInt32.max, UInt64.max)
    var (int128, uint128) = (Int128.min, UInt128.max)
    var list = ["a", "b"]

    static func == (left: Self, right: Self) -> Bool {
      left.way == right.way && left.bool == right.bool && left.text == right.text && left.double == right.double
        && left.float == right.float && left.int == right.int && left.int8 == right.int8 && left.int16 == right.int16
        && left.int32 == right.int32 && left.int64 == right.int64 && left.uint == right.uint
        && left.uint8 == right.uint8 && left.uint16 == right.uint16 && left.uint32 == right.uint32
        && left.uint64 == right.uint64 && left.int128 == right.int128 && left.uint128 == right.uint128
        && left.list == right.list
    }

    init(_ way: Way) { self.way = way }

    private enum Key: String, CodingKey {
      case way, values, bool, text, double, float, int, int8, int16, int32, int64, uint, uint8, uint16, uint32, uint64
      case int128, uint128, list
    }

    // MARK: Writing

    func encode(to encoder: any Encoder) throws {
      var container = encoder.container(keyedBy: Key.self)
      try container.encode(way, forKey: .way)
      switch way {
      case .keyed: try encodeFields(to: &container)
      case .optional: try encodeOptionals(to: &container)
      case .missing: break
      case .unkeyed, .unkeyedOptional:
        var list = container.nestedUnkeyedContainer(forKey: .values)
        try encodeElements(to: &list)
      case .single: try encodeFields(to: &container)
      }
    }

    private func encodeFields(to container: inout KeyedEncodingContainer<Key>) throws {
      try container.encode(bool, forKey: .bool)
      try container.encode(text, forKey: .text)
      try container.encode(double, forKey: .double)
      try container.encode(float, forKey: .float)
      try container.encode(int, forKey: .int)
      try container.encode(int8, forKey: .int8)
      try container.encode(int16, forKey: .int16)
      try container.encode(int32, forKey: .int32)
      try container.encode(int64, forKey: .int64)
      try container.encode(uint, forKey: .uint)
      try container.encode(uint8, forKey: .uint8)
      try container.encode(uint16, forKey: .uint16)
      try container.encode(uint32, forKey: .uint32)
      try container.encode(uint64, forKey: .uint64)
      try container.encode(int128, forKey: .int128)
      try container.encode(uint128, forKey: .uint128)
      try container.encode(list, forKey: .list)
    }

    private func encodeOptionals(to container: inout KeyedEncodingContainer<Key>) throws {
      try container.encodeIfPresent(Optional(bool), forKey: .bool)
      try container.encodeIfPresent(Optional(text), forKey: .text)
      try container.encodeIfPresent(Optional(double), forKey: .double)
      try container.encodeIfPresent(Optional(float), forKey: .float)
      try container.encodeIfPresent(Optional(int), forKey: .int)
      try container.encodeIfPresent(Optional(int8), forKey: .int8)
      try container.encodeIfPresent(Optional(int16), forKey: .int16)
      try container.encodeIfPresent(Optional(int32), forKey: .int32)
      try container.encodeIfPresent(Optional(int64), forKey: .int64)
      try container.encodeIfPresent(Optional(uint), forKey: .uint)
      try container.encodeIfPresent(Optional(uint8), forKey: .uint8)
      try container.encodeIfPresent(Optional(uint16), forKey: .uint16)
      try container.encodeIfPresent(Optional(uint32), forKey: .uint32)
      try container.encodeIfPresent(Optional(uint64), forKey: .uint64)
      try container.encodeIfPresent(Optional(int128), forKey: .int128)
      try container.encodeIfPresent(Optional(uint128), forKey: .uint128)
      try container.encodeIfPresent(Optional(list), forKey: .list)
    }

    private func encodeElements(to container: inout any UnkeyedEncodingContainer) throws {
      try container.encodeNil()
      try container.encode(bool)
      try container.encode(text)
      try container.encode(double)
      try container.encode(float)
      try container.encode(int)
      try container.encode(int8)
      try container.encode(int16)
      try container.encode(int32)
      try container.encode(int64)
      try container.encode(uint)
      try container.encode(uint8)
      try container.encode(uint16)
      try container.encode(uint32)
      try container.encode(uint64)
      try container.encode(int128)
      try container.encode(uint128)
      try container.encode(list)
    }

    // MARK: Reading

    init(from decoder: any Decoder) throws {
      let container = try decoder.container(keyedBy: Key.self)
      way = try container.decode(Way.self, forKey: .way)
      switch way {
      case .keyed: try decodeFields(of: container)
      case .optional, .missing: try decodeOptionals(of: container)
      case .unkeyed:
        var list = try container.nestedUnkeyedContainer(forKey: .values)
        try decodeElements(of: &list)
      case .unkeyedOptional:
        var list = try container.nestedUnkeyedContainer(forKey: .values)
        try decodeOptionalElements(of: &list)
      case .single: try decodeSingles(of: container)
      }
    }

    private mutating func decodeFields(of container: KeyedDecodingContainer<Key>) throws {
      bool = try container.decode(Bool.self, forKey: .bool)
      text = try container.decode(String.self, forKey: .text)
      double = try container.decode(Double.self, forKey: .double)
      float = try container.decode(Float.self, forKey: .float)
      int = try container.decode(Int.self, forKey: .int)
      int8 = try container.decode(Int8.self, forKey: .int8)
      int16 = try container.decode(Int16.self, forKey: .int16)
      int32 = try container.decode(Int32.self, forKey: .int32)
      int64 = try container.decode(Int64.self, forKey: .int64)
      uint = try container.decode(UInt.self, forKey: .uint)
      uint8 = try container.decode(UInt8.self, forKey: .uint8)
      uint16 = try container.decode(UInt16.self, forKey: .uint16)
      uint32 = try container.decode(UInt32.self, forKey: .uint32)
      uint64 = try container.decode(UInt64.self, forKey: .uint64)
      int128 = try container.decode(Int128.self, forKey: .int128)
      uint128 = try container.decode(UInt128.self, forKey: .uint128)
      list = try container.decode([String].self, forKey: .list)
    }

    private mutating func decodeOptionals(of container: KeyedDecodingContainer<Key>) throws {
      bool = try container.decodeIfPresent(Bool.self, forKey: .bool) ?? bool
      text = try container.decodeIfPresent(String.self, forKey: .text) ?? text
      double = try container.decodeIfPresent(Double.self, forKey: .double) ?? double
      float = try container.decodeIfPresent(Float.self, forKey: .float) ?? float
      int = try container.decodeIfPresent(Int.self, forKey: .int) ?? int
      int8 = try container.decodeIfPresent(Int8.self, forKey: .int8) ?? int8
      int16 = try container.decodeIfPresent(Int16.self, forKey: .int16) ?? int16
      int32 = try container.decodeIfPresent(Int32.self, forKey: .int32) ?? int32
      int64 = try container.decodeIfPresent(Int64.self, forKey: .int64) ?? int64
      uint = try container.decodeIfPresent(UInt.self, forKey: .uint) ?? uint
      uint8 = try container.decodeIfPresent(UInt8.self, forKey: .uint8) ?? uint8
      uint16 = try container.decodeIfPresent(UInt16.self, forKey: .uint16) ?? uint16
      uint32 = try container.decodeIfPresent(UInt32.self, forKey: .uint32) ?? uint32
      uint64 = try container.decodeIfPresent(UInt64.self, forKey: .uint64) ?? uint64
      int128 = try container.decodeIfPresent(Int128.self, forKey: .int128) ?? int128
      uint128 = try container.decodeIfPresent(UInt128.self, forKey: .uint128) ?? uint128
      list = try container.decodeIfPresent([String].self, forKey: .list) ?? list
    }

    private mutating func decodeElements(of container: inout any UnkeyedDecodingContainer) throws {
      #expect(container.count == 18)
      #expect(try container.decodeNil())
      bool = try container.decode(Bool.self)
      text = try container.decode(String.self)
      double = try container.decode(Double.self)
      float = try container.decode(Float.self)
      int = try container.decode(Int.self)
      int8 = try container.decode(Int8.self)
      int16 = try container.decode(Int16.self)
      int32 = try container.decode(Int32.self)
      int64 = try container.decode(Int64.self)
      uint = try container.decode(UInt.self)
      uint8 = try container.decode(UInt8.self)
      uint16 = try container.decode(UInt16.self)
      uint32 = try container.decode(UInt32.self)
      uint64 = try container.decode(UInt64.self)
      int128 = try container.decode(Int128.self)
      uint128 = try container.decode(UInt128.self)
      list = try container.decode([String].self)
      #expect(container.isAtEnd)
    }

    private mutating func decodeOptionalElements(of container: inout any UnkeyedDecodingContainer) throws {
      #expect(try container.decodeIfPresent(Bool.self) == nil)
      bool = try container.decodeIfPresent(Bool.self) ?? !bool
      text = try #require(try container.decodeIfPresent(String.self))
      double = try #require(try container.decodeIfPresent(Double.self))
      float = try #require(try container.decodeIfPresent(Float.self))
      int = try #require(try container.decodeIfPresent(Int.self))
      int8 = try #require(try container.decodeIfPresent(Int8.self))
      int16 = try #require(try container.decodeIfPresent(Int16.self))
      int32 = try #require(try container.decodeIfPresent(Int32.self))
      int64 = try #require(try container.decodeIfPresent(Int64.self))
      uint = try #require(try container.decodeIfPresent(UInt.self))
      uint8 = try #require(try container.decodeIfPresent(UInt8.self))
      uint16 = try #require(try container.decodeIfPresent(UInt16.self))
      uint32 = try #require(try container.decodeIfPresent(UInt32.self))
      uint64 = try #require(try container.decodeIfPresent(UInt64.self))
      int128 = try #require(try container.decodeIfPresent(Int128.self))
      uint128 = try #require(try container.decodeIfPresent(UInt128.self))
      list = try #require(try container.decodeIfPresent([String].self))
      // At the end there is none.
      #expect(try container.decodeIfPresent(Bool.self) == nil)
      #expect(try container.decodeIfPresent(Int.self) == nil)
    }

    /// Through the container of a single value inside of each field.
    private mutating func decodeSingles(of container: KeyedDecodingContainer<Key>) throws {
      func single(_ key: Key) throws -> any SingleValueDecodingContainer {
        try container.superDecoder(forKey: key).singleValueContainer()
      }
      #expect(try !single(.bool).decodeNil())
      bool = try single(.bool).decode(Bool.self)
      text = try single(.text).decode(String.self)
      double = try single(.double).decode(Double.self)
      float = try single(.float).decode(Float.self)
      int = try single(.int).decode(Int.self)
      int8 = try single(.int8).decode(Int8.self)
      int16 = try single(.int16).decode(Int16.self)
      int32 = try single(.int32).decode(Int32.self)
      int64 = try single(.int64).decode(Int64.self)
      uint = try single(.uint).decode(UInt.self)
      uint8 = try single(.uint8).decode(UInt8.self)
      uint16 = try single(.uint16).decode(UInt16.self)
      uint32 = try single(.uint32).decode(UInt32.self)
      uint64 = try single(.uint64).decode(UInt64.self)
      int128 = try single(.int128).decode(Int128.self)
      uint128 = try single(.uint128).decode(UInt128.self)
      list = try single(.list).decode([String].self)
    }
  }

  @Test(arguments: ["keyed", "optional", "missing", "unkeyed", "unkeyedOptional", "single"])
  func everyScalarComesBack(way: String) throws {
    let value = Scalars(try #require(Scalars.Way(rawValue: way)))
    let folder = try TestFolder()
    let db = try folder.open()
    let collection = RowCollection<Scalars, NoMetadata>("scalars")
    try db.write { tx throws in
      try tx[collection].set(value, for: "k")
      #expect(try tx[collection].get("k") == value)
    }
    // The same value without its type has the same scalars.
    let read = try db.read { tx throws in try tx.values(in: "scalars").row("k")?.object.value }
    let fields = read?["values"]?.list?.count ?? read?.record?.count
    #expect(fields == (way == "missing" ? 1 : 18))
    try db.close()
  }

  /// A scalar where another one is asked for is an error that names the field, in each container.
  @Test(arguments: ["keyed", "unkeyed"]) func anotherScalarIsAnError(way: String) throws {
    let folder = try TestFolder()
    let db = try folder.open()
    let values = RowCollection<RowValue, NoMetadata>("scalars")
    try db.write { tx throws in
      let elements = [nil, 1] + [RowValue](repeating: true, count: 16)
      try tx[values].set(["way": .text(way), "bool": 1, "values": .list(elements)], for: "k")
    }
    try db.close()
    let error = #expect(throws: DatabaseError.self) {
      try folder.open().read { tx throws in _ = try tx[RowCollection<Scalars, NoMetadata>("scalars")].get("k") }
    }
    #expect(error?.code == .decodingFailed && error?.key == "k")
    #expect("\(error.map(\.description) ?? "")".contains(way == "keyed" ? "bool" : "values"))
  }
}
