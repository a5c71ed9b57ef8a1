// The rows of the lives that `quire-torture rows` leads.

import QuireDatabase
import QuireTesting

/// A row with a field of each kind that extensions look at, and one that may be long.
struct TortureRow: Codable, Sendable, Equatable {
  var title: String
  var group: Int
  var weight: Double?
  var tags: [String]
  /// The key of another row; empty for none.
  var parent: String
  var payload: [UInt8]

  /// A row of any size between a few bytes and several pages.
  static func random(_ random: inout SeededRandom) -> TortureRow {
    let length = random.oneIn(12) ? random.below(12_000) : random.below(200)
    // Half of what is long can be compressed.
    let payload =
      random.oneIn(2)
      ? [UInt8](repeating: 7, count: length)
      : (0..<length).map { _ in UInt8(truncatingIfNeeded: random.next()) }
    return TortureRow(
      title: "title \(random.below(20)) \(String(repeating: "and so on ", count: random.below(12)))",
      group: random.below(6), weight: random.oneIn(3) ? nil : Double(random.below(50)) / 4,
      tags: (0..<random.below(4)).map { _ in "tag\(random.below(8))" },
      parent: random.oneIn(3) ? "" : "k\(random.below(RowLife.keyCount))", payload: payload)
  }
}

/// A row of a program before its upgrade.
struct OldNote: Codable, Sendable, Equatable { var text: String }

/// The same row today.
struct Note: Codable, Sendable, Equatable {
  var text: String
  var length: Int

  init(_ text: String) {
    self.text = text
    length = text.utf8.count
  }
}

/// A row that goes with another one, and takes its files along.
struct Cover: Codable, Sendable, Equatable {
  /// The key of the row that it goes with; empty for none.
  var owner: String
  /// The files that are deleted when no cover names them any more.
  var files: [String]
  /// Whether its edges ask for that as one of several, or alone.
  var isShared: Bool
}

extension RowCollection where Object == TortureRow, Metadata == Int {
  static var rows: Self { .init("rows") }
}

extension RowCollection where Object == TortureRow, Metadata == NoMetadata {
  static var documents: Self { .init("documents", coder: .json, compression: .lz4(above: 100)) }
}

extension RowCollection where Object == Cover, Metadata == NoMetadata {
  static var covers: Self { .init("covers") }
}

extension RowCollection where Object == OldNote, Metadata == NoMetadata {
  static var oldNotes: Self { .init("notes") }
}

extension RowCollection where Object == Note, Metadata == NoMetadata {
  static var notes: Self { .init("notes", coder: .binary.upgrading(from: OldNote.self) { Note($0.text) }) }
}
