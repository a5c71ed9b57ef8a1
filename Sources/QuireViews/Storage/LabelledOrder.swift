// Groups whose order is kept in labels.

internal import QuireDatabase

/// Finds places and makes labels in groups whose order nothing but the labels tells.
struct LabelledOrder {
  private let storage: ViewStorage

  init(_ storage: ViewStorage) { self.storage = storage }

  /// The index in front of which something belongs: behind all rows that come `before` it, which are the first ones.
  /// Asks about log2(n) rows; the last one and the first one at first, as many lists grow at an end.
  ///
  /// - Parameter leavingOut: an index whose row counts as if it were not there; the result does not count it either.
  func insertionIndex(
    in group: GroupID, leavingOut: Int? = nil, before: (RowID) throws -> Bool
  ) throws -> Int {
    let count = try storage.trees.count(group) - (leavingOut == nil ? 0 : 1)
    func isBefore(_ index: Int) throws -> Bool {
      guard let found = try storage.trees.entry(at: actual(index, leavingOut), in: group) else {
        throw storage.trees.damaged()
      }
      return try before(found.rowID)
    }
    if count == 0 { return 0 }
    if try isBefore(count - 1) { return count }
    if try !isBefore(0) { return 0 }
    var (low, high) = (1, count - 1)
    while low < high {
      let middle = (low + high) / 2
      if try isBefore(middle) { low = middle + 1 } else { high = middle }
    }
    return low
  }

  /// The index among all rows of one among those that are not left out.
  private func actual(_ index: Int, _ leavingOut: Int?) -> Int {
    guard let leavingOut, index >= leavingOut else { return index }
    return index + 1
  }

  /// A label for a new row at an index. Labels the rows around it anew if there is no short one.
  func label(at index: Int, in group: GroupID, _ name: String, leavingOut: Int? = nil) throws -> [UInt8] {
    let label = try between(index, group, leavingOut)
    guard label.count > OrderLabel.byteLimit else { return label }
    try relabel(around: actual(index, leavingOut), group, name)
    return try between(index, group, leavingOut)
  }

  /// A label between those of the rows around an index.
  private func between(_ index: Int, _ group: GroupID, _ leavingOut: Int?) throws -> [UInt8] {
    let (low, high) = (try order(index - 1, group, leavingOut), try order(index, group, leavingOut))
    guard let label = OrderLabel.between(low, high) else { throw storage.trees.damaged() }
    return label
  }

  /// Labels between two that are stored.
  private func spread(_ count: Int, between low: [UInt8]?, _ high: [UInt8]?) throws -> [[UInt8]] {
    guard let labels = OrderLabel.spread(count, between: low, high) else { throw storage.trees.damaged() }
    return labels
  }

  private func order(_ index: Int, _ group: GroupID, _ leavingOut: Int?) throws -> [UInt8]? {
    guard index >= 0 else { return nil }
    return try storage.trees.entry(at: actual(index, leavingOut), in: group)?.entry.order
  }

  /// Gives the rows around an index labels that are evenly apart: as few rows as get short labels by it.
  private func relabel(around index: Int, _ group: GroupID, _ name: String) throws {
    let count = try storage.trees.count(group)
    var width = 32
    while true {
      let range = max(0, index - width)..<min(count, index + width)
      let low = range.lowerBound == 0 ? nil : try order(range.lowerBound - 1, group, nil)
      let high = range.upperBound == count ? nil : try order(range.upperBound, group, nil)
      let labels = try spread(range.count, between: low, high)
      let longest = labels.map(\.count).max() ?? 0
      if longest <= OrderLabel.byteLimit / 2 || range.count == count {
        return try assign(labels, range, group, name)
      }
      width *= 4
    }
  }

  private func assign(_ labels: [[UInt8]], _ range: Range<Int>, _ group: GroupID, _ name: String) throws {
    assert(labels.count == range.count, "a row gets no label")
    let rows = try zip(labels, range).map { label, index in
      guard let found = try storage.trees.entry(at: index, in: group) else { throw storage.trees.damaged() }
      return ViewStorage.Relabelling(rowID: found.rowID, from: found.entry, order: label)
    }
    try storage.relabel(rows, name)
  }

  /// Labels for all rows of a group that is to be arranged.
  ///
  /// - Parameter keepsLabels: whether the group has labels now, which those that stay where they are keep.
  func labels(for rows: [RowID], in name: String, keepsLabels: Bool) throws -> [[UInt8]] {
    guard keepsLabels else { return try spread(rows.count, between: nil, nil) }
    let plan = GroupPlan(from: try storage.members(of: name), to: rows)
    var labels: [[UInt8]] = []
    var low: [UInt8]?
    var index = 0
    while index < rows.count {
      // The rows up to the next one that stays.
      let end = plan.newStays[index...].firstIndex(of: true) ?? rows.count
      let high = end < rows.count ? plan.origins[end].map { plan.old[$0].entry.order } : nil
      labels += try spread(end - index, between: low, high)
      if let high { labels.append(high) }
      low = high
      index = end + 1
    }
    assert(labels.count == rows.count, "a row gets no label")
    if labels.allSatisfy({ $0.count <= OrderLabel.byteLimit }) { return labels }
    return try spread(rows.count, between: nil, nil)
  }
}
