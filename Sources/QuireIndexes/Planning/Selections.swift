// The selections of a condition in one run of a query: whether to find their rows, or to test others.

internal import QuireDatabase

/// What is known of the selections of a condition, for one run of a query.
///
/// A selection whose rows are wanted while a plan is made is found afterwards, and the plan made again: what is read
/// for it decides the result, where what is counted for a plan does not.
final class Selections {
  /// One selection in the transaction.
  private final class Known {
    let test: SelectionTest
    private var selected: (any SelectedRows)?
    var found: RowIDList?
    /// Finding all rows is known to cost more than this.
    var refusedLimit = -1
    /// So many rows were tested one by one.
    var testedCount = 0

    init(_ test: SelectionTest) { self.test = test }

    /// What it selects. Not asked while a plan is made, as it may read.
    func selected(in tx: ReadTransaction) throws -> any SelectedRows {
      if let selected { return selected }
      let new = try test.selection.rows(in: tx)
      selected = new
      return new
    }

    var text: String { selected?.description ?? test.selection.name }
  }

  /// The first limit with which several are tried in turn; the next ones are higher by `limitFactor`.
  private static let firstLimit = 64
  private static let limitFactor = 8

  private let rows: any RowAccess
  private let cost: QueryCost
  /// No more than this is read to find the rows of a selection for a plan.
  private let readLimit: Int
  private var known: [ObjectIdentifier: Known] = [:]
  private var wanted: [(known: Known, limit: Int)] = []

  init(_ rows: any RowAccess, _ cost: QueryCost, readLimit: Int) {
    self.rows = rows
    self.cost = cost
    self.readLimit = readLimit
  }

  private func known(_ test: SelectionTest) -> Known {
    if let known = known[ObjectIdentifier(test)] { return known }
    let new = Known(test)
    known[ObjectIdentifier(test)] = new
    return new
  }

  // MARK: Planning

  /// The rows of a selection, with what plans call it, if they are known; otherwise they are wanted if finding them
  /// costs no more than `limit`.
  func found(_ test: SelectionTest, limit: Int) -> (rows: RowIDList, text: String)? {
    let known = known(test)
    if let found = known.found { return (found, known.text) }
    let limit = min(limit, readLimit)
    if known.refusedLimit < limit { wanted.append((known, limit)) }
    return nil
  }

  /// What plans call a selection.
  func text(_ test: SelectionTest) -> String { known(test).text }

  /// Finds the rows of one of the selections that are wanted, the cheapest, if that is worth it. False if nothing was
  /// wanted.
  func findWanted() throws -> Bool {
    guard !wanted.isEmpty else { return false }
    defer { wanted = [] }
    var step = Self.firstLimit
    while let highest = wanted.map(\.limit).max() {
      for (known, limit) in wanted where try find(known, upTo: min(step, limit)) { return true }
      if step >= highest { return true }
      step = step < highest / Self.limitFactor ? step * Self.limitFactor : highest
    }
    return true
  }

  private func find(_ known: Known, upTo limit: Int) throws -> Bool {
    guard limit > known.refusedLimit else { return false }
    let selected = try known.selected(in: rows.transaction)
    guard let reads = try selected.cost(upTo: limit), reads <= limit else {
      known.refusedLimit = limit
      return false
    }
    cost.entries += reads
    known.found = try rowsHere(try selected.rowIDs(), of: known.test.selection)
    return true
  }

  /// Those of the rows of a selection that are in the collection.
  private func rowsHere(_ rowIDs: [RowID], of selection: any RowSelection) throws -> RowIDList {
    let list = RowIDList(rowIDs)
    let here = try rows.places(of: list.rowIDs)
    guard here.count < list.rowIDs.count else { return list }
    let own = RowIDList(here.map(\.rowID))
    if !selection.spansCollections {
      for rowID in list.rowIDs where !own.contains(rowID) {
        guard let row = try rows.transaction.key(of: rowID) else { continue }
        throw IndexError.foreignRow(selection: selection.name, row: "\(row)", collection: rows.collection)
      }
    }
    return own
  }

  // MARK: Testing

  /// Those of some rows of the collection, in the order given, that are selected, or are not.
  private func filter(_ rowIDs: [RowID], _ test: SelectionTest, isNegated: Bool) throws -> [RowID] {
    let known = known(test)
    known.testedCount += rowIDs.count
    // Once as much was tested as finding all would have cost, all are found.
    if known.found == nil { _ = try find(known, upTo: Planner.entriesPerTest * known.testedCount) }
    if let found = known.found { return rowIDs.filter { found.contains($0) != isNegated } }
    cost.rows += rowIDs.count
    let selected = RowIDList(try known.selected(in: rows.transaction).filter(rowIDs))
    return rowIDs.filter { selected.contains($0) != isNegated }
  }

  /// Those of some rows, in the order given, that satisfy the parts of a condition that numbers and keys alone decide;
  /// and the other parts, in which no selection is left that has not been looked up for these rows.
  func filter(
    _ rowIDs: [RowID], _ tests: ConditionNode
  ) throws -> (rowIDs: [RowID], rest: ConditionNode) {
    guard tests.hasPart(where: { $0.asksKey || $0.isSelection }) else { return (rowIDs, tests) }
    var left = rowIDs
    var rest: [ConditionNode] = []
    // Keys first: a selection may cost more.
    for part in tests.conjuncts {
      if case .value(let column, let ranges) = part, column.id.half == .key {
        cost.rows += left.count
        left = try rows.places(of: left).filter { ranges.contains($0.key.sortBytes) }.map(\.rowID)
      } else {
        rest.append(part)
      }
    }
    var fields: [ConditionNode] = []
    for part in rest {
      switch part {
      case .selection(let test, let isNegated): left = try filter(left, test, isNegated: isNegated)
      case .listed(let list, let isNegated): left = left.filter { list.contains($0) != isNegated }
      default: fields.append(part)
      }
    }
    return (left, try fields.reduce(.all) { .both($0, try listing($1, for: left)) })
  }

  /// A condition with the rows of its selections among `rowIDs` in their place.
  private func listing(_ node: ConditionNode, for rowIDs: [RowID]) throws -> ConditionNode {
    switch node {
    case .selection(let test, let isNegated):
      return .listed(RowIDList(try filter(rowIDs, test, isNegated: false)), isNegated: isNegated)
    case .and(let nodes): return .and(try nodes.map { try listing($0, for: rowIDs) })
    case .or(let nodes): return .or(try nodes.map { try listing($0, for: rowIDs) })
    default: return node
    }
  }
}

/// The keys and numbers of a collection's rows, for what only they can tell.
protocol PlaceAccess {
  /// The transaction that they are read in.
  var transaction: ReadTransaction { get }
  /// The name of the collection.
  var collection: String { get }
  /// The number of rows whose keys are in a slice.
  func count(_ slice: KeySlice) throws -> Int
  /// The numbers of the rows whose keys are in a part of a slice, in the order that the part has.
  func rowIDs(_ slice: KeySlice, _ part: KeySlicePart) throws -> [RowID]
  /// Those of some rows that are in the collection, with their keys, in the order given.
  func places(of rowIDs: [RowID]) throws -> [(rowID: RowID, key: String)]
}

/// A part of the keys in a slice, from one of its ends on.
struct KeySlicePart {
  /// Whether the last key comes first.
  var isReversed = false
  /// So many at the beginning are not in it.
  var offset = 0
  /// No more than so many are in it.
  var limit = Int.max
}

extension PlaceAccess {
  /// The numbers of the rows whose keys are in a slice, in the order of the keys.
  func rowIDs(_ slice: KeySlice) throws -> [RowID] { try rowIDs(slice, KeySlicePart()) }
}

extension TypedRows {
  var transaction: ReadTransaction { rows.readTransaction }
  var collection: String { rows.collection.name }

  func count(_ slice: KeySlice) throws -> Int {
    if let key = slice.point { return try rows.contains(key) ? 1 : 0 }
    return try rows.count(slice)
  }

  func rowIDs(_ slice: KeySlice, _ part: KeySlicePart) throws -> [RowID] {
    if let key = slice.point, part.offset == 0, part.limit > 0 { return try rows.rowID(key).map { [$0] } ?? [] }
    return try rows.rowIDs(
      from: slice.firstKey, upTo: slice.endKey, isReversed: part.isReversed, offset: part.offset, limit: part.limit)
  }

  func places(of rowIDs: [RowID]) throws -> [(rowID: RowID, key: String)] { try rows.places(of: rowIDs) }
}
