// An edge as apps write it and get it.

#if canImport(FoundationEssentials)
  public import FoundationEssentials
#else
  public import Foundation
#endif
public import QuireDatabase

/// Where an edge leads: to a row, or to a file.
public enum EdgeDestination: Hashable, Sendable, CustomStringConvertible {
  /// A row, which need not exist before the transaction ends.
  case row(RowKey)
  /// A file, by its path, which is kept as it is given.
  case file(String)

  public static func == (left: Self, right: Self) -> Bool {
    switch (left, right) {
    case (.row(let left), .row(let right)): left == right
    case (.file(let left), .file(let right)): left.utf8.elementsEqual(right.utf8)
    default: false
    }
  }

  public func hash(into hasher: inout Hasher) {
    switch self {
    case .row(let key): hasher.combine(key)
    case .file(let path): hasher.combine(ByteString(path))
    }
  }

  public var description: String {
    switch self {
    case .row(let key): "\(key)"
    case .file(let path): "file \(path)"
    }
  }
}

/// What can name a file: a path, or a file URL.
public protocol EdgeFile {
  /// The path; empty if this names no file.
  var edgePath: String { get }
}

extension String: EdgeFile {
  public var edgePath: String { self }
}

extension URL: EdgeFile {
  public var edgePath: String { isFileURL ? path : "" }
}

/// A named, directed connection of a row to another row or to a file, with rules about what happens when an end goes.
///
/// Two edges of one domain, derived or made by hand, are the same one if name, source and destination are; storing it
/// again replaces its rules. Names and keys are the same if their bytes are. Which rules go together is checked when an
/// edge is stored: a rule for the last one (`deleteSourceIfAllDestinationsDeleted`) and its plain form
/// (`deleteSourceIfDestinationDeleted`) exclude each other, on either side; and as nobody watches or tells files, an
/// edge to one has no rules but those that delete it.
public struct Edge: Hashable, Codable, Sendable, CustomStringConvertible {
  /// What the edge is found by; at most 512 bytes.
  public let name: String
  /// The row where it begins. Nil in an edge that an object derives: it begins at the object's row.
  public let source: RowKey?
  /// Where it leads.
  public let destination: EdgeDestination
  /// What happens when an end goes.
  public let rules: EdgeRules
  /// Whether it came from an object; set in what queries return.
  public let isDerived: Bool

  init(_ name: String, _ source: RowKey?, _ destination: EdgeDestination, _ rules: EdgeRules, isDerived: Bool) {
    self.name = name
    self.source = source
    self.destination = destination
    self.rules = rules
    self.isDerived = isDerived
  }

  /// An edge between any two ends.
  public init(_ name: String, from source: RowKey? = nil, to destination: EdgeDestination, rules: EdgeRules = []) {
    self.init(name, source, destination, rules, isDerived: false)
  }

  /// An edge from an object's own row to another row.
  public init<Object, Metadata>(
    _ name: String, to collection: RowCollection<Object, Metadata>, key: String, rules: EdgeRules = []
  ) {
    self.init(name, nil, .row(RowKey(collection.name, key)), rules, isDerived: false)
  }

  /// An edge from an object's own row to a file.
  public init(_ name: String, toFile file: some EdgeFile, rules: EdgeRules = []) {
    self.init(name, nil, .file(file.edgePath), rules, isDerived: false)
  }

  /// An edge from one row to another.
  public init<Object, Metadata, OtherObject, OtherMetadata>(
    _ name: String, from collection: RowCollection<Object, Metadata>, _ key: String,
    to other: RowCollection<OtherObject, OtherMetadata>, _ otherKey: String, rules: EdgeRules = []
  ) {
    self.init(
      name, RowKey(collection.name, key), .row(RowKey(other.name, otherKey)), rules, isDerived: false)
  }

  /// An edge from a row to a file.
  public init<Object, Metadata>(
    _ name: String, from collection: RowCollection<Object, Metadata>, _ key: String, toFile file: some EdgeFile,
    rules: EdgeRules = []
  ) {
    self.init(name, RowKey(collection.name, key), .file(file.edgePath), rules, isDerived: false)
  }

  public static func == (left: Self, right: Self) -> Bool {
    left.name.utf8.elementsEqual(right.name.utf8) && left.source == right.source
      && left.destination == right.destination && left.rules == right.rules && left.isDerived == right.isDerived
  }

  public func hash(into hasher: inout Hasher) {
    hasher.combine(ByteString(name))
    hasher.combine(source)
    hasher.combine(destination)
  }

  public var description: String {
    "\(source.map { "\($0)" } ?? "the row") –\(name)→ \(destination) \(rules)\(isDerived ? ", derived" : "")"
  }
}

extension EdgeDestination: Codable {
  private enum CodingKeys: CodingKey { case row, file }

  /// Under “row” or “file”.
  public func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: CodingKeys.self)
    switch self {
    case .row(let key): try container.encode(key, forKey: .row)
    case .file(let path): try container.encode(path, forKey: .file)
    }
  }

  /// - Throws: `DecodingError` unless there is one of the two.
  public init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    let row = try container.decodeIfPresent(RowKey.self, forKey: .row)
    let file = try container.decodeIfPresent(String.self, forKey: .file)
    switch (row, file) {
    case (let row?, nil): self = .row(row)
    case (nil, let file?): self = .file(file)
    default:
      let context = DecodingError.Context(
        codingPath: container.codingPath, debugDescription: "An edge leads to a row or to a file.")
      throw DecodingError.dataCorrupted(context)
    }
  }
}

/// An object that knows its edges.
public protocol EdgeSource {
  /// The edges that begin at the object's row. Asked when the object is stored, inside the transaction; the same one
  /// twice counts once, with the rules of the last.
  func edges() throws -> [Edge]
}

/// An object that is told when an edge of its row has gone.
public protocol EdgeObserver {
  /// What the object is to become now that `edge` is no more; nil if it stays as it is. Called inside the transaction,
  /// also if the row has gone, too, or is about to go: the result is ignored then.
  func changed(by edge: Edge, _ reason: EdgeReason) throws -> Self?
}
