// Parts of the edges that lie together in one of their orders.

/// Edges that lie together in the order by source or in that by destination.
enum EdgeRange {
  /// All of them, by source.
  case all
  /// Those that begin at a row.
  case source(Int64)
  /// The derived ones that begin at a row.
  case derived(of: Int64)
  /// Those that lead to a row.
  case destination(Int64)
  /// Those that lead to files.
  case files

  /// Whether all of them begin, or end, at one row.
  var isOfOneRow: Bool {
    switch self {
    case .source, .derived, .destination: true
    case .all, .files: false
    }
  }

  /// In which of the two orders they lie together.
  var order: EdgeOrder {
    switch self {
    case .all, .source, .derived: .bySource
    case .destination, .files: .byDestination
    }
  }

  /// How their keys begin in the tree of that order.
  var prefix: [UInt8] {
    switch self {
    case .all: []
    case .source(let row): StoredEdge.prefix(row)
    case .derived(let row): StoredEdge.prefix(row, isDerived: true)
    case .destination(let row): StoredEdge.prefix(.row(row))
    case .files: StoredEdge.filePrefix
    }
  }

  /// Whether all of them come after an edge, in their order.
  func isAfter(_ edge: StoredEdge) -> Bool {
    switch self {
    case .all: false
    // Derived ones come first.
    case .source(let row), .derived(let row): edge.source < row
    // Files come after all rows.
    case .destination(let row): edge.destinationRow.map { $0 < row } ?? false
    case .files: edge.destinationRow != nil
    }
  }

  func contains(_ edge: StoredEdge) -> Bool {
    switch self {
    case .all: true
    case .source(let row): edge.source == row
    case .derived(let row): edge.source == row && edge.isDerived
    case .destination(let row): edge.destinationRow == row
    case .files: edge.destinationRow == nil
    }
  }
}

extension StoredDestination {
  /// Whether it stands in front of another one in keys.
  func precedes(_ other: StoredDestination) -> Bool {
    switch (self, other) {
    case (.row(let one), .row(let other)): one < other
    case (.row, .file): true
    case (.file, .row): false
    case (.file(let one), .file(let other)): one.lexicographicallyPrecedes(other)
    }
  }
}

extension StoredEdge {
  /// Whether its key in the tree by source is below another edge's.
  func precedesBySource(_ other: StoredEdge) -> Bool {
    if source != other.source { return source < other.source }
    if isDerived != other.isDerived { return isDerived }
    if destination != other.destination { return destination.precedes(other.destination) }
    return name < other.name
  }

  /// Whether its key in the tree by destination is below another edge's.
  func precedesByDestination(_ other: StoredEdge) -> Bool {
    if destination != other.destination { return destination.precedes(other.destination) }
    if name != other.name { return name < other.name }
    if source != other.source { return source < other.source }
    return isDerived && !other.isDerived
  }

  /// Whether it is the same edge, whatever its rules.
  func isSame(as other: StoredEdge) -> Bool {
    source == other.source && name == other.name && isDerived == other.isDerived && destination == other.destination
  }
}
