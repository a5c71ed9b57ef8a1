// Carrying a diff out on a list, as a screen does.

extension ViewDiff {
  /// The diff was made for another state than the list that it was applied to.
  public struct Mismatch: Error, Hashable, CustomStringConvertible {
    /// What does not fit.
    public let description: String
  }

  /// The list after the changes; see ``apply(to:item:)``.
  public func applied<Item>(to list: [[Item]], item: (ViewPath) throws -> Item) throws -> [[Item]] {
    var list = list
    try apply(to: &list, item: item)
    return list
  }

  /// Carries the changes out on a list of sections of rows.
  ///
  /// ```swift
  /// let diff = try screen.advance(&mappings)
  /// try screen.read { tx in
  ///   let view = try tx.view(byAlbum)
  ///   try diff.apply(to: &titles) { path in try view.object(at: path, mappings)?.title }
  /// }
  /// ```
  ///
  /// What a screen has to draw is asked for: rows inserted, updated, or moved with ``ViewRowChange/aspects``; all rows
  /// after a reload. Other rows are taken over from the list. O(rows of the list + changes).
  ///
  /// - Parameters:
  ///   - list: the items of each section, as the old state has them.
  ///   - item: the new item at a path of the new state.
  /// - Throws: ``Mismatch`` if the list is not the one that the diff starts from, and what `item` throws; the list is
  ///   then as it was.
  public func apply<Item>(to list: inout [[Item]], item: (ViewPath) throws -> Item) throws {
    if isReload {
      list = try rowCounts.enumerated().map { section, count in
        try (0..<count).map { try item(ViewPath(section: section, row: $0)) }
      }
      return
    }
    var arrivals = rowCounts.map { _ in [(row: Int, item: Item)]() }
    var leaving = list.map { _ in Set<Int>() }
    for change in rows where change.kind != .update {
      var carried: Item?
      if let path = change.originalPath {
        guard list.indices.contains(path.section), list[path.section].indices.contains(path.row),
          leaving[path.section].insert(path.row).inserted
        else { throw Mismatch(description: "no row at \(path) of the old list, for \(change)") }
        if change.kind == .move, change.aspects.isEmpty { carried = list[path.section][path.row] }
      }
      if let path = change.finalPath {
        guard arrivals.indices.contains(path.section) else {
          throw Mismatch(description: "no section for \(change)")
        }
        arrivals[path.section].append((path.row, try carried ?? item(path)))
      }
    }
    let kept = try keptSections(of: list)
    var result: [[Item]] = []
    for section in rowCounts.indices {
      let old = kept[section]
      let staying = old.map { old in list[old].indices.filter { !leaving[old].contains($0) }.map { list[old][$0] } }
      result.append(try merge(staying ?? [], arrivals[section], section: section))
    }
    for change in rows where change.kind == .update {
      guard let path = change.finalPath, result.indices.contains(path.section),
        result[path.section].indices.contains(path.row)
      else { throw Mismatch(description: "no row in the new list for \(change)") }
      result[path.section][path.row] = try item(path)
    }
    list = result
  }

  /// For each new section, the old one that it continues; nil for inserted ones.
  private func keptSections(of list: [[some Any]]) throws -> [Int?] {
    var deleted: Set<Int> = []
    var inserted: Set<Int> = []
    for change in sections {
      let isNew =
        change.kind == .delete ? deleted.insert(change.index).inserted : inserted.insert(change.index).inserted
      guard isNew else { throw Mismatch(description: "section \(change) is told twice") }
    }
    var survivors = list.indices.filter { !deleted.contains($0) }[...]
    let kept = rowCounts.indices.map { inserted.contains($0) ? nil : survivors.popFirst() }
    guard survivors.isEmpty, kept.filter({ $0 == nil }).count == inserted.count,
      deleted.allSatisfy(list.indices.contains)
    else {
      throw Mismatch(description: "\(list.count) sections do not become \(rowCounts.count) by \(sections)")
    }
    return kept
  }

  /// The rows that stay, in their order, with those that arrive at their places.
  private func merge<Item>(
    _ staying: [Item], _ arrivals: [(row: Int, item: Item)], section: Int
  ) throws -> [Item] {
    let count = staying.count + arrivals.count
    guard count == rowCounts[section] else {
      throw Mismatch(description: "section \(section) comes to \(count) rows in the place of \(rowCounts[section])")
    }
    var merged: [Item] = []
    merged.reserveCapacity(count)
    var rest = staying[...]
    for arrival in arrivals.sorted(by: { $0.row < $1.row }) {
      let gap = arrival.row - merged.count
      guard gap >= 0, gap <= rest.count else {
        throw Mismatch(description: "no place for row \(arrival.row) of section \(section)")
      }
      merged += rest.prefix(gap)
      rest = rest.dropFirst(gap)
      merged.append(arrival.item)
    }
    return merged + rest
  }
}
