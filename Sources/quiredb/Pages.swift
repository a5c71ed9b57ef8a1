// quiredb pages: what the file is full of.

import ArgumentParser
import QuireStorage

/// Prints a table of pages by what they are there for.
struct Pages: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Shows how many pages there are of each kind, and how full they are.")

  @OptionGroup var database: DatabaseArgument

  func run() throws {
    let inspector = try database.inspect()
    try describing {
      let survey = try inspector.survey()
      let pageSize = survey.meta.pageSize
      print("\(padded("kind", 10))\(aligned("pages", 12))\(aligned("entries", 14))\(aligned("fill", 8))")
      row("meta", Inspector.PageUse(count: 2, usedByteCount: 2 * MetaPage.byteCount, entryCount: 0), pageSize)
      let names: [(CheckpointVerifier.Purpose, String)] = [
        (.leaf, "leaf"), (.branch, "branch"), (.extent, "extent"), (.catalog, "catalog"),
        (.freeMap, "free map"),
      ]
      for (purpose, name) in names { row(name, survey.pages[purpose] ?? Inspector.PageUse(), pageSize) }
      row("free", Inspector.PageUse(count: survey.freeCount, usedByteCount: 0, entryCount: 0), pageSize)
      print("\(padded("all", 10))\(aligned(survey.meta.pageCount, 12))")
      for defect in survey.defects { complain(defect.description) }
      if !survey.defects.isEmpty { throw ExitCode.failure }
    }
  }

  private func row(_ name: String, _ use: Inspector.PageUse, _ pageSize: Int) {
    let fill = percent(use.usedByteCount, of: use.count * pageSize)
    print("\(padded(name, 10))\(aligned(use.count, 12))\(aligned(use.entryCount, 14))\(aligned(fill, 8))")
  }
}
