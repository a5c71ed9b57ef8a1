// Which tables of a file of YapDatabase's are not YapDatabase's.

import QuireDatabase

/// The tables of a file of YapDatabase's that neither YapDatabase nor an extension of its has made.
struct YapDatabaseTables {
  /// The extensions that the file names.
  private let extensions: Set<ByteString>

  init(extensions: Set<ByteString>) { self.extensions = extensions }

  /// Tables of YapDatabase's own, of this version and of those before.
  private static let own: Set<String> = ["database2", "yap2", "database", "yap"]

  /// What names of extensions' tables begin with, and what they end with behind the name of the extension. All of these
  /// are made anew where the app registers the extension. Full texts and boxes are virtual tables, with parts.
  private static let forms: [(prefix: String, suffixes: [String])] = [
    ("view_", ["_map", "_page", "_key", "_snippet"]), ("secondaryIndex_", [""]),
    ("fts_", ["", "_content", "_segments", "_segdir", "_docsize", "_stat", "_data", "_idx", "_config"]),
    ("rTreeIndex_", ["", "_node", "_rowid", "_parent"]),
  ]

  /// What names of tables of edges begin with. They are read whether the file names the extension or not.
  static let edgesPrefix = "relationship_"

  /// Whether a table that is called as those of edges are has their columns.
  static func hasEdges(_ columns: [SQLiteDatabase.Column]) -> Bool {
    Set(columns.map { $0.name.lowercased() }).isSuperset(of: ["rowid", "name", "src", "dst", "rules", "manual"])
  }

  /// The tables that are neither read nor made anew, each with what reads it. Counts their rows.
  ///
  /// - Parameter edges: the tables of edges, which are read.
  func foreign(
    in database: SQLiteDatabase, at path: String, edges: [String]
  ) throws(ImportError) -> [LeftOut] {
    var found: [LeftOut] = []
    for table in try database.tables() where !isKnown(table.name) && !edges.contains(table.name) {
      guard table.type == "table" else {
        let what = table.type == "shadow" ? "part of a virtual table" : table.type
        found.append(LeftOut(name: table.name, reason: "it is a \(what), and none of YapDatabase's"))
        continue
      }
      let call = "quire-import sqlite \(Self.word(path)) NEWFILE \(Self.word("--only=\(table.name)"))"
      found.append(
        LeftOut(
          name: table.name,
          reason: "it is none of YapDatabase's; its \(Self.rows(of: table.name, database)) over by `\(call)`"))
    }
    return found.sorted { $0.name.utf8.lexicographicallyPrecedes($1.name.utf8) }
  }

  private func isKnown(_ table: String) -> Bool {
    if Self.own.contains(table) { return true }
    return Self.forms.contains { prefix, suffixes in
      guard table.hasPrefix(prefix) else { return false }
      let rest = table.dropFirst(prefix.count)
      return suffixes.contains { suffix in
        rest.hasSuffix(suffix) && extensions.contains(ByteString(String(rest.dropLast(suffix.count))))
      }
    }
  }

  /// How many rows there are that come, as far as SQLite tells.
  private static func rows(of table: String, _ database: SQLiteDatabase) -> String {
    do throws(ImportError) {
      let counting = try database.statement("SELECT count(*) FROM main.\(SQLiteDatabase.quoted(table))")
      guard try counting.step(table) else { return "rows come" }
      return counting.integer(0) == 1 ? "1 row comes" : "\(counting.integer(0)) rows come"
    } catch {
      return "rows, which SQLite cannot count, come"
    }
  }

  /// A word of a command line, in quotes if a shell would make something else of it.
  private static func word(_ text: String) -> String {
    let isPlain = text.utf8.allSatisfy { byte in
      let isLetter = (0x41...0x5a).contains(byte & 0xdf) && byte < 0x80
      return isLetter || (0x30...0x39).contains(byte) || "_-./=".utf8.contains(byte)
    }
    if isPlain, !text.isEmpty { return text }
    return "'" + text.split(separator: "'", omittingEmptySubsequences: false).joined(separator: #"'\''"#) + "'"
  }
}
