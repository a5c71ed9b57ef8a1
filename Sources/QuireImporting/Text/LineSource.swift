// Lines of JSON, as `quiredb export` writes them.

package import QuireDatabase

/// The rows of lines of JSON, stored as `quiredb import` stores them.
package final class LineSource: BatchSource {
  private let file: TextFile
  private var lines: LineImport
  /// None: what a line says is stored as it is.
  package let leftOut: [LeftOut] = []
  /// None.
  package let coercions: [String: Int] = [:]

  /// The lines of the file at `path`, or of standard input where it is `-`.
  ///
  /// - Parameters:
  ///   - replaces: whether of several lines with one key the last one counts; else each but the first does not fit.
  ///   - longestLine: the most bytes of a line.
  package init(_ path: String, replaces: Bool = false, longestLine: Int = 64 << 20) throws(ImportError) {
    let file = try TextFile(path)
    self.file = file
    lines = LineImport(replaces: replaces, longestLine: longestLine) { count in try file.read(count) }
  }

  package func storeBatch(
    in tx: QuireDatabase.WriteTransaction, skip: ((BadRow) throws -> Void)?, _ report: inout ImportReport
  ) throws -> Bool {
    let name = file.name
    let outcome = try lines.storeBatch(in: tx, skip: skip.map { skip in { try skip(BadRow($0, of: name)) } })
    report.count(lines.newRowCounts, byteCount: lines.byteCount)
    report.badCount = lines.badCount
    switch outcome {
    case .goesOn: return true
    case .isComplete: return false
    case .stopped(let line):
      report.stopped = BadRow(line, of: name)
      return false
    }
  }

  package func checkUnchanged() throws { try file.checkUnchanged() }
}

extension BadRow {
  fileprivate init(_ line: BadLine, of file: String) {
    self.init(table: file, row: "line \(line.number)", reason: line.reason, content: line.content)
  }
}
