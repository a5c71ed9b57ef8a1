// quiredb stats: pages by kind and tree, and how full they are.

import ArgumentParser
import QuireDatabase
import QuireStorage

/// Counts the pages of a database.
struct Stats: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Counts the pages of a database by kind and tree, and how full they are. Reads every page.")

  @OptionGroup var database: LiveArgument
  @Flag(help: "The figures as one JSON record.") var json = false
  @Flag(help: "Shows on standard error how far the work has come.") var progress = false

  func run() throws {
    let reporter = ProgressReporter(isShown: progress)
    try describing {
      let (engine, app) = try database.openEngine()
      let figures: StorageTreeStatistics
      do {
        figures = try engine.treeStatistics { reporter.show($0) }
        try app?.confirm()
      } catch {
        throw reason(error, app)
      }
      try engine.close()
      reporter.end()
      if json { print(record(figures).json) } else { show(figures) }
    }
  }

  private func record(_ figures: StorageTreeStatistics) -> RowValue {
    let trees = figures.trees.map { tree -> RowValue in
      [
        "name": .text(tree.name), "entries": count(tree.entries), "leaves": count(tree.leafPages),
        "leaf bytes": count(tree.leafBytes), "branches": count(tree.branchPages), "long values": count(tree.longValues),
      ]
    }
    return [
      "file": .text(database.file), "commit": count(figures.csn.rawValue), "pages": count(figures.filePages),
      "page size": count(figures.pageSize), "leaves": count(figures.leafPages), "branches": count(figures.branchPages),
      "long values": count(figures.extentPages), "catalog": count(figures.catalogPages),
      "free map": count(figures.freeMapPages), "free": count(figures.freePages), "held": count(figures.heldPages),
      "trees": .list(trees),
    ]
  }

  private func show(_ figures: StorageTreeStatistics) {
    print("file          \(figures.filePages) pages of \(figures.pageSize) bytes, \(figures.csn)")
    print("leaves        \(figures.leafPages)")
    print("branches      \(figures.branchPages)")
    print("long values   \(figures.extentPages)")
    print("catalog       \(figures.catalogPages)")
    print("free map      \(figures.freeMapPages)")
    print("free          \(figures.freePages), of them held \(figures.heldPages)")
    guard !figures.trees.isEmpty else { return }
    print("")
    print("\(aligned("entries", 12))  \(aligned("leaves", 10))  full  \(aligned("branches", 8))  long values  name")
    for tree in figures.trees {
      print(
        "\(aligned(tree.entries, 12))  \(aligned(tree.leafPages, 10))  "
          + "\(aligned(percent(tree.leafBytes, of: tree.leafPages * figures.pageSize), 4))  "
          + "\(aligned(tree.branchPages, 8))  \(aligned(tree.longValues, 11))  \(tree.name)")
    }
  }
}
