// What happens to the ends of an edge.

/// What happens to one end of an edge when the other end goes; a set.
///
/// “All” means all edges of the same name at that end. A row or a file takes part in as many edges as one likes, and
/// each has its own rules.
public struct EdgeRules: OptionSet, Hashable, Codable, Sendable, CustomStringConvertible {
  /// One bit for each rule.
  public let rawValue: UInt8
  /// Wraps bits.
  public init(rawValue: UInt8) { self.rawValue = rawValue }

  /// When the source goes, the destination's row is told, by the closure for its collection.
  public static let notifyIfSourceDeleted = EdgeRules(rawValue: 1)
  /// When the destination goes, the source's row is told, by the closure for its collection.
  public static let notifyIfDestinationDeleted = EdgeRules(rawValue: 2)
  /// When the destination goes, so does the source.
  public static let deleteSourceIfDestinationDeleted = EdgeRules(rawValue: 4)
  /// When the source goes, so does the destination.
  public static let deleteDestinationIfSourceDeleted = EdgeRules(rawValue: 8)
  /// When the destination goes, so does the source, unless other edges of the name begin there.
  public static let deleteSourceIfAllDestinationsDeleted = EdgeRules(rawValue: 16)
  /// When the source goes, so does the destination, unless other edges of the name end there.
  public static let deleteDestinationIfAllSourcesDeleted = EdgeRules(rawValue: 32)

  static let notices: EdgeRules = [.notifyIfSourceDeleted, .notifyIfDestinationDeleted]
  /// What looks at rows, or at other edges.
  static let looking: EdgeRules = [
    .notifyIfSourceDeleted, .notifyIfDestinationDeleted, .deleteSourceIfAllDestinationsDeleted,
    .deleteDestinationIfAllSourcesDeleted,
  ]
  /// What matters when the source goes.
  static let ofSource: EdgeRules = [
    .notifyIfSourceDeleted, .deleteDestinationIfSourceDeleted, .deleteDestinationIfAllSourcesDeleted,
  ]
  /// What matters when the destination goes.
  static let ofDestination: EdgeRules = [
    .notifyIfDestinationDeleted, .deleteSourceIfDestinationDeleted, .deleteSourceIfAllDestinationsDeleted,
  ]
  /// The rules that sooner or later delete the destination; who has one keeps a file until then.
  static let keeping: EdgeRules = [.deleteDestinationIfSourceDeleted, .deleteDestinationIfAllSourcesDeleted]

  /// A destination that other edges of the name lead to stays. For sources of which nobody knows any more where they
  /// were: there may be a row again in their place, which names the destination as they did.
  mutating func letOthersKeepDestination() {
    if remove(.deleteDestinationIfSourceDeleted) != nil { insert(.deleteDestinationIfAllSourcesDeleted) }
  }

  private static let names = [
    "notifyIfSourceDeleted", "notifyIfDestinationDeleted", "deleteSourceIfDestinationDeleted",
    "deleteDestinationIfSourceDeleted", "deleteSourceIfAllDestinationsDeleted", "deleteDestinationIfAllSourcesDeleted",
  ]

  /// The names of the rules.
  public var description: String {
    let named = Self.names.indices.filter { rawValue >> UInt8($0) & 1 == 1 }.map { Self.names[$0] }
    return "[\((rawValue < 64 ? named : named + ["unknown"]).joined(separator: ", "))]"
  }
}

/// Why an edge is no more.
public enum EdgeReason: Hashable, Sendable {
  /// It was taken away, and nothing follows from that.
  case edgeRemoved
  /// Its source was removed, was missing when the transaction ended, or does not name the edge any more.
  case sourceDeleted
  /// Its destination was removed, or was missing when the transaction ended.
  case destinationDeleted
}

/// What becomes of an edge with a rule to tell the rows of a collection that no `notifying` of the relationship names.
public enum UntoldRows: Hashable, Sendable {
  /// The edge is refused with `invalidEdge`: a rule that can never do anything is a mistake.
  case refuse
  /// The edge is stored like any other, and where its rule holds nobody is told.
  case leaveAlone
}

/// What becomes of an edge that is added, or derived for the first time, and leads to a row that does not exist when
/// the transaction ends, or begins at one.
public enum MissingEnds: Hashable, Sendable {
  /// The missing row counts as a deleted one, with all that the edge's rules say: the other end may be deleted.
  case countAsDeleted
  /// The transaction fails with `danglingEdge`, and so does a registration that finds such an edge. Nothing is changed.
  case refuse
}
