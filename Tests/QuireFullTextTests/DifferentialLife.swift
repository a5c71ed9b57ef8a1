// Random edits of documents that are searched meanwhile.

import QuireDatabase
@testable import QuireFullText
import QuireTesting
import Testing

/// Edits documents at random, a few in a transaction, and compares searches: within the transaction, behind it, and in
/// snapshots that were taken before.
struct DifferentialLife {
  /// A snapshot, with the documents that it has.
  private struct Pin {
    let snapshot: PinnedSnapshot
    let definition: BruteForceSearch
    /// Searches with the rows that FTS5 found then.
    let known: [(text: String, rows: [RowID])]
  }

  private let trio: SearchTrio
  /// Texts of rows that come.
  private let documents: [[String]]
  private var expressions: RandomExpressions
  private var pins: [Pin] = []
  private var nextNumber = 0
  private(set) var comparison = SearchComparison()

  init(_ trio: SearchTrio, _ documents: [[String]], _ expressions: RandomExpressions) {
    (self.trio, self.documents, self.expressions) = (trio, documents, expressions)
  }

  /// Makes at least so many edits, and as many comparisons.
  mutating func run(editCount: Int) throws {
    var made = 0
    while made < editCount {
      let count = expressions.random.oneIn(20) ? 100 : 1 + expressions.random.below(8)
      try transaction(count)
      made += count
      try trio.database.read { tx in
        for _ in 0..<max(1, count / 3) { try comparison.compare(tx[.papers], trio, &expressions) }
      }
      try trio.verify()
      if expressions.random.oneIn(10) { try pin() }
      if expressions.random.oneIn(5) { try askPin() }
      if expressions.random.oneIn(40) {
        pins = []
        try trio.reopen()
      }
    }
    for _ in 0..<max(10, editCount - comparison.count) {
      try trio.database.read { tx in try comparison.compare(tx[.papers], trio, &expressions) }
    }
    try trio.verify()
  }

  // MARK: Changing

  private mutating func transaction(_ count: Int) throws {
    let fails = expressions.random.oneIn(8)
    try trio.write { tx in
      for _ in 0..<count {
        if expressions.random.oneIn(10) {
          let isUndone = expressions.random.oneIn(2)
          try trio.savepoint(tx) {
            for _ in 0..<1 + expressions.random.below(5) { try edit(tx) }
            if expressions.random.oneIn(3) { try comparison.compare(tx[.papers], trio, &expressions) }
            if isUndone { throw SearchTrio.Undone() }
          }
        } else {
          try edit(tx)
        }
        if expressions.random.oneIn(6) { try comparison.compare(tx[.papers], trio, &expressions) }
      }
      if fails { throw SearchTrio.Undone() }
    }
  }

  private mutating func edit(_ tx: WriteTransaction) throws {
    let keys = trio.papers.keys.sorted()
    guard !keys.isEmpty, !expressions.random.oneIn(8) else { return try insert(tx) }
    let key = expressions.random.pick(keys)
    guard var texts = trio.papers[key] else { return }
    let field = expressions.random.below(texts.count)
    var words = texts[field].split(separator: " ").map(String.init)
    let way = expressions.random.pick(SearchTrio.Way.allCases)
    switch expressions.random.below(200) {
    case 0:
      try trio.removeAll(tx)
      for _ in 0..<20 { try insert(tx) }
    case 1: try trio.load(tx, (0..<20).map { _ in (newKey(), expressions.random.pick(documents)) })
    case 2...4: try trio.remove(tx, (0..<10).map { _ in expressions.random.pick(keys) })
    case 5...19: try trio.remove(tx, [key])
    case 20...29: try trio.set(tx, key, expressions.random.pick(documents), by: way)
    case 30...34: try trio.set(tx, key, texts.map { _ in "" }, by: way)
    case 35...44: try trio.set(tx, key, texts.shuffled(using: &expressions.random), by: way)
    case 45...47: try trio.set(tx, key, texts, by: way)
    case 48...49: try tx[.papers].touch(key)
    case 50...79:
      texts[field] += " " + word()
      try trio.set(tx, key, texts, by: way)
    case 80...99:
      if !words.isEmpty { words.remove(at: expressions.random.below(words.count)) }
      texts[field] = words.joined(separator: " ")
      try trio.set(tx, key, texts, by: way)
    default:
      if !words.isEmpty { words[expressions.random.below(words.count)] = word() }
      texts[field] = words.joined(separator: " ")
      try trio.set(tx, key, texts, by: way)
    }
  }

  private mutating func insert(_ tx: WriteTransaction) throws {
    try trio.set(tx, newKey(), expressions.random.pick(documents))
  }

  /// A key that is gone comes back at times, as another row.
  private mutating func newKey() -> String {
    nextNumber += 1
    return expressions.random.oneIn(4) ? "k\(expressions.random.below(documents.count))" : "n\(nextNumber)"
  }

  private mutating func word() -> String {
    let text = expressions.random.pick(expressions.random.pick(documents))
    return text.split(separator: " ").randomElement(using: &expressions.random).map(String.init) ?? "new"
  }

  // MARK: Snapshots

  private mutating func pin() throws {
    if pins.count > 4 { pins.remove(at: expressions.random.below(pins.count)) }
    let known = try (0..<10).map { _ in
      let text = expressions.next()
      return (text, try trio.fts5.rowIDs(match: text))
    }
    pins.append(Pin(snapshot: try trio.database.pin(), definition: trio.definition, known: known))
  }

  private mutating func askPin() throws {
    guard !pins.isEmpty else { return }
    let pin = expressions.random.pick(pins)
    try pin.snapshot.read { tx in
      for (text, rows) in pin.known {
        try comparison.compare(tx[.papers], text, rows, pin.definition, &expressions.random)
      }
      for _ in 0..<5 {
        let text = expressions.next()
        let rows = try pin.definition.rowIDs(SearchExpression(text, fields: pin.definition.fields))
        try comparison.compare(tx[.papers], text, rows, pin.definition, &expressions.random)
      }
    }
  }
}
