// Full text search under its original names.

internal import Foundation
internal import Quire

/// Fills in the texts of a row’s columns, by their names, into a dictionary; a row for which it stays empty is not
/// found. New type: the fields of a `FullText`.
public typealias YapDatabaseFullTextSearchHandler = YapDatabaseSecondaryIndexHandler

/// Finds rows by the words of texts that a block has taken from them. New type: `FullText`.
public final class YapDatabaseFullTextSearch: YapDatabaseExtension, @unchecked Sendable {
  // Sendable: safe because all but the extension of the new API are constants, and that is guarded.
  /// SQLite's third version, under which `iterateBm25Ordered…` are refused. New call: none.
  public static let FTS3Version = "fts3"
  /// SQLite's fourth version, the default; it means the same. New call: none.
  public static let FTS4Version = "fts4"
  /// SQLite's fifth version. New call: none.
  public static let FTS5Version = "fts5"

  /// The names of the columns, in their order. New call: `FullText.fieldNames`.
  public let columnNames: [String]
  /// What chooses the tokenizer. New call: `tokenizer:` of `FullText`.
  public let options: [String: String]?
  /// The version of SQLite's module, by which tokenizers and calls are chosen. New call: none.
  public let ftsVersion: String
  /// The version that it was made with: with another one, or with other columns, it is built anew.
  public let versionTag: String?
  private let handler: YapDatabaseFullTextSearchHandler
  private let site: CallSite
  private let made = Guarded<FamilyText?>(nil)

  /// Describes a full text. New type: `FullText`.
  ///
  /// - Parameters:
  ///   - columnNames: 1 to 64 names, which differ not in case alone.
  ///   - options: `tokenize` is `simple`, `unicode61` with `remove_diacritics`, `tokenchars` and `separators`, `porter`
  ///     or `trigram`; `prefix` and the like have no meaning, and others are refused when it is registered.
  ///   - ftsVersion: `fts3`, `fts4` or `fts5`; nil for `fts4`.
  ///   - handler: gives the texts of a row.
  ///   - versionTag: another one has everything built anew.
  ///   - fileID: who declares it, for messages.
  ///   - line: as well.
  public init(
    columnNames: [String], options: [String: String]? = nil, handler: YapDatabaseFullTextSearchHandler,
    ftsVersion: String? = nil, versionTag: String? = nil, fileID: StaticString = #fileID, line: UInt = #line
  ) {
    self.columnNames = columnNames
    self.options = options
    self.handler = handler
    self.ftsVersion = ftsVersion ?? Self.FTS4Version
    self.versionTag = versionTag
    site = CallSite(fileID: fileID, line: line)
  }

  override func isSame(as first: YapDatabaseExtension) -> Bool {
    guard let first = first as? YapDatabaseFullTextSearch else { return false }
    return first.versionTag == versionTag && first.site.description == site.description
      && first.columnNames == columnNames && first.options == options && first.ftsVersion == ftsVersion
  }

  /// The full text of the new API; nil before it is registered.
  var value: FamilyText? { made.withLock { $0 } }

  override func makeExtension(named name: String, in database: YapDatabase) throws -> any DatabaseExtension {
    let (handler, columns) = (handler, columnNames)
    let tokenizer = try FullTextOptions(options ?? [:], ftsVersion, name).tokenizer
    let value = FamilyText(
      name, over: .all, version: "\(versionTag ?? "")/\(ftsVersion)", halves: handler.halves, tokenizer: tokenizer,
      fields: columns
    ) { [weak database] change in
      guard let database else { throw DatabaseError.databaseGone() }
      guard let given = try handler.dictionary(of: change, database) else { return nil }
      return columns.map { column in
        guard let value = given[column], !(value is NSNull) else { return nil }
        if let text = value as? String { return text }
        YapDatabase.log(
          .warning,
          """
          The handler of the full text “\(name)” has set the column “\(column)” to a value of type \
          \(type(of: value)), which is left out. Set a string. \
          [collection “\(change.collection)”, key “\(change.key)”]
          """)
        return nil
      }
    }
    made.withLock { $0 = value }
    return value
  }

  override func makeTransaction(_ transaction: YapDatabaseReadTransaction) throws -> YapDatabaseExtensionTransaction {
    guard let value else { throw notRegistered() }
    return try YapDatabaseFullTextSearchTransaction(value, ranks: ftsVersion == Self.FTS5Version, transaction)
  }
}

/// What the options of a full text say.
struct FullTextOptions {
  let tokenizer: TextTokenizer

  /// Options of how SQLite stores a full text.
  private static let withoutMeaning: Set = [
    "prefix", "detail", "columnsize", "matchinfo", "order", "compress", "uncompress",
  ]

  /// - Throws: `invalidOption` for a version, an option or a tokenizer that is not known.
  init(_ options: [String: String], _ version: String, _ name: String) throws {
    func refused(_ what: String, _ remedy: String) -> DatabaseError {
      DatabaseError(.invalidOption, "The full text “\(name)” cannot have \(what). \(remedy)")
    }
    guard ["fts3", "fts4", "fts5"].contains(version) else {
      throw refused("the version “\(version)”", "Use fts3, fts4 or fts5.")
    }
    for option in options.keys.sorted() where option != "tokenize" && !Self.withoutMeaning.contains(option) {
      throw refused("the option “\(option)”", "Leave it out.")
    }
    let text = options["tokenize"] ?? (version == "fts5" ? "unicode61" : "simple")
    var words = text.split { " \"'=".contains($0) }.map(String.init)
    let kind = words.isEmpty ? "" : words.removeFirst()
    let remedy = "Use simple, porter, trigram, or unicode61 with remove_diacritics, tokenchars and separators."
    switch kind {
    case "simple", "ascii": tokenizer = .unicode61(removeDiacritics: .none)
    case "porter": tokenizer = .words.stemmed(.english)
    case "trigram": tokenizer = .trigrams
    case "unicode61":
      var (removal, tokens, separators) = (DiacriticRemoval.simple, "", "")
      guard words.count.isMultiple(of: 2) else { throw refused("the tokenizer “\(text)”", remedy) }
      for place in stride(from: 0, to: words.count, by: 2) {
        let value = words[place + 1]
        switch words[place] {
        case "remove_diacritics":
          guard let known = Int(value).flatMap({ DiacriticRemoval(rawValue: $0) }) else {
            throw refused("remove_diacritics “\(value)”", "Use 0, 1 or 2.")
          }
          removal = known
        case "tokenchars": tokens = value
        case "separators": separators = value
        default: throw refused("the tokenizer “\(text)”", remedy)
        }
      }
      tokenizer = .unicode61(removeDiacritics: removal, tokenCharacters: tokens, separators: separators)
    default: throw refused("the tokenizer “\(text)”", remedy)
    }
  }
}
