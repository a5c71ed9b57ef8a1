// Keys that a value writes more than once: what Foundation's coders make of it.

import Foundation
import QuireDatabase
import QuireTesting
import Testing

/// A value that a closure writes.
private struct Written: Codable, Sendable {
  let body: @Sendable (any Encoder) throws -> Void
  init(body: @escaping @Sendable (any Encoder) throws -> Void) { self.body = body }
  init(from decoder: any Decoder) throws {
    throw DecodingError.dataCorrupted(.init(codingPath: [], debugDescription: "This is only written."))
  }
  func encode(to encoder: any Encoder) throws { try body(encoder) }
}

/// A key of any name.
private struct AnyKey: CodingKey {
  var stringValue: String
  var intValue: Int? { nil }
  init(_ name: String) { stringValue = name }
  init?(stringValue: String) { self.init(stringValue) }
  init?(intValue: Int) { nil }
}

private enum Key: CodingKey { case x, y, inner }

private struct Point: Codable, Sendable, Equatable {
  var x: Int?
  var y: Int?
  var inner: [String: Int]?
}

private class Base: Codable {
  var x: Int
  enum CodingKeys: CodingKey { case x }
  init(_ x: Int) { self.x = x }
}

private final class Override: Base {
  private enum OwnKeys: CodingKey { case x, y }
  override func encode(to encoder: any Encoder) throws {
    try super.encode(to: encoder)
    var container = encoder.container(keyedBy: OwnKeys.self)
    try container.encode(x + 100, forKey: .x)
    try container.encode(7, forKey: .y)
  }
}

@Suite("Keys that are written twice") struct CodingRepeatTests {
  /// What a row is read as, whole or inside another value; the binary coder must agree with JSON.
  private func check(_ expected: Point, _ body: @escaping @Sendable (any Encoder) throws -> Void) throws {
    let written = Written(body: body)
    #expect(try JSONDecoder().decode(Point.self, from: JSONEncoder().encode(written)) == expected)
    #expect(try read(written) == expected)
    #expect(try readInside(written) == expected)
  }

  private func read(_ value: Written) throws -> Point {
    let context = RowCodingContext(schema: RowSchema())
    return try decoded(encoded(value, .binary, context), .binary, context)
  }

  private func readInside(_ value: Written) throws -> Point {
    struct Inside: Codable, Sendable { var before = 1, value: Written, after = 2 }
    struct Read: Codable, Sendable { var before: Int, value: Point, after: Int }
    let context = RowCodingContext(schema: RowSchema())
    let read: Read = try decoded(encoded(Inside(value: value), .binary, context), .binary, context)
    #expect(read.before == 1 && read.after == 2)
    return read.value
  }

  @Test("The last value counts") func lastValueCounts() throws {
    try check(Point(x: 3, y: 2)) { encoder in
      var container = encoder.container(keyedBy: Key.self)
      try container.encode(1, forKey: .x)
      try container.encode(2, forKey: .y)
      try container.encode(3, forKey: .x)
    }
    // Also if it is nil, or of another length, or of another type of keys.
    try check(Point(x: nil, y: 70_000)) { encoder in
      var container = encoder.container(keyedBy: Key.self)
      try container.encode(1, forKey: .x)
      try container.encode(2, forKey: .y)
      try container.encodeNil(forKey: .x)
      var other = encoder.container(keyedBy: AnyKey.self)
      try other.encode(70_000, forKey: AnyKey("y"))
    }
    try check(Point(x: 5, y: 6)) { encoder in
      var container = encoder.container(keyedBy: AnyKey.self)
      for number in 0..<300 { try container.encode("\(number)", forKey: AnyKey("other \(number)")) }
      for number in 0...5 { try container.encode(number, forKey: AnyKey("x")) }
      for number in 0...6 { try container.encode(number, forKey: AnyKey("y")) }
    }
  }

  @Test("A subclass overrides what its superclass has written") func overriding() throws {
    try check(Point(x: 105, y: 7)) { try Override(5).encode(to: $0) }
  }

  @Test("A container that is asked for twice is one container") func containers() throws {
    try check(Point(x: 1, inner: ["a": 1, "b": 3, "c": 4])) { encoder in
      var container = encoder.container(keyedBy: Key.self)
      var first = container.nestedContainer(keyedBy: AnyKey.self, forKey: .inner)
      try first.encode(1, forKey: AnyKey("a"))
      try first.encode(2, forKey: AnyKey("b"))
      try container.encode(1, forKey: .x)
      var second = container.nestedContainer(keyedBy: AnyKey.self, forKey: .inner)
      try second.encode(3, forKey: AnyKey("b"))
      try second.encode(4, forKey: AnyKey("c"))
    }
    struct Lists: Codable, Sendable, Equatable { var inner: [Int] }
    let context = RowCodingContext(schema: RowSchema())
    let lists = Written { encoder in
      var container = encoder.container(keyedBy: Key.self)
      var first = container.nestedUnkeyedContainer(forKey: .inner)
      try first.encode(1)
      var second = container.nestedUnkeyedContainer(forKey: .inner)
      try second.encode(2)
      try first.encode(3)
    }
    #expect(try JSONDecoder().decode(Lists.self, from: JSONEncoder().encode(lists)) == Lists(inner: [1, 2, 3]))
    #expect(try decoded(encoded(lists, .binary, context), RowCoder<Lists>.binary, context) == Lists(inner: [1, 2, 3]))
  }

  @Test("A value takes the place of a container") func valueAfterContainer() throws {
    try check(Point(inner: ["z": 9])) { encoder in
      var container = encoder.container(keyedBy: Key.self)
      var nested = container.nestedContainer(keyedBy: AnyKey.self, forKey: .inner)
      try nested.encode(1, forKey: AnyKey("a"))
      try container.encode(["z": 9], forKey: .inner)
    }
  }

  @Test("Random fields agree with Foundation's outcome") func random() throws {
    var random = SeededRandom(seed: 1)
    for _ in 0..<2000 {
      let seed = random.next()
      let steps = (0..<Int(seed % 13)).map { index in (Int(seed >> (4 * UInt64(index)) & 3), index) }
      let written = Written { encoder in
        var container = encoder.container(keyedBy: Key.self)
        var other = encoder.container(keyedBy: AnyKey.self)
        for (kind, value) in steps {
          switch kind {
          case 0: try container.encode(value, forKey: .x)
          case 1: try container.encode(value * 1000, forKey: .y)
          case 2: try other.encode(value, forKey: AnyKey("x"))
          default:
            var nested = container.nestedContainer(keyedBy: AnyKey.self, forKey: .inner)
            try nested.encode(value, forKey: AnyKey("n\(value % 3)"))
          }
        }
      }
      let expected = try JSONDecoder().decode(Point.self, from: JSONEncoder().encode(written))
      #expect(try read(written) == expected, "seed \(seed): \(steps)")
    }
  }
}
