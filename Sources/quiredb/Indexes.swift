// quiredb indexes: what is stored of the indexes of collections.

import ArgumentParser
import QuireDatabase
import QuireIndexes
import QuireStorage

/// Lists the indexes of a database.
struct ListIndexes: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "indexes",
    abstract: "Lists the indexes of a database, and how far each is built. Changes nothing.")

  @OptionGroup var database: LiveArgument
  @Flag(help: "Counts the pages of each index as well, which reads every page of the database.") var pages = false

  func run() throws {
    let pageCounts = pages ? try describing { try countPages() } : nil
    do {
      try reading(database) { tx in
        let lists = try tx.storedIndexes()
        if lists.isEmpty { print("no indexes") }
        for list in lists { show(list, pageCounts) }
      }
    } catch let error as IndexError {
      complain(error.description)
      throw ExitCode.failure
    }
  }

  /// The pages of each tree, by its name.
  private func countPages() throws -> [String: Int] {
    let (engine, app) = try database.openEngine()
    let figures = try engine.treeStatistics()
    try app?.confirm()
    try engine.close()
    return Dictionary(figures.trees.map { ($0.name, $0.leafPages + $0.branchPages + $0.extentPages) }) { $1 }
  }

  private func show(_ list: StoredIndexes, _ pageCounts: [String: Int]?) {
    let state =
      switch list.status.state {
      case .ready: ""
      case .building: ", being built"
      case .stale: ", out of date: built anew when registered"
      }
    print("\(list.status.name)  of “\(list.collection ?? "?")”, version “\(list.status.version)”\(state)")
    func line(_ count: Int, _ trees: [String], _ text: String) {
      let pages = pageCounts.map { counts in
        "  " + aligned(trees.reduce(0) { $0 + (counts[$1] ?? 0) }, 10)
      }
      print("\(aligned(count, 12))\(pages ?? "")  \(text)")
    }
    print("\(aligned("entries", 12))\(pageCounts == nil ? "" : "  " + aligned("pages", 10))  index")
    line(list.rowCount, [list.engineTree], "the columns of each row")
    for index in list.indexes {
      let declaration = index.declaration.isEmpty ? "" : "  \(index.declaration)"
      line(index.entryCount, index.engineTrees, "\(index.name)\(declaration)\(index.isReady ? "" : "  (being built)")")
    }
  }
}
