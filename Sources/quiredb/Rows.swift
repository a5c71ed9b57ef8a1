// quiredb collections, count, get, scan, export: the rows of a database, without the types of the app's.

import ArgumentParser
import QuireDatabase

/// The rows of a collection, which must be there.
func values(in collection: String, _ tx: ReadTransaction) throws -> ValueRows {
  guard tx.collections.contains(where: { $0.utf8.elementsEqual(collection.utf8) }) else {
    complain("there is no collection “\(shown(collection))”; `quiredb collections` lists them.")
    throw ExitCode.failure
  }
  return tx.values(in: collection)
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
    let all = try values(in: collection, tx)
    if let prefix { return all.rows(prefix: prefix) }
    return from == nil && upTo == nil ? all : all.rows(from: from, upTo: upTo)
  }
}

/// Lists the collections of a database.
struct Collections: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Lists the collections of a database with the numbers of their rows. Changes nothing.")

  @OptionGroup var database: LiveArgument
  @Flag(help: "One JSON record per line.") var json = false

  func run() throws {
    try reading(database) { tx in
      var output = StandardOutput()
      defer { output.flush() }
      let names = tx.collections
      if names.isEmpty, !json { output.append("no collections") }
      for name in names {
        let rows = tx.values(in: name)
        let count = try rows.count()
        let record: RowValue = [
          "collection": .text(name), "rows": .integer(Int128(count)),
          "coder": rows.coder.map { .text($0.rawValue) } ?? nil,
        ]
        let coder = rows.coder.map { "  (\($0.rawValue))" } ?? ""
        output.append(json ? record.json : "\(aligned(count, 12))  \(shown(name))\(coder)")
      }
    }
  }
}

/// Counts rows.
struct Count: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Counts the rows of a collection, or of a range of its keys, without reading them. Changes nothing.")

  @OptionGroup var database: LiveArgument
  @Argument(help: "The collection.") var collection: String
  @OptionGroup var range: RowRange
  @Flag(help: "One JSON record.") var json = false

  func run() throws {
    try reading(database) { tx in
      let count = try range.rows(of: collection, tx).count()
      let record: RowValue = ["collection": .text(collection), "rows": .integer(Int128(count))]
      StandardOutput.write(json ? record.json : "\(count)")
    }
  }
}

/// Shows one row.
struct Get: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Shows the row under a key. Exits with 1 if there is none. Changes nothing.")

  @OptionGroup var database: LiveArgument
  @Argument(help: "The collection.") var collection: String
  @Argument(help: "The key.") var key: String
  @Flag(help: "One JSON record, as `export` writes it.") var json = false

  func run() throws {
    try reading(database) { tx in
      guard let row = try values(in: collection, tx).row(key) else {
        complain("there is no row “\(shown(key))” in “\(shown(collection))”.")
        throw ExitCode.failure
      }
      if json {
        let needed = tx.values(in: collection).withNeededBytes(row)
        return StandardOutput.write(RowLine(needed, of: collection).json)
      }
      let lines = ["row      \(row.rowID.rawValue)", Self.line("object  ", row.object)]
      StandardOutput.write((lines + (row.metadata.map { [Self.line("metadata", $0)] } ?? [])).joined(separator: "\n"))
    }
  }

  private static func line(_ title: String, _ half: StoredHalf) -> String {
    let version = half.version == 0 ? "" : ", written after \(half.version) upgrades"
    if case .encrypted(let key) = half.content { return "\(title) is encrypted with key \(key)" }
    let coder = half.coder.map { " (\($0.rawValue)\(version))" } ?? ""
    return "\(title) \(visible(RowLine.shown(half).json))\(coder)"
  }
}

/// Shows rows in the order of their keys.
struct Scan: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Shows the rows of a collection in the order of their keys. Changes nothing.")

  @OptionGroup var database: LiveArgument
  @Argument(help: "The collection.") var collection: String
  @OptionGroup var range: RowRange
  @Flag(help: "From the last key to the first.") var reverse = false
  @Option(help: "At most so many rows.") var limit = 100
  @Flag(help: "Keys alone.") var keys = false
  @Flag(help: "One JSON record per line, as `export` writes it.") var json = false

  func validate() throws {
    if limit < 0 { throw ValidationError("--limit must not be negative.") }
    if keys, json { throw ValidationError("--keys and --json are two forms: choose one.") }
  }

  func run() throws {
    try reading(database) { tx in
      let rows = try range.rows(of: collection, tx)
      var output = StandardOutput()
      defer { output.flush() }
      for row in (reverse ? rows.reversed() : rows).prefix(limit) {
        if json {
          output.append(RowLine(rows.withNeededBytes(row), of: collection).json)
        } else {
          let key = shown(row.key)
          output.append(keys ? key : "\(key)\t\(visible(RowLine.shown(row.object).json))")
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
      A line is {"collection": …, "key": …, "object": …} with "metadata" where there are some. A line without a key, \
      in front of the rows of a collection, says by which coders they are written, and the names of their fields, \
      and the last line is {"rows": …}, their number, without which `import` takes an export for cut off: it makes \
      the same rows of all lines, to the byte. What JSON lacks is a record of one field: {"$data": \
      "…"} in Base64, {"$int": "…"}, {"$float": …}, {"$double": "nan"}, {"$uuid": "…"}, {"$date": seconds since \
      2001}, {"$record": …}, which has a list of names and values in turn where a name is there twice; values of \
      custom coders are {"$data": …}. "coder" and "version" tell how a row is stored where that is not the binary \
      form without upgrades, "bytes" as which bytes where the value alone would make others, "encrypted with key" \
      what nobody without the key can read.
      """)

  @OptionGroup var database: LiveArgument
  @Argument(help: "The collections; all if left out.") var collections: [String] = []
  @Flag(help: "No lines but those of rows: an import gives fields numbers of its own then.") var rowsOnly = false
  @Flag(help: "Shows on standard error how far the work has come.") var progress = false

  func validate() throws {
    var names: Set<ByteString> = []
    for name in collections where !names.insert(ByteString(name)).inserted {
      throw ValidationError("“\(shown(name))” is named twice, and an import refuses rows that are there twice.")
    }
  }

  func run() throws {
    try reading(database) { tx, confirm in
      // All are there before the first line is written.
      let all =
        collections.isEmpty
        ? tx.collections.map { ($0, tx.values(in: $0)) } : try collections.map { ($0, try values(in: $0, tx)) }
      let reporter = ProgressReporter(isShown: progress)
      var count = 0
      var output = StandardOutput()
      defer { output.flush() }
      for (name, rows) in all {
        if !rowsOnly { output.append(RowLine.notes(collection: name, rows.notes).json) }
        for row in rows {
          output.append(RowLine(rows.withNeededBytes(row), of: name).json)
          count += 1
          if count % 10_000 == 0 { reporter.show("\(count) rows") }
        }
        // A loop cannot throw: an error in it is thrown by the next call.
        _ = try rows.count()
      }
      try confirm()
      if !rowsOnly { output.append(RowLine.end(rows: count).json) }
    }
  }
}
