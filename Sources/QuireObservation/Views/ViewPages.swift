// Pages of rows that were decoded.

internal import QuireDatabase
internal import QuireViews
internal import Synchronization

/// The pages of one state of a screen: what was asked for of them.
///
/// Invariant: a page has the rows of its places, as many as the section has there, or one failure for all of them; at
/// most `Self.limit` are kept.
final class ViewPages<Object: Sendable, Metadata: Sendable>: Sendable {
  typealias Row = LiveViewRow<Object, Metadata>

  /// How many rows a page has.
  static var size: Int { 32 }
  /// How many pages are kept: what is scrolled past goes.
  static var limit: Int { 64 }

  private struct Place: Hashable {
    let section: Int
    let page: Int
  }

  private struct State {
    var mappings: ViewMappings
    var pages: [Place: [Row]] = [:]
    /// The places of `pages` in the order in which they came.
    var order: [Place] = []
    /// Called when rows cannot be read as the database is suspended.
    var onSuspension: (@Sendable () -> Void)?
  }

  private let snapshot: PinnedSnapshot
  private let source: LiveViewSource<Object, Metadata>
  private let state: Mutex<State>

  init(_ snapshot: PinnedSnapshot, _ source: LiveViewSource<Object, Metadata>, _ mappings: ViewMappings) {
    (self.snapshot, self.source) = (snapshot, source)
    state = Mutex(State(mappings: mappings))
  }

  /// The snapshot has gone on, and the screen shows the same.
  func goOn(to mappings: ViewMappings) { state.withLock { $0.mappings = mappings } }

  /// Has `action` run whenever rows cannot be read as the database is suspended.
  func onSuspension(_ action: @escaping @Sendable () -> Void) { state.withLock { $0.onSuspension = action } }

  /// The row at a place, which exists.
  func row(at path: ViewPath) -> Row {
    let place = Place(section: path.section, page: path.row / Self.size)
    let offset = path.row % Self.size
    if let known = state.withLock({ $0.pages[place] }), offset < known.count { return known[offset] }
    let mappings = state.withLock { $0.mappings }
    do {
      // Outside of the lock: rows are decoded by code of the app.
      let rows = try read(place, mappings)
      keep(rows, at: place)
      guard offset < rows.count else { throw Self.hasGoneOn(mappings) }
      return rows[offset]
    } catch {
      if (error as? DatabaseError)?.code == .suspended { state.withLock { $0.onSuspension }?() }
      return Row(id: Row.ID(content: .place(path)), path: path, content: .failure(error))
    }
  }

  private func keep(_ rows: [Row], at place: Place) {
    state.withLock { state in
      if state.pages.updateValue(rows, forKey: place) == nil { state.order.append(place) }
      if state.order.count > Self.limit { state.pages[state.order.removeFirst()] = nil }
      assert(state.pages.count == state.order.count && state.order.count <= Self.limit, "a page is kept for ever")
    }
  }

  private static func hasGoneOn(_ mappings: ViewMappings) -> DatabaseError {
    DatabaseError(
      .viewRefused, "The screen of the view “\(mappings.viewName)” has gone on. Ask it for its rows again.")
  }

  /// Rows that lie one behind the other in a group.
  private struct Run {
    let group: String
    var indexes: Range<Int>
    /// The row on the screen that the first of them is, in the order shown.
    let firstRow: Int
    var isReversed = false
  }

  private func read(_ place: Place, _ mappings: ViewMappings) throws -> [Row] {
    let first = place.page * Self.size
    let rows = first..<min(first + Self.size, mappings.count(inSection: place.section))
    return try snapshot.read { tx in
      guard tx.csn.rawValue == mappings.csn else { throw Self.hasGoneOn(mappings) }
      let view = try source.reader(tx)
      return try Self.runs(of: rows, section: place.section, mappings).flatMap { run in
        try Self.read(run, section: place.section, view)
      }
    }
  }

  private static func runs(of rows: Range<Int>, section: Int, _ mappings: ViewMappings) -> [Run] {
    var runs: [Run] = []
    for row in rows {
      guard let (group, index) = mappings.location(of: ViewPath(section: section, row: row)) else { continue }
      if var run = runs.last, run.group.utf8.elementsEqual(group.utf8) {
        // The second row of a run tells its direction.
        if run.indexes.count == 1 { run.isReversed = index < run.indexes.lowerBound }
        run.indexes = min(run.indexes.lowerBound, index)..<max(run.indexes.upperBound, index + 1)
        runs[runs.count - 1] = run
      } else {
        runs.append(Run(group: group, indexes: index..<(index + 1), firstRow: row))
      }
    }
    return runs
  }

  private static func read(_ run: Run, section: Int, _ view: ViewReader<Object, Metadata>) throws -> [Row] {
    let found = view.rows(in: run.group, run.indexes)
    var rows: [Row] = []
    rows.reserveCapacity(run.indexes.count)
    for (_, row) in run.isReversed ? found.reversed() : found {
      let id = Row.ID(content: .row(group: run.group, RowKey(row.collection, row.key)))
      let content = Result { Row.Content(object: try row.object, metadata: try row.metadata) }
      rows.append(Row(id: id, path: ViewPath(section: section, row: run.firstRow + rows.count), content: content))
    }
    return rows
  }
}
