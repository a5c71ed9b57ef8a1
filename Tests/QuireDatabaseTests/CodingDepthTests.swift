// Values inside one another: how deep they may go, on any thread.

import Foundation
import QuireDatabase
import Testing

/// A list of lists.
private struct Nest: Codable, Sendable, Equatable {
  var inner: [Nest] = []
}

/// A value inside a value.
private final class Link: Codable, Sendable {
  let next: Link?

  init(_ next: Link?) { self.next = next }
}

/// The same with containers that are made by hand, a child of a coder each.
private struct Hand: Codable, Sendable {
  var depth: Int

  enum Key: CodingKey { case inner }

  init(depth: Int) { self.depth = depth }

  func encode(to encoder: any Encoder) throws {
    var outer = encoder.container(keyedBy: Key.self)
    if depth > 0 { try Hand(depth: depth - 1).encode(to: outer.superEncoder(forKey: .inner)) }
  }

  init(from decoder: any Decoder) throws {
    let outer = try decoder.container(keyedBy: Key.self)
    depth = outer.contains(.inner) ? try Hand(from: outer.superDecoder(forKey: .inner)).depth + 1 : 0
  }
}

/// An enumeration whose cases have values.
private indirect enum Expression: Codable, Sendable, Equatable {
  case end
  case not(Expression)
}

@Suite("Values inside one another") struct CodingDepthTests {
  /// Stores and reads values up to the limit, and one that is too deep, on threads with little stack and with much.
  ///
  /// - Parameter make: a value with so many values inside one another.
  private func check<Value: Codable & Sendable>(_ make: @escaping @Sendable (Int) -> Value) {
    for byteCount in [512 << 10, 8 << 20] {
      onStack(byteCount) {
        for depth in [40, 50, 100, 200, 510, 512] {
          #expect(throws: Never.self, "\(depth)") { _ = try recoded(make(depth)) }
        }
        for depth in [513, 600] {
          #expect(throws: EncodingError.self, "\(depth)") { _ = try recoded(make(depth)) }
          // And the coder is as good as new.
          #expect(throws: Never.self) { _ = try recoded(make(60)) }
        }
      }
    }
  }

  @Test func lists() {
    // Each is two values: itself, and its list.
    check { depth in (0..<(depth - 1) / 2).reduce(Nest()) { nest, _ in Nest(inner: [nest]) } }
  }

  @Test func objects() { check { depth in (1..<depth).reduce(Link(nil)) { link, _ in Link(link) } } }

  @Test func containersByHand() { check { depth in Hand(depth: depth - 1) } }

  @Test func cases() {
    check { depth in (0..<(depth - 1) / 2).reduce(Expression.end) { inner, _ in .not(inner) } }
  }

  @Test("A row that is too deep names its collection and key, and the transaction goes on") func rows() throws {
    let nests = RowCollection<Link, NoMetadata>("links")
    let db = try Database.inMemory()
    try db.write { tx throws in
      let error = #expect(throws: DatabaseError.self) {
        try tx[nests].set((0..<600).reduce(Link(nil)) { link, _ in Link(link) }, for: "deep")
      }
      #expect(error?.code == .encodingFailed && error?.collection == "links" && error?.key == "deep")
      try tx[nests].set(Link(nil), for: "flat")
    }
    #expect(try db.read { tx throws in Array(tx[nests].keys) } == ["flat"])
  }

  @Test("What a deep value throws is thrown to the caller") func errors() throws {
    struct Refusal: Error {}
    struct Refusing: Encodable {
      func encode(to encoder: any Encoder) throws { throw Refusal() }
    }
    struct Wrapped: Codable, Sendable {
      var depth: Int
      init(depth: Int) { self.depth = depth }
      init(from decoder: any Decoder) throws { depth = 0 }
      func encode(to encoder: any Encoder) throws {
        var list = encoder.unkeyedContainer()
        if depth == 0 { try list.encode(Refusing()) } else { try list.encode(Wrapped(depth: depth - 1)) }
      }
    }
    for depth in [1, 100] { #expect(throws: Refusal.self) { _ = try recoded(Wrapped(depth: depth)) } }
  }
}
