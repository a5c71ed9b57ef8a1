// Edges under their original names.

public import Foundation
internal import Quire

/// What happens to one end of an edge when the other end goes. New type: `EdgeRules`.
public struct YDB_NodeDeleteRules: OptionSet, Hashable, Sendable {
  /// One bit for each rule; the same as in `EdgeRules`.
  public let rawValue: UInt16
  /// Wraps bits.
  public init(rawValue: UInt16) { self.rawValue = rawValue }

  /// When the source goes, the destination's object is told.
  public static let notifyIfSourceDeleted = YDB_NodeDeleteRules(rawValue: 1)
  /// When the destination goes, the source's object is told.
  public static let notifyIfDestinationDeleted = YDB_NodeDeleteRules(rawValue: 2)
  /// When the destination goes, so does the source.
  public static let deleteSourceIfDestinationDeleted = YDB_NodeDeleteRules(rawValue: 4)
  /// When the source goes, so does the destination.
  public static let deleteDestinationIfSourceDeleted = YDB_NodeDeleteRules(rawValue: 8)
  /// When the last destination of the edge's name goes, so does the source.
  public static let deleteSourceIfAllDestinationsDeleted = YDB_NodeDeleteRules(rawValue: 16)
  /// When the last source of the edge's name goes, so does the destination.
  public static let deleteDestinationIfAllSourcesDeleted = YDB_NodeDeleteRules(rawValue: 32)

  var rules: EdgeRules { EdgeRules(rawValue: UInt8(truncatingIfNeeded: rawValue)) }
}

/// Why an edge is no more. New type: `EdgeReason`.
public enum YDB_NotifyReason: Int, Sendable {
  /// It was taken away.
  case edgeDeleted
  /// Its source has gone.
  case sourceNodeDeleted
  /// Its destination has gone.
  case destinationNodeDeleted

  init(_ reason: EdgeReason) {
    self =
      switch reason {
      case .edgeRemoved: .edgeDeleted
      case .sourceDeleted: .sourceNodeDeleted
      case .destinationDeleted: .destinationNodeDeleted
      }
  }

  var reason: EdgeReason {
    switch self {
    case .edgeDeleted: .edgeRemoved
    case .sourceNodeDeleted: .sourceDeleted
    case .destinationNodeDeleted: .destinationDeleted
    }
  }
}

/// A named, directed connection of a row to another row or to a file. New type: `Edge`.
///
/// Objects may keep edges among their fields; encoded it is the same as an `Edge`.
public struct YapDatabaseRelationshipEdge: Hashable, Codable, Sendable {
  let edge: Edge

  init(_ edge: Edge) { self.edge = edge }

  /// Reads what `encode(to:)` writes, or an `Edge`.
  public init(from decoder: any Decoder) throws { edge = try Edge(from: decoder) }

  public func encode(to encoder: any Encoder) throws { try edge.encode(to: encoder) }

  /// An edge from an object's own row to another row. New call: `Edge(_:to:key:rules:)`.
  public init(name: String, destinationKey: String, collection: String?, nodeDeleteRules rules: YDB_NodeDeleteRules) {
    edge = Edge(name, to: .row(RowKey(collection ?? "", destinationKey)), rules: rules.rules)
  }

  /// An edge from an object's own row to a file. New call: `Edge(_:toFile:rules:)`.
  public init(name: String, destinationFileURL url: URL, nodeDeleteRules rules: YDB_NodeDeleteRules) {
    edge = Edge(name, toFile: url, rules: rules.rules)
  }

  /// An edge from one row to another. New call: `Edge(_:from:_:to:_:rules:)`.
  public init(
    name: String, sourceKey: String, collection sourceCollection: String?, destinationKey: String,
    collection destinationCollection: String?, nodeDeleteRules rules: YDB_NodeDeleteRules
  ) {
    edge = Edge(
      name, from: RowKey(sourceCollection ?? "", sourceKey),
      to: .row(RowKey(destinationCollection ?? "", destinationKey)),
      rules: rules.rules)
  }

  /// An edge from a row to a file. New call: `Edge(_:from:_:toFile:rules:)`.
  public init(
    name: String, sourceKey: String, collection sourceCollection: String?, destinationFileURL url: URL,
    nodeDeleteRules rules: YDB_NodeDeleteRules
  ) {
    edge = Edge(
      name, from: RowKey(sourceCollection ?? "", sourceKey), to: .file(url.isFileURL ? url.path : ""),
      rules: rules.rules)
  }

  /// What the edge is found by. New call: `Edge.name`.
  public var name: String { edge.name }
  /// The key of the row where it begins; nil in an edge that an object derives. New call: `Edge.source`.
  public var sourceKey: String? { edge.source?.key }
  /// The collection of that row. New call: `Edge.source`.
  public var sourceCollection: String? { edge.source?.collection }
  /// The key of the row where it leads; nil if that is a file. New call: `Edge.destination`.
  public var destinationKey: String? { destination?.key }
  /// The collection of that row. New call: `Edge.destination`.
  public var destinationCollection: String? { destination?.collection }
  /// What happens when an end goes. New call: `Edge.rules`.
  public var nodeDeleteRules: YDB_NodeDeleteRules { YDB_NodeDeleteRules(rawValue: UInt16(edge.rules.rawValue)) }
  /// Whether it was made by hand. New call: `Edge.isDerived`.
  public var isManualEdge: Bool { !edge.isDerived }

  /// The file where it leads; nil if that is a row. New call: `Edge.destination`.
  public var destinationFileURL: URL? {
    guard case .file(let path) = edge.destination else { return nil }
    return URL(fileURLWithPath: path)
  }

  private var destination: RowKey? {
    guard case .row(let key) = edge.destination else { return nil }
    return key
  }
}
