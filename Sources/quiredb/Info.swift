// quiredb info: what a database is and how it is doing.

import ArgumentParser
import QuireDatabase
import QuireStorage

/// Prints the meta pages, the trees and the state of the files.
struct Info: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Shows the meta pages, the trees and the log segments of a database.",
    discussion: "If an app has it open, and a control socket, the app's figures come first.")

  @OptionGroup var database: LiveArgument
  @Flag(help: "One JSON record.") var json = false

  func run() throws {
    let inspector = try database.files.inspect()
    let figures = try describing { try appFigures(inspector) }
    if json { return try InfoRecord(inspector, figures).write() }
    print("file          \(inspector.path), \(inspector.fileByteCount) bytes")
    if let figures { printFigures(figures) }
    for (slot, decoded) in inspector.metaPages.enumerated() {
      printMeta(decoded, slot: slot, isNewest: inspector.newest?.slot == slot)
    }
    try describing {
      let survey = try inspector.survey()
      print("free pages    \(survey.freeCount) of \(survey.meta.pageCount)")
      print("log           \(survey.meta.isComplete ? "clean: no log is needed" : try recovery(inspector))")
      let extents = survey.pages[.extent] ?? Inspector.PageUse()
      print("long values   \(extents.entryCount), \(extents.usedByteCount) bytes in \(extents.count) pages")
      printTrees(survey.trees)
      for defect in survey.defects { complain(defect.description) }
      if !survey.defects.isEmpty { throw ExitCode.failure }
    }
  }

  /// What the app tells that has the database open; nil if none has, or it has no control socket.
  private func appFigures(_ inspector: Inspector) throws -> RowValue? {
    guard inspector.isInUse || database.control != nil else { return nil }
    do { return try database.app().run("info") } catch let error as DatabaseError where error.code == .alreadyOpen {
      return nil
    }
  }

  private func printFigures(_ figures: RowValue) {
    print("in the app")
    for field in figures.record ?? [] {
      if let list = field.value.list {
        for text in list.compactMap(\.text) { print("  \(padded(field.name, 13)) \(visible(text))") }
      } else {
        print("  \(padded(field.name, 13)) \(field.value.json)")
      }
    }
  }

  private func printMeta(_ decoded: MetaPage.Decoded, slot: Int, isNewest: Bool) {
    let name = "meta page \(slot)   "
    switch decoded {
    case .valid(let page):
      print("\(name)checkpoint \(page.checkpointNumber), \(page.csn)\(isNewest ? ", in force" : "")")
      print("  database    \(page.databaseID)")
      print("  page size   \(page.pageSize), pages \(page.pageCount)")
      print("  catalog     \(page.catalog.number), level \(page.catalog.level), trees \(page.treeCount)")
      print("  free map    \(page.freeMap.number), level \(page.freeMap.level)")
      print("  next        tree id \(page.nextTreeID), row id \(page.nextRowID)")
      print("  log         from \(page.lsn)\(page.isComplete ? ", none needed" : "")")
      for segment in page.segments {
        print(
          "  segment     number \(segment.number), file -log\(segment.fileIndex), \(segment.byteCount) bytes, "
            + "from \(segment.firstLSN)")
      }
    case .newerFormat(let version): print("\(name)format \(version), which this program does not know")
    case .damaged(let why): print("\(name)damaged: \(why)")
    case .notAMetaPage: print("\(name)empty")
    }
  }

  private func recovery(_ inspector: Inspector) throws -> String {
    guard let log = try inspector.log() else { return "clean: no log is needed" }
    let commits = log.scan.records.filter { $0.header.kind == .commit }.count
    return commits == 0
      ? "open, nothing to recover" : "needs recovery: \(commits) commits, up to \(log.scan.endCSN)"
  }

  private func printTrees(_ trees: [CheckpointVerifier.Tree]) {
    guard !trees.isEmpty else { return print("trees         none") }
    print("")
    print("\(aligned("id", 8))  keys   \(aligned("entries", 12))  levels  name")
    for tree in trees {
      let root = tree.root
      let levels = root.reference.isNone ? 0 : root.level + 1
      let keys = root.keyKind == .int64 ? "int64" : "bytes"
      print("\(aligned(root.id.rawValue, 8))  \(keys)  \(aligned(root.count, 12))  \(aligned(levels, 6))  \(tree.name)")
    }
  }
}
