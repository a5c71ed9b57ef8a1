// Drawn values of all kinds.

import Foundation
import QuireDatabase
import QuireTesting

extension RowValue {
  /// A value of any kind, with others inside down to so many levels.
  static func random(_ random: inout SeededRandom, depth: Int = 4) -> RowValue {
    switch random.below(depth > 0 ? 13 : 10) {
    case 0: return .null
    case 1: return .bool(random.oneIn(2))
    case 2: return .integer(integer(&random))
    case 3: return random.oneIn(4) ? .large(.max - UInt128(random.below(3))) : .integer(Int128(random.below(100)) - 50)
    case 4:
      let nan = Float(bitPattern: 0x7fc0_0001)
      return .float(random.pick([0, -0.0, 1.5, .infinity, -.infinity, .nan, nan, .leastNonzeroMagnitude]))
    case 5: return .double(double(&random))
    case 6: return .text(text(&random))
    case 7: return .bytes((0..<random.below(20)).map { _ in UInt8(truncatingIfNeeded: random.next()) })
    case 8: return .uuid(uuid(&random))
    case 9: return .text(random.pick(["", "$data", "\u{0}", "é", "e\u{301}", "\u{10ffff}", "\"\\/\n\u{7f}"]))
    case 10, 11:
      return .record(
        (0..<random.below(5)).map { Field(name($0, &random), .random(&random, depth: depth - 1)) })
    default: return .list((0..<random.below(4)).map { _ in .random(&random, depth: depth - 1) })
    }
  }

  /// No two of a record are the same: a record that was written has each name once.
  private static func name(_ index: Int, _ random: inout SeededRandom) -> String {
    random.oneIn(3) ? random.pick(["$record", "$data", "$int", "$", "a.b"]) + "\(index)" : "field\(index)"
  }

  private static func integer(_ random: inout SeededRandom) -> Int128 {
    let word = Int128(truncatingIfNeeded: random.next()) << 64 | Int128(truncatingIfNeeded: random.next())
    return word >> Int128(random.below(128))
  }

  private static func double(_ random: inout SeededRandom) -> Double {
    if random.oneIn(2) { return Double(bitPattern: random.next()) }
    return random.pick([0, -0.0, 1, 0.1, 1e300, .leastNonzeroMagnitude, .infinity, -.infinity, .nan])
  }

  private static func text(_ random: inout SeededRandom) -> String {
    String((0..<random.below(12)).map { _ in Character(Unicode.Scalar(UInt8(32 + random.below(95)))) })
  }

  private static func uuid(_ random: inout SeededRandom) -> UUID {
    let bytes = (0..<16).map { _ in UInt8(truncatingIfNeeded: random.next()) }
    return bytes.withUnsafeBytes { UUID(uuid: $0.loadUnaligned(as: uuid_t.self)) }
  }
}
