// Drawn databases whose rows are of all forms that there are.

import Foundation
import QuireDatabase
import QuireTesting

/// Fills databases with collections of all coders, with and without types, of several versions.
enum RandomDatabase {
  private enum Mood: String, Codable, Sendable { case calm, loud }

  private struct Track: Codable, Sendable {
    var title: String, plays: Int, length: Double, level: Float, added: Date, cover: Data, id: UUID, mood: Mood
    var note: String?
    var counts: [String: Int], parts: [[String: Mood]], self_: [Track]
  }

  private struct Short: Codable, Sendable { var title: String }

  static func fill(_ db: Database, _ random: inout SeededRandom) throws {
    for _ in 0...random.below(4) {
      var random = SeededRandom(seed: random.next())
      let name = random.pick(["", "c", "é", "e\u{301}", "a\u{0}b", "\u{10ffff}"]) + "\(random.below(1000))"
      let keys = (0...random.below(12)).map { "\(random.pick(["", "k", "\"\n", "é"]))\($0)" }
      try db.write { tx throws in try fill(name, keys, tx, &random) }
    }
  }

  private static func fill(
    _ name: String, _ keys: [String], _ tx: WriteTransaction, _ random: inout SeededRandom
  ) throws {
    // A name that was drawn before keeps its coder.
    if tx.collections.contains(name) { return }
    let date = Date(timeIntervalSinceReferenceDate: Double(random.below(1 << 20)) / 4)
    func rows<Object: Sendable>(
      _ coder: RowCoder<Object>, _ object: (inout SeededRandom) -> Object
    ) throws {
      let rows = RowCollection<Object, RowValue>(name, coder: coder)
      for key in keys {
        let metadata = random.oneIn(2) ? RowValue.random(&random, depth: 2) : nil
        try tx[rows].set(object(&random), metadata: metadata, for: key)
      }
    }
    switch random.below(12) {
    case 0: try rows(.binary) { track(&$0) }
    case 1: try rows(.json) { track(&$0) }
    case 2: try rows(.propertyList) { track(&$0) }
    case 3: try rows(.timestamp) { _ in date }
    case 4: try rows(.timestamp.upgrading(from: Int.self) { _ in date }) { _ in date }
    case 5: try rows(.bytes) { random in (0..<random.below(300)).map { _ in UInt8(truncatingIfNeeded: random.next()) } }
    case 6: try rows(RowCoder<Int>(encode: { [UInt8($0)] }, decode: { _ in 0 })) { $0.below(256) }
    case 7: try rows(.binary.upgrading(from: Short.self) { _ in Short(title: "") }) { Short(title: "t\($0.below(9))") }
    case 8: try rows(.binary) { (random: inout SeededRandom) -> RowValue in .random(&random) }
    case 9: try rows(.json) { (random: inout SeededRandom) -> RowValue in .random(&random) }
    case 10: try rows(.binary) { ["title": $0.below(9), "free \($0.below(9))": 1] }
    default: try oddBytes(name, keys, tx, &random)
    }
  }

  /// Documents with spaces, halves of several versions, and halves of a coder that has come later.
  private static func oddBytes(
    _ name: String, _ keys: [String], _ tx: WriteTransaction, _ random: inout SeededRandom
  ) throws {
    for key in keys {
      switch random.below(3) {
      case 0:
        let text = random.pick([#" {"a" : 1}"#, #"{"b":1e2,"a":"\u0041\/"}"#, "[1.50]", "1E5"])
        try tx[RowCollection<[String: Int], NoMetadata>(name, coder: .json)].set(
          [:], encoded: Array(text.utf8), for: key)
      case 1:
        let half = StoredHalf(.value(["a": 1]), version: random.below(300), coder: .json)
        try tx.values(in: name).set(half, for: key)
      default: try tx.values(in: name).set(StoredHalf(.value("text"), coder: .json), for: key)
      }
    }
  }

  private static func track(_ random: inout SeededRandom, depth: Int = 1) -> Track {
    Track(
      title: random.pick(["", "Naima", "\u{0}\u{1f}\u{7f}", "“é”/\\"]), plays: random.below(1 << 30) - 1000,
      length: random.pick([0, 1, 0.1, 1e300, -Double.leastNonzeroMagnitude]), level: random.pick([0, 0.1, 1.5]),
      added: Date(timeIntervalSinceReferenceDate: Double(random.below(1 << 30)) / 8),
      cover: Data((0..<random.below(40)).map { _ in UInt8(truncatingIfNeeded: random.next()) }), id: UUID(),
      mood: random.pick([.calm, .loud]), note: random.oneIn(2) ? "note" : nil,
      // One of the keys is the name of a field.
      counts: Dictionary(uniqueKeysWithValues: ["title", "k1", "k2"].prefix(random.below(4)).map { ($0, 1) }),
      parts: random.oneIn(2) ? [["mood": .calm]] : [],
      self_: depth > 0 && random.oneIn(2) ? [track(&random, depth: depth - 1)] : [])
  }
}
