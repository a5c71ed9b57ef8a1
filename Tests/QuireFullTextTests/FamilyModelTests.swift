// Full texts of many collections beside the definition: changed at random, undone, reopened, damaged.

import QuireDatabase
@testable import QuireFullText
import QuireTesting
import QuireText
import Testing

@Suite("Full texts of many collections, beside the definition")
struct FamilyModelTests {
  private struct Undone: Error {}

  private static let fields = ["title", "body"]
  private static let names = ["songs", "notes", "drafts", "letters"]

  /// The titles and bodies of all collections but the drafts; a row without either is not to be found.
  private static func text(isPersistent: Bool = true) -> FamilyText {
    FamilyText(
      "words", over: .except(["drafts"]), isPersistent: isPersistent, tokenizer: .words.stemmed(.english),
      fields: fields
    ) { change in
      guard let object = try change.object(in: rows(change.collection)) else { return nil }
      let parts = texts(of: object)
      return parts.allSatisfy { $0 == nil } ? nil : parts
    }
  }

  private static func rows(_ name: String) -> RowCollection<String, NoMetadata> { .init(name) }

  /// What stands in front of the first bar, and behind it.
  private static func texts(of object: String) -> [String?] {
    let parts = object.split(separator: "|", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
    return (0..<2).map { $0 < parts.count && !parts[$0].isEmpty ? parts[$0] : nil }
  }

  /// A database with such a full text, and the same rows as the definition has them.
  private final class Pair {
    let folder: TestFolder
    var database: Database
    let text: FamilyText
    var definition = BruteForceSearch(fields: FamilyModelTests.fields, tokenizer: .words.stemmed(.english))
    var objects: [RowKey: RowID] = [:]
    var random: SeededRandom

    init(isPersistent: Bool, seed: UInt64) throws {
      folder = try TestFolder()
      database = try folder.open()
      text = FamilyModelTests.text(isPersistent: isPersistent)
      random = SeededRandom(seed: seed)
    }

    func reopen() throws {
      try database.close()
      database = try folder.open()
      try database.register(text)
    }

    private func object() -> String {
      func words() -> String {
        (0..<random.below(6)).map { _ in "word\(random.below(30))" + (random.oneIn(3) ? "s" : "") }
          .joined(separator: random.oneIn(4) ? "_" : " ")
      }
      return random.oneIn(4) ? words() : words() + "|" + words()
    }

    func change(_ tx: WriteTransaction) throws {
      let key = RowKey(random.pick(FamilyModelTests.names), "k\(random.below(40))")
      let rows = tx[FamilyModelTests.rows(key.collection)]
      switch random.below(12) {
      case 0: try clear(tx, key.collection)
      case 1...3:
        try rows.remove(key.key)
        if let row = objects.removeValue(forKey: key) { definition.remove(row) }
      default:
        let object = object()
        try rows.set(object, for: key.key)
        let row = try #require(try rows.rowID(key.key))
        objects[key] = row
        let texts = FamilyModelTests.texts(of: object)
        if key.collection == "drafts" || texts.allSatisfy({ $0 == nil }) {
          definition.remove(row)
        } else {
          try definition.set(row, lists: texts.map { $0.map { [$0] } ?? [] })
        }
      }
    }

    private func clear(_ tx: WriteTransaction, _ collection: String) throws {
      try tx[FamilyModelTests.rows(collection)].removeAll()
      for (key, row) in objects where key.collection == collection {
        definition.remove(row)
        objects[key] = nil
      }
    }

    /// Runs `body`; if it throws `Undone`, the definition is what it was.
    func undoing(_ body: () throws -> Void) throws {
      let before = (definition, objects)
      do { try body() } catch is Undone { (definition, objects) = before }
    }

    func compare(_ reader: FamilyTextReader) throws {
      for text in searches() {
        let expression = try SearchExpression(text, fields: FamilyModelTests.fields)
        let expected = try definition.ranked(expression, weights: [2, 1])
        let rows = expected.map(\.row).sorted()
        #expect(try reader.rowIDs(matching: expression) == rows, "\(text)")
        #expect(try reader.count(matching: expression) == rows.count, "\(text)")
        let some = definition.rows.sorted().filter { _ in random.oneIn(2) }
        #expect(try reader.rowIDs(matching: expression, among: some) == some.filter(Set(rows).contains), "\(text)")
        let scores = try reader.scores(matching: expression, weights: [2], limit: 5)
        #expect(scores.count == min(5, expected.count), "\(text)")
        for (ours, theirs) in zip(scores, expected) { #expect(abs(ours.score - theirs.score) < 1e-9, "\(text)") }
      }
    }

    private func searches() -> [String] {
      func word() -> String { "word\(random.below(30))" }
      return [
        word(), "\(word()) OR \(word())", "title:\(word())", "\(word())s \(word())", "* NOT \(word())",
        "\"\(word()) \(word())\"", "word1*",
      ]
    }
  }

  @Test(
    "Changes, savepoints and transactions that are undone, and files that are reopened",
    .enabled(if: TestSize.hasSlowTests, "slow"), arguments: [true, false],
    [UInt64](1...3))
  func model(isPersistent: Bool, seed: UInt64) throws {
    let pair = try Pair(isPersistent: isPersistent, seed: seed)
    // Some rows are there before, so that the first of it is built.
    try pair.database.write { tx in for _ in 0..<60 { try pair.change(tx) } }
    try pair.database.register(pair.text)
    for round in 0..<TestSize.trials(60, divisor: 6) {
      try pair.undoing {
        try pair.database.write { tx in
          for _ in 0..<pair.random.below(5) {
            try pair.undoing {
              try tx.savepoint {
                for _ in 0..<pair.random.below(6) { try pair.change(tx) }
                if pair.random.oneIn(2) { try pair.compare(try tx.access(to: pair.text).reader) }
                if pair.random.oneIn(3) { throw Undone() }
              }
            }
          }
          try pair.compare(try tx.access(to: pair.text).reader)
          if pair.random.oneIn(4) { throw Undone() }
        }
      }
      if round % 8 == 7 { try pair.reopen() }
      try pair.database.read { tx in
        let reader = try tx.access(to: pair.text)
        try pair.compare(reader)
        try reader.verify()
      }
    }
  }

  @Test("A full text that is stored is not built again, and one that is not stored is")
  func reopening() throws {
    for isPersistent in [true, false] {
      let pair = try Pair(isPersistent: isPersistent, seed: 9)
      try pair.database.register(pair.text)
      try pair.database.write { tx in for _ in 0..<60 { try pair.change(tx) } }
      try pair.reopen()
      var texts = 0
      try pair.database.close()
      pair.database = try pair.folder.open()
      try pair.database.register(pair.text) { progress in texts = max(texts, progress.total) }
      #expect(isPersistent == (texts == 0), "\(texts)")
      try pair.database.read { tx in try pair.compare(tx.access(to: pair.text)) }
    }
  }

  @Test("What is not as the texts are is told", arguments: ["texts", "blocks", "recent", "rows", "lengths"])
  func damage(name: String) throws {
    let pair = try Pair(isPersistent: true, seed: 5)
    try pair.database.write { tx in for _ in 0..<40 { try pair.change(tx) } }
    try pair.database.register(pair.text)
    for _ in 0..<20 { try pair.database.write { tx in try pair.change(tx) } }
    for _ in 0..<20 {
      do {
        try pair.database.write { tx in
          let writer = try tx.access(to: pair.text)
          try writer.reader.verify()
          let isNumbered = name == "texts" || name == "rows"
          let isTaken =
            isNumbered
            ? try take(try writer.store.tree(name, of: RowID.self), &pair.random)
            : try take(try writer.store.tree(name, of: [UInt8].self), &pair.random)
          #expect(!isTaken || fullTextError { try writer.reader.verify() } != nil)
          throw Undone()
        }
      } catch is Undone {}
    }
    try pair.database.read { tx in try tx.access(to: pair.text).verify() }
  }

  /// Takes an entry out of a tree; false if there is none.
  private func take<Key>(_ tree: ExtensionTree<Key>, _ random: inout SeededRandom) throws -> Bool {
    guard try tree.count > 0, let entry = try tree.entry(at: random.below(tree.count)) else { return false }
    try tree.remove(entry.key)
    return true
  }

  @Test("Texts of a row that is gone, and of a collection that is not searched, are told")
  func strayTexts() throws {
    let pair = try Pair(isPersistent: true, seed: 6)
    try pair.database.register(pair.text)
    try pair.database.write { tx in
      try tx[Self.rows("drafts")].set("night", for: "a")
      let row = try #require(try tx[Self.rows("drafts")].rowID("a"))
      let writer = try tx.access(to: pair.text)
      for stray in [row, RowID(999)] {
        let tree = try writer.store.tree("texts", of: RowID.self)
        try tree.put(FamilyTexts.bytes(["night", nil]), for: stray)
        let error = fullTextError { try writer.reader.verify() }
        #expect(error?.description.contains("of a row that is gone, or of another collection") == true)
        try tree.remove(stray)
      }
      try writer.reader.verify()
    }
  }
}
