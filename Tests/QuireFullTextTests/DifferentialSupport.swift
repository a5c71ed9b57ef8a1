// A database whose rows are searched beside FTS5 and the definition.

import QuireDatabase
import QuireFullText
import QuireTesting
import QuireText
import Testing

/// A row of several texts.
struct Paper: SynthesizedCodable, Sendable, Equatable { var texts: [String] }

extension RowCollection where Object == Paper, Metadata == NoMetadata {
  static var papers: Self { .init("papers") }
}

typealias PaperText = FullText<Paper, NoMetadata>

extension FullText where Object == Paper, Metadata == NoMetadata {
  /// The texts of papers, as fields with these names.
  static func papers(
    _ fields: [String], tokenizer: some Tokenizer = .unicode61(), detail: PostingDetail = .positions
  ) -> Self {
    FullText("papers.text", over: .papers, version: "1", tokenizer: tokenizer, detail: detail) {
      for (number, name) in fields.enumerated() { SearchField(name) { $0.texts[number] } }
    }
  }
}

/// The same documents three times: in a database, in FTS5, and as the definition has them.
///
/// Changes are made to all three, in a transaction of the database’s; FTS5 is in one of its own then, so that both can
/// be undone.
final class SearchTrio {
  struct Undone: Error {}

  let folder: TestFolder
  private(set) var database: Database
  let text: PaperText
  let fts5: FTS5Oracle
  /// What the last commit has, or the transaction that is open.
  private(set) var definition: BruteForceSearch
  private(set) var papers: [String: [String]] = [:]
  private(set) var rowIDs: [String: RowID] = [:]

  init(_ text: PaperText, fields: [String], tokenizer: any Tokenizer, fts5Tokenizer: String = "unicode61") throws {
    self.text = text
    folder = try TestFolder()
    database = try folder.open()
    fts5 = try FTS5Oracle(columns: fields, tokenizer: fts5Tokenizer, own: tokenizer)
    definition = BruteForceSearch(fields: fields, tokenizer: tokenizer)
  }

  /// Builds the full text, or opens it.
  func register() throws { try database.register(text) }

  func reopen() throws {
    try database.close()
    database = try folder.open()
    try register()
  }

  func verify() throws { try database.read { tx in try tx.access(to: text).verify() } }

  // MARK: Changing

  /// Runs `body` in a transaction of each; if it throws `Undone`, nothing of it stays.
  func write(_ body: (WriteTransaction) throws -> Void) throws {
    let before = (definition, papers, rowIDs)
    try fts5.execute("begin")
    do {
      try database.write { tx in try body(tx) }
      try fts5.execute("commit")
    } catch is Undone {
      try fts5.execute("rollback")
      (definition, papers, rowIDs) = before
    }
  }

  /// Runs `body` in a savepoint of each; if it throws `Undone`, nothing of it stays.
  func savepoint(_ tx: WriteTransaction, _ body: () throws -> Void) throws {
    let before = (definition, papers, rowIDs)
    try fts5.execute("savepoint s")
    do {
      try tx.savepoint(body)
      try fts5.execute("release s")
    } catch is Undone {
      try fts5.execute("rollback to s; release s")
      (definition, papers, rowIDs) = before
    }
  }

  /// How a row that is there gets other texts.
  enum Way: CaseIterable { case set, replace, update }

  func set(_ tx: WriteTransaction, _ key: String, _ texts: [String], by way: Way = .set) throws {
    switch way {
    case .replace where papers[key] != nil: try tx[.papers].replace(Paper(texts: texts), for: key)
    case .update where papers[key] != nil: try tx[.papers].update(key) { $0.texts = texts }
    default: try tx[.papers].set(Paper(texts: texts), for: key)
    }
    try note(tx, key, texts)
  }

  /// Stores many rows at once.
  func load(_ tx: WriteTransaction, _ new: [(key: String, texts: [String])]) throws {
    try tx[.papers].load(new.map { ($0.key, Paper(texts: $0.texts)) })
    for (key, texts) in Dictionary(new.map { ($0.key, $0.texts) }, uniquingKeysWith: { $1 }) {
      try note(tx, key, texts)
    }
  }

  private func note(_ tx: WriteTransaction, _ key: String, _ texts: [String]) throws {
    let row = try #require(try tx[.papers].rowID(key))
    try fts5.set(row, texts)
    try definition.set(row, texts)
    papers[key] = texts
    rowIDs[key] = row
  }

  func remove(_ tx: WriteTransaction, _ keys: [String]) throws {
    if keys.count == 1 { try tx[.papers].remove(keys[0]) } else { try tx[.papers].remove(keys) }
    for key in keys {
      papers[key] = nil
      guard let row = rowIDs.removeValue(forKey: key) else { continue }
      try fts5.remove(row)
      definition.remove(row)
    }
  }

  func removeAll(_ tx: WriteTransaction) throws {
    try tx[.papers].removeAll()
    try fts5.removeAll()
    definition.removeAll()
    papers = [:]
    rowIDs = [:]
  }
}
