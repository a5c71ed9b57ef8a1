// quiredb collections, count, get, scan, export: the rows of a database, without the types of the app's.

import ArgumentParser
import QuireDatabase

/// Opens the database for reading; what goes wrong becomes one line and exit code 1.
func reading(_ database: DatabaseArgument, _ body: (ReadTransaction) throws -> Void) throws {
  do {
    let options = Database.Options(maintainsWhenIdle: false, createsIfMissing: false, isReadOnly: true)
    let db = try Database(at: database.file, options: options)
    try db.read(body)
    try db.close()
  } catch let error as DatabaseError {
    complain(error.description)
    throw ExitCode.failure
  }
}

/// Which rows of a collection are meant.
struct RowRange: ParsableArguments {
  @Option(help: "Only keys that begin with this.") var prefix: String?
  @Option(help: "Only keys from this one on.") var from: String?
  @Option(name: .customLong("up-to"), help: "Only keys in front of this one.") var upTo: String?

  func validate() throws {
    if prefix != nil, from != nil || upTo != nil {
      throw ValidationError("--prefix is a range by itself: leave out --from and --up-to.")
    }
  }

  /// These rows of a collection, which must be there.
  func rows(of collection: String, _ tx: ReadTransaction) throws -> ValueRows {
    guard tx.collections.contains(collection) else {
      complain("there is no collection “\(collection)”; `quiredb collections` lists them.")
      throw ExitCode.failure
    }
    let all = tx.values(in: collection)
    if let prefix { return all.rows(prefix: prefix) }
    return from == nil && upTo == nil ? all : all.rows(from: from, upTo: upTo)
  }
}

/// Lists the collections of a database.
struct Collections: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Lists the collections of a database with the numbers of their rows. Changes nothing.")

  @OptionGroup var database: DatabaseArgument
  @Flag(help: "One JSON record per line.") var json = false

  func run() throws {
    try reading(database) { tx in
      let names = tx.collections
      if names.isEmpty, !json { print("no collections") }
      for name in names {
        let rows = tx.values(in: name)
        let count = try rows.count()
        let coder = rows.first { _ in true }?.object.coder
        let record: RowValue = [
          "collection": .text(name), "rows": .integer(Int128(count)), "coder": coder.map { .text($0.rawValue) } ?? nil,
        ]
        print(json ? record.json : "\(aligned(count, 12))  \(name)\(coder.map { "  (\($0.rawValue))" } ?? "")")
      }
    }
  }
}

/// Counts rows.
struct Count: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Counts the rows of a collection, or of a range of its keys, without reading them. Changes nothing.")

  @OptionGroup var database: DatabaseArgument
  @Argument(help: "The collection.") var collection: String
  @OptionGroup var range: RowRange

  func run() throws {
    try reading(database) { tx in print(try range.rows(of: collection, tx).count()) }
  }
}

/// Shows one row.
struct Get: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Shows the row under a key. Exits with 1 if there is none. Changes nothing.")

  @OptionGroup var database: DatabaseArgument
  @Argument(help: "The collection.") var collection: String
  @Argument(help: "The key.") var key: String
  @Flag(help: "One JSON record, as `export` writes it.") var json = false

  func run() throws {
    try reading(database) { tx in
      guard let row = try tx.values(in: collection).row(key) else {
        complain("there is no row “\(key)” in “\(collection)”.")
        throw ExitCode.failure
      }
      if json { return print(ExportedRow.line(row, of: collection)) }
      print("row      \(row.rowID.rawValue)")
      Self.show("object  ", row.object)
      if let metadata = row.metadata { Self.show("metadata", metadata) }
    }
  }

  private static func show(_ title: String, _ half: StoredHalf) {
    let version = half.version == 0 ? "" : ", written after \(half.version) upgrades"
    if case .encrypted(let key) = half.content { return print("\(title) is encrypted with key \(key)") }
    let coder = half.coder.map { " (\($0.rawValue)\(version))" } ?? ""
    print("\(title) \(ExportedRow.value(half).json)\(coder)")
  }
}

/// Shows rows in the order of their keys.
struct Scan: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Shows the rows of a collection in the order of their keys. Changes nothing.")

  @OptionGroup var database: DatabaseArgument
  @Argument(help: "The collection.") var collection: String
  @OptionGroup var range: RowRange
  @Flag(help: "From the last key to the first.") var reverse = false
  @Option(help: "At most so many rows.") var limit = 100
  @Flag(help: "Keys alone.") var keys = false
  @Flag(help: "One JSON record per line, as `export` writes it.") var json = false

  func run() throws {
    try reading(database) { tx in
      let rows = try range.rows(of: collection, tx)
      for row in (reverse ? rows.reversed() : rows).prefix(max(limit, 0)) {
        if json {
          print(ExportedRow.line(row, of: collection))
        } else {
          print(keys ? row.key : "\(row.key)\t\(ExportedRow.value(row.object).json)")
        }
      }
    }
  }
}

/// Writes rows as JSON, one per line.
struct Export: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Writes rows as JSON, one per line, by collection and key. Changes nothing.",
    discussion: """
      A line is {"collection": …, "key": …, "object": …} with "metadata" where there are some. What JSON lacks is a \
      record of one field: {"$data": "…"} in Base64, {"$int": "…"}, {"$float": …}, {"$double": "nan"}, {"$uuid": "…"}, \
      {"$date": seconds since 2001}, {"$record": …}; values of custom coders are {"$data": …}. "coder" and "version" \
      tell how a row is stored where that is not the binary form without upgrades, "encrypted with key" what nobody \
      without the key can read.
      """)

  @OptionGroup var database: DatabaseArgument
  @Argument(help: "The collections; all if left out.") var collections: [String] = []

  func run() throws {
    try reading(database) { tx in
      var output = StandardOutput()
      for name in collections.isEmpty ? tx.collections : collections {
        for row in try RowRange.parse([]).rows(of: name, tx) { output.append(ExportedRow.line(row, of: name)) }
      }
      output.flush()
      // A loop cannot throw: an error in it is thrown by the next call.
      _ = try tx.values(in: "").count()
    }
  }
}
