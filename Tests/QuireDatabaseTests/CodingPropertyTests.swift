// Random values of a recursive type: the binary form gives back the same value as JSON, from one context or many.

import Foundation
import QuireDatabase
import QuireTesting
import Testing

@Suite("Random values against JSON")
struct CodingPropertyTests {
  struct Node: Codable, Equatable, Sendable {
    var name: String
    var count: Int?
    var small: Int8?
    var ratio: Double?
    var flag: Bool?
    var children: [Node]
    var byName: [String: Node]?
    var leaf: Leaf?
    var data: Data?
    var dates: [Date]?
    var numbers: [Int?]
    var byNumber: [Int: String]?
    var set: Set<UInt16>?
    var wrapped: Wrapped?
  }

  enum Leaf: Codable, Equatable, Sendable {
    case none
    case one(Int)
    case two(name: String, [Leaf])
    indirect case deep(Leaf?)
  }

  /// Codes as its raw value.
  struct Wrapped: RawRepresentable, Codable, Equatable, Sendable { var rawValue: String }

  @Test(.enabled(if: TestSize.hasSlowTests, "slow"), arguments: [11, 12, 13, 14, 15] as [UInt64])
  func roundTrips(_ seed: UInt64) throws {
    var random = SeededRandom(seed: seed)
    let shared = RowCodingContext(schema: RowSchema())
    var rows: [(value: Node, bytes: [UInt8])] = []
    for number in 0..<60 {
      let value = node(&random, depth: 3)
      // JSON takes most of the time: in the short size it is made of some.
      if TestSize.isFull || number % 6 == 0 {
        let json = try JSONDecoder().decode(Node.self, from: JSONEncoder().encode(value))
        #expect(json == value, "seed \(seed)")
      }
      rows.append((value, try encoded(value, .binary, shared)))
      #expect(try recoded(value) == value, "seed \(seed)")
    }
    // Rows that were written with a shorter schema read with the longer one.
    for row in rows { #expect(try decoded(row.bytes, .binary, shared) == row.value, "seed \(seed)") }
  }

  private func node(_ random: inout SeededRandom, depth: Int) -> Node {
    Node(
      name: text(&random), count: random.oneIn(2) ? nil : Int(truncatingIfNeeded: random.next()) >> random.below(64),
      small: random.oneIn(2) ? nil : Int8(truncatingIfNeeded: random.next()),
      ratio: random.oneIn(2) ? nil : Double(random.below(1_000_000)) / 7, flag: random.oneIn(3) ? nil : random.oneIn(2),
      children: depth == 0 ? [] : (0..<random.below(4)).map { _ in node(&random, depth: depth - 1) },
      byName: depth == 0 || random.oneIn(3)
        ? nil : Dictionary((0..<random.below(3)).map { _ in (text(&random), node(&random, depth: depth - 1)) }) { $1 },
      leaf: random.oneIn(3) ? nil : leaf(&random, depth: 3),
      data: random.oneIn(2) ? nil : Data((0..<random.below(300)).map { _ in UInt8(random.below(256)) }),
      dates: random.oneIn(2)
        ? nil
        : (0..<random.below(4)).map { _ in Date(timeIntervalSinceReferenceDate: Double(random.below(1 << 30)) / 8) },
      numbers: (0..<random.below(5)).map { _ in random.oneIn(3) ? nil : random.below(1 << 20) - (1 << 19) },
      byNumber: random.oneIn(2) ? nil : Dictionary((0..<random.below(4)).map { ($0 - 1, text(&random)) }) { $1 },
      set: random.oneIn(2) ? nil : Set((0..<random.below(6)).map { _ in UInt16(random.below(1 << 16)) }),
      wrapped: random.oneIn(2) ? nil : Wrapped(rawValue: text(&random)))
  }

  private func leaf(_ random: inout SeededRandom, depth: Int) -> Leaf {
    switch random.below(depth == 0 ? 2 : 4) {
    case 0: .none
    case 1: .one(random.below(1_000))
    case 2: .two(name: text(&random), (0..<random.below(3)).map { _ in leaf(&random, depth: depth - 1) })
    default: .deep(random.oneIn(4) ? nil : leaf(&random, depth: depth - 1))
    }
  }

  private func text(_ random: inout SeededRandom) -> String {
    let alphabet = Array("abcdefgh ijkl/\"\\üß€漢😀\u{0}\n")
    return String((0..<random.below(random.oneIn(8) ? 400 : 20)).map { _ in alphabet[random.below(alphabet.count)] })
  }
}
