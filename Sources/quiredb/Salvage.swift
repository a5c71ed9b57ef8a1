// quiredb salvage: a new database of all that can be read of a damaged one.

import ArgumentParser
import QuireDatabase
import QuireRelationships
import QuireStorage
import QuireViews

/// Makes a new database of what is outside the damage of another one.
struct Salvage: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Makes a new database of every row that is outside the damage of one, and lists what is lost.",
    discussion: """
      The damaged files are not changed. What is at the new path is complete or not there. Views, indexes and derived \
      edges are built anew when the app registers them; edges made by hand are kept, and change feeds begin anew.

      What a log has behind its first damage is lost, as nothing tells what it would be applied to.

      Where the newest version of a page is lost, rows of an older one are taken, and told as such; --no-stale leaves \
      them out. --unverified believes what no checksum proves: for files of which not even the identity is left.

      Exit codes: 0, nothing is lost; 2, something is lost, and listed; 1, nothing could be read, or the new database \
      could not be made.
      """)

  @OptionGroup var database: DatabaseArgument
  @Argument(help: "The new file.", completion: .file()) var copy: String
  @Option(help: "A new file for all that is lost, as JSON, one record per line.", completion: .file())
  var report: String?
  @Flag(help: "Leaves out rows that may be older than the newest state.") var noStale = false
  @Flag(help: "Takes what no checksum proves.") var unverified = false
  @Flag(help: "The result as one JSON record.") var json = false
  @Flag(help: "Shows on standard error how far the work has come.") var progress = false

  /// How many findings are shown; a report has all of them.
  private static let shownCount = 100

  func validate() throws {
    if copy.isEmpty { throw ValidationError("The new file needs a name.") }
  }

  func run() throws {
    let list = try report.map { path in try naming(path) { () throws(SystemError) in try NewLineFile(at: path) } }
    let reporter = ProgressReporter(isShown: progress)
    let findings = SalvageFindings(limit: Self.shownCount)
    let salvage = DatabaseSalvage(
      database.file, options: SalvageOptions(believesUnverified: unverified, includesStale: !noStale),
      kinds: [SalvagedEdges.self, SalvagedLists.self],
      report: { finding in
        findings.take(finding)
        if let list { try naming(report ?? "") { () throws(SystemError) in try list.append(finding.value.json) } }
      }, progress: { reporter.show($0) })
    let outcome: SalvageOutcome
    do {
      outcome = try salvage.run(to: copy)
    } catch let error as DatabaseError {
      reporter.end()
      // A report of nothing is none.
      if let report, findings.count == 0 {
        try naming(report) { () throws(SystemError) in try RealFileSystem().unlink(report) }
      }
      for finding in findings.first { complain(finding.text) }
      complain("\(error.description); \(copy) was not made.")
      throw ExitCode.failure
    } catch {
      reporter.end()
      throw told(error)
    }
    reporter.end()
    if let list { try naming(report ?? "") { () throws(SystemError) in try list.close() } }
    var output = StandardOutput()
    if json { output.append(record(outcome, findings).json) } else { show(outcome, findings, &output) }
    output.flush()
    if outcome.lossCount > 0 || !outcome.defects.isEmpty { throw ExitCode(2) }
  }

  // MARK: The result

  private func record(_ outcome: SalvageOutcome, _ findings: SalvageFindings) -> RowValue {
    let collections = outcome.collections.map { one -> RowValue in
      [
        "collection": .text(one.collection), "rows": count(one.kept), "old": count(one.old), "lost": count(one.lost),
      ]
    }
    return [
      "file": .text(database.file), "new file": .text(copy), "rows": count(outcome.rowCount),
      "other entries": count(outcome.entryCount), "losses": count(outcome.lossCount),
      "read by": .text(Self.words(outcome.source)), "commit": count(outcome.source.csn.rawValue),
      "collections": .list(collections), "findings": .list(findings.first.map(\.value)),
      "more findings": count(findings.count - findings.first.count),
      "defects": .list(outcome.defects.map { .text($0.description) }),
    ]
  }

  private func show(_ outcome: SalvageOutcome, _ findings: SalvageFindings, _ output: inout StandardOutput) {
    for one in outcome.collections {
      let old = one.old > 0 ? ", \(one.old) of them may be old" : ""
      let lost = one.lost > 0 ? ", \(one.lost) lost" : ""
      output.append("\(aligned(one.kept, 12))  \(shown(one.collection))\(old)\(lost)")
    }
    for finding in findings.first { output.append(finding.text) }
    let more = findings.count - findings.first.count
    if more > 0 { output.append("… and \(more) more\(report.map { ": see \($0)" } ?? ": --report lists all")") }
    for defect in outcome.defects { output.append(defect.description) }
    let lostCount = outcome.collections.reduce(0) { $0 + $1.lost }
    let losses =
      outcome.lossCount == 0 ? "nothing is lost" : "\(lostCount) lost by name, \(outcome.lossCount) findings of loss"
    output.append("\(copy): \(outcome.rowCount) rows, read by \(Self.words(outcome.source)); \(losses)")
  }

  private static func words(_ source: SalvageSource) -> String {
    switch source.basis {
    case .newestMetaPage: "the newest meta page"
    case .otherMetaPage: "the one meta page that is left"
    case .pages: "its pages alone"
    case .structure: "its structure, without proof"
    }
  }
}

/// The findings of a salvage: the first of them, and how many there are.
private final class SalvageFindings {
  private let limit: Int
  private(set) var first: [SalvageFinding] = []
  private(set) var count = 0

  init(limit: Int) { self.limit = limit }

  func take(_ finding: SalvageFinding) {
    count += 1
    if first.count < limit { first.append(finding) }
  }
}

extension SalvageFinding {
  /// In words for people.
  fileprivate var text: String {
    var parts = [kind.rawValue]
    if let collection { parts.append(key.map { "\(shown(collection))/\(shown($0))" } ?? "“\(shown(collection))”") }
    if let row { parts.append("(row \(row))") }
    if kind == .lostRows {
      parts.append(firstRow.map { "from \($0)" } ?? "from the first")
      parts.append(endRow.map { "up to \($0)" } ?? "to the last")
    }
    if let count { parts.append("(\(count))") }
    if let page { parts.append("in page \(page)") }
    return visible("\(parts.joined(separator: " ")): \(reason)")
  }

  /// As JSON has it.
  fileprivate var value: RowValue {
    var fields: [RowValue.Field] = [.init("kind", .text(kind.rawValue)), .init("loss", .bool(isLoss))]
    if let collection { fields.append(.init("collection", .text(collection))) }
    if let key { fields.append(.init("key", .text(key))) }
    if let row { fields.append(.init("row", .integer(Int128(row)))) }
    if let firstRow { fields.append(.init("from row", .integer(Int128(firstRow)))) }
    if let endRow { fields.append(.init("up to row", .integer(Int128(endRow)))) }
    if let count { fields.append(.init("count", .integer(Int128(count)))) }
    if let page { fields.append(.init("page", .integer(Int128(page)))) }
    fields.append(.init("reason", .text(reason)))
    return .record(fields)
  }
}
