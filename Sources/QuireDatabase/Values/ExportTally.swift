// Whether all lines of an export have come.

/// Counts the lines of exports against the number of rows with which each ends.
///
/// Exports may follow one another. Rows of other programs, without notes of collections, need no end.
struct ExportTally {
  /// Lines of rows since the last end, stored or not, and lines of which nobody knows what they were.
  private var rowCount = 0
  private var unreadableCount = 0
  /// Whether notes have come since the last end, so that another one must come.
  private var hasNotes = false

  /// Counts a line that could not be read.
  mutating func countUnreadable() { unreadableCount += 1 }

  /// Counts a line.
  ///
  /// - Throws: `RowLineError` at the end of an export with another number of rows than were counted.
  mutating func count(_ line: RowLine) throws(RowLineError) {
    switch line {
    case .notes: hasNotes = true
    case .row: rowCount += 1
    case .end(let rows):
      guard (rowCount...rowCount + unreadableCount).contains(rows) else {
        throw RowLineError(
          "Lines are missing or too many: the export ends with \(rows) rows, and \(rowCount) have come. Export again.")
      }
      self = ExportTally()
    }
  }

  /// There are no more lines.
  ///
  /// - Throws: `RowLineError` if an export has no end.
  func finish() throws(RowLineError) {
    if hasNotes {
      throw RowLineError(
        "The export is cut off: it does not end with a line {\"rows\": …}. \(rowCount) rows have come. Export again.")
    }
  }
}
