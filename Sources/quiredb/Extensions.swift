// quiredb extensions: what is stored of extensions, as far as the files tell.

import ArgumentParser
import QuireDatabase

/// Lists the extensions of a database.
struct Extensions: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Lists the extensions of a database: their kind, version and state, and their trees. Changes nothing.",
    discussion: """
      Views, relationships and indexes are extensions; --kind shows those of one kind. One that is out of date has \
      missed changes, as it was not registered, and is built anew when the app registers it.
      """)

  @OptionGroup var database: LiveArgument
  @Option(help: "Only those of this kind.") var kind: String?
  @Flag(help: "One JSON record per line.") var json = false

  func run() throws {
    try reading(database) { tx in
      let all = try tx.storedExtensions().filter { kind == nil || $0.status.kind == kind }
      var output = StandardOutput()
      defer { output.flush() }
      if all.isEmpty, !json { output.append("no extensions") }
      for one in all {
        let trees = try one.trees()
        if json { output.append(record(one, trees).json) } else { show(one, trees, &output) }
      }
    }
  }

  private func state(_ one: StoredExtension) -> String {
    switch one.status.state {
    case .ready: "ready"
    case .building: "being built"
    case .stale: "out of date"
    }
  }

  private func show(_ one: StoredExtension, _ trees: [(name: String, entries: Int)], _ output: inout StandardOutput) {
    let status = one.status
    output.append("\(shown(status.name))  \(shown(status.kind)), version “\(shown(status.version))”, \(state(one))")
    if let collections = one.collections {
      output.append("              follows \(collections.map(shown).joined(separator: ", "))")
    }
    for (name, entries) in trees { output.append("\(aligned(entries, 12))  \(shown(name))") }
  }

  private func record(_ one: StoredExtension, _ trees: [(name: String, entries: Int)]) -> RowValue {
    let status = one.status
    let collections = one.collections.map { RowValue.list($0.map { .text($0) }) }
    return [
      "extension": .text(status.name), "kind": .text(status.kind), "version": .text(status.version),
      "format": count(one.formatVersion), "state": .text(state(one)), "collections": collections ?? nil,
      "trees": .list(trees.map { ["name": .text($0.name), "entries": count($0.entries)] }),
    ]
  }
}
