// What `quiredb info` tells, for programs.

import ArgumentParser
import QuireDatabase
import QuireStorage

/// The meta pages, the trees and the state of the files as one JSON record.
struct InfoRecord {
  private let inspector: Inspector
  private let figures: RowValue?

  /// - Parameter figures: what the app tells that has the database open.
  init(_ inspector: Inspector, _ figures: RowValue?) {
    self.inspector = inspector
    self.figures = figures
  }

  /// Writes the record; exit code 1 if there are defects, which it lists.
  func write() throws {
    let metaPages = inspector.metaPages.enumerated().map { slot, decoded in
      Self.record(decoded, slot: slot, isNewest: inspector.newest?.slot == slot)
    }
    let survey = try describing { try inspector.survey() }
    let extents = survey.pages[.extent] ?? Inspector.PageUse()
    let record: RowValue = [
      "file": .text(inspector.path), "bytes": count(inspector.fileByteCount), "in use": .bool(inspector.isInUse),
      "app": figures ?? .null,
      "meta pages": .list(metaPages), "pages": count(survey.meta.pageCount), "free pages": count(survey.freeCount),
      "commits to recover": count(try recoverableCount(survey.meta)),
      "long values": count(extents.entryCount), "trees": .list(survey.trees.map(Self.record)),
      "defects": .list(survey.defects.map { .text($0.description) }),
    ]
    print(record.json)
    if !survey.defects.isEmpty { throw ExitCode.failure }
  }

  private func recoverableCount(_ meta: MetaPage) throws -> Int {
    if meta.isComplete { return 0 }
    guard let log = try describing({ try inspector.log() }) else { return 0 }
    return log.scan.records.filter { $0.header.kind == .commit }.count
  }

  private static func record(_ decoded: MetaPage.Decoded, slot: Int, isNewest: Bool) -> RowValue {
    switch decoded {
    case .valid(let page):
      [
        "slot": count(slot), "state": "valid", "in force": .bool(isNewest), "checkpoint": count(page.checkpointNumber),
        "commit": count(page.csn.rawValue), "database": .text("\(page.databaseID)"), "page size": count(page.pageSize),
      ]
    case .newerFormat(let version): ["slot": count(slot), "state": "newer format", "format": count(version)]
    case .damaged(let why): ["slot": count(slot), "state": "damaged", "why": .text("\(why)")]
    case .notAMetaPage: ["slot": count(slot), "state": "empty"]
    }
  }

  private static func record(_ tree: CheckpointVerifier.Tree) -> RowValue {
    let root = tree.root
    return [
      "id": count(root.id.rawValue), "name": .text(tree.name), "keys": root.keyKind == .int64 ? "int64" : "bytes",
      "entries": count(root.count), "levels": count(root.reference.isNone ? 0 : root.level + 1),
    ]
  }
}
