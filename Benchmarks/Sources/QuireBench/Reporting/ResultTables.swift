// What a file of results says, read back: its tables, and the commit that was measured.

internal import Foundation

/// The tables of a file that a run has written as Markdown.
struct ResultTables {
  /// A row of a table.
  private struct Row {
    let section: String
    let name: String
    /// What each store took, the best in bold, without the spread.
    let figures: [String: String]
  }

  /// The commit of Quire that was measured; nil if the file names none.
  let commit: String?
  private var rows: [Row] = []

  /// Reads the text of such a file.
  init(_ text: String) {
    commit = text.firstMatch(of: /of commit ([0-9a-f]{7,40})/).map { String($0.1) }
    var section = ""
    var stores: [String] = []
    for line in text.split(separator: "\n", omittingEmptySubsequences: false) {
      if line.hasPrefix("#") { section = String(line.drop { $0 == "#" || $0 == " " }) }
      guard let cells = tableCells(line) else {
        stores = []
        continue
      }
      if stores.isEmpty {
        stores = Array(cells.dropFirst())
      } else if let name = cells.first?.firstMatch(of: /`([^`]+)`/) {
        let figures = zip(stores, cells.dropFirst()).map { ($0, Self.figure($1)) }
        rows.append(Row(section: section, name: String(name.1), figures: Dictionary(figures) { first, _ in first }))
      }
    }
  }

  /// The figures of a row by store, in the only table with such a row in a section whose title contains `section`.
  func figures(_ name: String, inSection section: String) throws -> [String: String] {
    let found = rows.filter { $0.name == name && (section.isEmpty || $0.section.contains(section)) }
    try expect(found.count == 1, "\(found.count) rows “\(name)” stand in sections “\(section)” of the results")
    return found[0].figures
  }

  /// A cell without the spread behind the median.
  private static func figure(_ cell: String) -> String {
    guard let end = cell.range(of: " (") else { return cell }
    return String(cell[..<end.lowerBound])
  }
}

/// The cells of a line of a table in Markdown; nil of any other line.
func tableCells(_ line: some StringProtocol) -> [String]? {
  guard line.hasPrefix("|"), line.hasSuffix("|"), line.count > 1 else { return nil }
  return line.dropFirst().dropLast().split(separator: "|", omittingEmptySubsequences: false).map { cell in
    cell.trimmingCharacters(in: .whitespaces)
  }
}
