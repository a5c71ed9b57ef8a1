// What is stored about the indexes of a collection: which tree is whose, what records hold at which place, and how far
// each index is.
//
//     varint   the form, 2
//     varint   the next number of a tree; the next place
//     varint   how often all rows were removed at once
//     varint   the number of indexes; for each:
//       text     name
//       text     what its declaration says
//       varint   the number of its tree × 2, and 1 if it is ready
//       varint   the number of its columns; the place of each
//       varint   0, or the place that tells whether it holds a row, plus 1
//       text     its declaration in words; not in form 1
//
// A text is its length as a varint and its bytes.

/// What the file says of indexes.
///
/// Invariants:
/// 1. Each tree and each place is below `nextTree` or `nextPlace`, and a tree is that of one index.
/// 2. Numbers of trees and places are given out once, so `nextTree` and `nextPlace` only grow.
struct IndexCatalog: Equatable, Sendable {
  /// One index.
  struct Entry: Equatable, Sendable {
    var name: String
    /// What its declaration says, as far as its entries depend on it.
    var signature: String
    /// Its tree is called `i` and this number; while it is built, what changes meanwhile goes to `d` and this number.
    var tree: Int
    /// Whether its tree has all entries.
    var isReady: Bool
    /// Where records have its columns.
    var places: [Int]
    /// Where records tell whether it holds a row; nil if it holds all.
    var heldPlace: Int?
    /// The declaration in words, for people; empty if the file does not have it.
    var summary = ""
  }

  var entries: [Entry] = []
  var nextTree = 0
  var nextPlace = 0
  /// How often all rows were removed at once: what was sorted before is worth nothing then.
  var clearCount = 0

  /// The newest form.
  private static let form = 2
  /// The most of anything: more is no catalog of ours.
  private static let limit = 1 << 24

  // MARK: Bytes

  var bytes: [UInt8] {
    var bytes: [UInt8] = []
    for number in [Self.form, nextTree, nextPlace, clearCount, entries.count] { Varint.append(number, to: &bytes) }
    func append(_ text: String) {
      Varint.append(text.utf8.count, to: &bytes)
      bytes += Array(text.utf8)
    }
    for entry in entries {
      append(entry.name)
      append(entry.signature)
      Varint.append(entry.tree << 1 | (entry.isReady ? 1 : 0), to: &bytes)
      Varint.append(entry.places.count, to: &bytes)
      for place in entry.places { Varint.append(place, to: &bytes) }
      Varint.append(entry.heldPlace.map { $0 + 1 } ?? 0, to: &bytes)
      append(entry.summary)
    }
    return bytes
  }

  init() {}

  /// Reads what `bytes` wrote; nil if it is not that.
  init?(_ bytes: [UInt8]) {
    var offset = 0
    func number() -> Int? {
      let found = unsafe bytes.withUnsafeBytes { unsafe Varint.read($0, at: &offset) }
      return found.flatMap { $0 < Self.limit ? $0 : nil }
    }
    func text() -> String? {
      guard let count = number(), count <= bytes.count - offset else { return nil }
      offset += count
      return String(validating: bytes[offset - count..<offset], as: UTF8.self)
    }
    func numbers() -> [Int]? {
      guard let count = number(), count <= IndexKey.columnLimit else { return nil }
      var list: [Int] = []
      for _ in 0..<count {
        guard let one = number() else { return nil }
        list.append(one)
      }
      return list
    }
    guard let form = number(), (1...Self.form).contains(form),
      let nextTree = number(), let nextPlace = number(), let clearCount = number(),
      let count = number(), count <= bytes.count
    else { return nil }
    (self.nextTree, self.nextPlace, self.clearCount) = (nextTree, nextPlace, clearCount)
    for _ in 0..<count {
      guard let name = text(), let signature = text(), let tree = number(), let places = numbers(), let held = number(),
        let summary = form == 1 ? "" : text()
      else { return nil }
      entries.append(
        Entry(
          name: name, signature: signature, tree: tree >> 1, isReady: tree & 1 == 1, places: places,
          heldPlace: held > 0 ? held - 1 : nil, summary: summary))
    }
    guard offset == bytes.count, isSound else { return nil }
  }

  /// Whether every tree and place was given out, and each tree to one index.
  var isSound: Bool {
    Set(entries.map(\.tree)).count == entries.count
      && entries.allSatisfy { entry in
        entry.tree < nextTree && (entry.places + (entry.heldPlace.map { [$0] } ?? [])).allSatisfy { $0 < nextPlace }
      }
  }

  /// Counts that all rows were removed at once.
  mutating func countClear() { clearCount = (clearCount + 1) % Self.limit }
}
