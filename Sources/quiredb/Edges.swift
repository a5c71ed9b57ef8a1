// quiredb edges: what is stored of relationships.

import ArgumentParser
import QuireDatabase
import QuireRelationships

/// Lists relationships, or edges of one.
struct Edges: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Lists the relationships of a database, or edges of one. Changes nothing.",
    discussion: """
      What is shown is what is stored: no closure of the app's is needed. --from and --to take two words each, the \
      collection of a row and its key. Of a relationship that is out of date, rows that have gone are shown by their \
      numbers.
      """)

  @OptionGroup var database: LiveArgument
  @Argument(help: "The relationship; all if left out, with the names of their edges.") var relationship: String?
  @Option(help: "Only edges of this name.") var edge: String?
  @Option(parsing: .upToNextOption, help: "Only edges that begin at the row of a collection and a key.")
  var from: [String] = []
  @Option(parsing: .upToNextOption, help: "Only edges that lead to the row of a collection and a key.")
  var to: [String] = []
  @Option(help: "Only edges that lead to the file of this path.") var toFile: String?
  @Option(help: "At most so many edges.") var limit = 100
  @Flag(help: "One JSON record per line.") var json = false

  func validate() throws {
    for row in [from, to] where row.count != 0 && row.count != 2 {
      throw ValidationError("--from and --to take a collection and a key.")
    }
    if limit < 0 { throw ValidationError("--limit must not be negative.") }
    if !to.isEmpty, toFile != nil { throw ValidationError("An edge leads to a row or to a file: choose one.") }
    if relationship == nil, edge != nil || toFile != nil || !from.isEmpty || !to.isEmpty {
      throw ValidationError("Edges are those of one relationship: give its name.")
    }
  }

  func run() throws {
    try reading(database) { tx in
      let all = try chosen(try tx.storedRelationships(), relationship, "relationship", database.file) {
        $0.status.name
      }
      let (source, destination) = (try row(from, tx), try row(to, tx).map { EdgeDestination.row($0) })
      var output = StandardOutput()
      defer { output.flush() }
      if relationship != nil, let one = all.first {
        return try showEdges(of: one, source, destination ?? toFile.map { .file($0) }, &output)
      }
      if all.isEmpty, !json { output.append("no relationships") }
      for one in all { try show(one, &output) }
    }
  }

  /// The row of two words, which must be there.
  private func row(_ words: [String], _ tx: ReadTransaction) throws -> RowKey? {
    guard let collection = words.first, let key = words.last else { return nil }
    let row = RowKey(collection, key)
    guard try tx.rowID(of: row) != nil else {
      complain("there is no row “\(shown(key))” in “\(shown(collection))” of \(database.file).")
      throw ExitCode.failure
    }
    return row
  }

  private func show(_ one: StoredRelationship, _ output: inout StandardOutput) throws {
    let (status, names) = (one.status, try one.names())
    if json {
      let list = names.map { name -> RowValue in ["name": .text(name.name), "edges": count(name.edges)] }
      let record: RowValue = [
        "relationship": .text(status.name), "version": .text(status.version), "state": name(status.state),
        "edges": count(one.edgeCount), "names": .list(list),
      ]
      return output.append(record.json)
    }
    output.append("\(shown(status.name))  version “\(shown(status.version))”\(shown(status.state))")
    for (name, edges) in names { output.append("\(aligned(edges, 12))  \(shown(name))") }
  }

  private func showEdges(
    of one: StoredRelationship, _ source: RowKey?, _ destination: EdgeDestination?, _ output: inout StandardOutput
  ) throws {
    if let edge { _ = try chosen(try one.names(), edge, "edge", "“\(shown(one.status.name))”") { $0.name } }
    var left = limit
    guard left > 0 else { return }
    try one.forEachEdge(named: edge, from: source, to: destination) { edge in
      if json {
        let rules = edge.rules.description.dropFirst().dropLast().split(separator: ", ")
        let record: RowValue = [
          "name": .text(edge.name), "source": Self.record(edge.source), "destination": Self.record(edge.destination),
          "rules": .list(rules.map { .text(String($0)) }), "derived": .bool(edge.isDerived),
        ]
        output.append(record.json)
      } else {
        let rules = edge.rules.isEmpty ? "" : "  \(edge.rules)"
        output.append(
          "\(Self.text(edge.source)) –\(shown(edge.name))→ \(Self.text(edge.destination))\(rules)  "
            + (edge.isDerived ? "derived" : "by hand"))
      }
      left -= 1
      return left > 0
    }
  }

  private static func text(_ end: StoredRelationship.End) -> String {
    switch end {
    case .row(let key): "\(shown(key.collection))/\(shown(key.key))"
    case .lostRow(let rowID): "row \(rowID.rawValue), which is no more,"
    case .file(let path): "file \(shown(path))"
    }
  }

  private static func record(_ end: StoredRelationship.End) -> RowValue {
    switch end {
    case .row(let key): rowRecord(key)
    case .lostRow(let rowID): ["row": count(rowID.rawValue)]
    case .file(let path): ["file": .text(path)]
    }
  }
}
