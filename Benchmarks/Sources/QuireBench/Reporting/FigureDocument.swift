// Figures in documents: they stand in files of results, and nobody types them.

/// A document with tables that show figures of results.
///
/// Such a table stands below a line that says where its figures come from: the file, the section of it (or a part of
/// its title, or nothing), and the row of the results for each row of the table.
///
///     <!-- figures: growth.md | cache of 512 MiB | full scan; point reads, uniform -->
///
/// The heads of its columns are names of stores. What the first column says is the document's own.
struct FigureDocument {
  let name: String
  let text: String

  /// The document with the figures of the results. The last commit that it names above a table is the one that they are
  /// of.
  ///
  /// - Parameter results: the results of a file by its name.
  func updated(_ results: (String) throws -> ResultTables) throws -> String {
    var lines = text.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
    // By the line that names it: tables may share a sentence.
    var commits: [Int: String] = [:]
    for place in lines.indices {
      guard let mark = lines[place].wholeMatch(of: /<!-- figures: (\S+) \| (.*?) ?\| (.+) -->/) else {
        try expect(!lines[place].contains("<!-- figures"), "\(at(place)): this is not how figures are marked")
        continue
      }
      let tables = try results(String(mark.1))
      guard let commit = tables.commit, let named = lines[..<place].lastIndex(where: { $0.contains(Self.commit) })
      else { throw StoreFailure(description: "\(at(place)): results and document must say which commit was measured") }
      try expect(commits[named, default: commit] == commit, "\(at(named)): tables below this are of several commits")
      commits[named] = commit
      let rows = mark.3.split(separator: ";").map { String($0.drop { $0 == " " }) }
      try fill(&lines, below: place, rows.map { try tables.figures($0, inSection: String(mark.2)) })
    }
    for (place, commit) in commits { lines[place] = lines[place].replacing(Self.commit) { _ in "commit \(commit)" } }
    return lines.joined(separator: "\n")
  }

  private static var commit: Regex<Substring> { /\bcommit [0-9a-f]{7,40}\b/ }

  /// Puts the figures of `rows` into the table below a mark.
  private func fill(_ lines: inout [String], below mark: Int, _ rows: [[String: String]]) throws {
    let head = mark + 2
    try expect(lines.count > head + 1 + rows.count, "\(at(mark)): the table ends too early")
    guard lines[mark + 1].isEmpty, let titles = tableCells(lines[head]) else {
      throw StoreFailure(description: "\(at(mark)): an empty line and a table must follow")
    }
    let stores = titles.dropFirst().map { $0.lowercased() }
    for (index, figures) in rows.enumerated() {
      let place = head + 2 + index
      guard let label = tableCells(lines[place])?.first else {
        throw StoreFailure(description: "\(at(place)): a row is missing")
      }
      let cells = try stores.map { store in
        guard let figure = figures[store] else {
          throw StoreFailure(description: "\(at(head)): the results have no “\(store)”")
        }
        return figure
      }
      lines[place] = "| \(label) | " + cells.joined(separator: " | ") + " |"
    }
    let end = head + 2 + rows.count
    try expect(end == lines.count || tableCells(lines[end]) == nil, "\(at(end)): a row has no figures")
  }

  private func at(_ place: Int) -> String { "\(name):\(place + 1)" }

  /// The lines in which the document differs from `updated`, each with what it should say.
  func differences(from updated: String) -> [String] {
    let own = text.split(separator: "\n", omittingEmptySubsequences: false)
    let other = updated.split(separator: "\n", omittingEmptySubsequences: false)
    return zip(own, other).enumerated().filter { $1.0 != $1.1 }.map { "\(at($0)): \($1.0)\n  should be: \($1.1)" }
  }
}
