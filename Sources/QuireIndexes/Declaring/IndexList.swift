// The indexes of a collection, as they are declared.

internal import QuireDatabase

/// One index, without the types of the rows. A class, as plans look at many of them.
final class IndexDeclaration: Sendable {
  /// When a unique index is checked.
  enum Uniqueness: Sendable { case atCommit, immediate }

  let name: String
  let columns: [KeyColumn]
  let uniqueness: Uniqueness?
  /// Which rows it holds.
  let filter: ConditionNode
  /// What stands for `filter` in the file.
  let filterVersion: String
  /// For each column of a unique index the bytes of values that it lets through; none for other indexes.
  let exempt: [[[UInt8]]]
  /// False for a field whose values stand in records, and that has no entries.
  let hasEntries: Bool

  init<Object, Metadata>(_ index: Index<Object, Metadata>) {
    name = index.name
    hasEntries = index.hasEntries
    columns = index.columns
    uniqueness =
      switch index.uniqueness {
      case .atCommit: .atCommit
      case .immediate: .immediate
      case nil: nil
      }
    exempt = index.uniqueness == nil ? [] : index.columns.map(\.column.incomparable)
    filter = index.filter
    filterVersion = index.filterVersion
  }

  /// An index that only the file describes.
  ///
  /// - Parameter holdsAll: without, no condition is known to be one of its rows alone.
  init(stored name: String, _ columns: [KeyColumn], holdsAll: Bool, hasEntries: Bool) {
    self.name = name
    self.columns = columns
    self.hasEntries = hasEntries
    filter = holdsAll ? .all : .none
    (uniqueness, filterVersion, exempt) = (nil, "", [])
  }

  /// Whether it holds all rows.
  var holdsAll: Bool { filter.conjuncts.isEmpty }

  // Words of `summary`, which tools read again.
  static let nameMark = ": "
  static let eachOf = "each of "
  static let ofMetadata = " of metadata"
  static let descending = " descending"
  static let withoutEntries = "stored without entries"
  /// What stands in front of the names of fields of the metadata where all names stand together.
  static let metadataFields = "metadata."

  /// The declaration for people, and for tools that know no types: the columns with the names of their fields, as far
  /// as the program tells these, and their types; and what else it says.
  var summary: String {
    var parts = columns.map { key in
      var text = key.column.typeName
      if key.column.id.kind == .elements { text = Self.eachOf + text }
      if let name = key.column.fieldName { text = name + Self.nameMark + text }
      if key.column.id.half == .metadata { text += Self.ofMetadata }
      return key.isDescending ? text + Self.descending : text
    }
    if let uniqueness { parts.append(uniqueness == .immediate ? "unique at once" : "unique") }
    if !holdsAll { parts.append("some rows") }
    if !hasEntries { parts.append(Self.withoutEntries) }
    return parts.joined(separator: ", ")
  }

  /// What the file depends on of the declaration, in words; of key paths types and names. Made when a catalog is read,
  /// and not with each list.
  var signature: String {
    var text = ""
    for key in columns {
      text += "\(key.column.id.half),\(key.column.id.kind),\(key.column.name),\(key.isDescending)|"
    }
    text += "\(uniqueness.map { "\($0)" } ?? "")|\(filterVersion)|"
    if !hasEntries { text += "stored|" }
    for node in filter.conjuncts { text += node.signature }
    return Fingerprint(text).digits
  }
}

extension ConditionNode {
  /// What it says, in words; of key paths types and names, and of closures nothing.
  fileprivate var signature: String {
    switch self {
    case .value(let column, let ranges): "\(column.name)\(ranges.list)"
    case .elements(let column, let ranges, let isNegated): "\(column.name)\(ranges.list)\(isNegated)"
    case .and(let nodes): "(" + nodes.map(\.signature).joined(separator: "&") + ")"
    case .or(let nodes): "(" + nodes.map(\.signature).joined(separator: "|") + ")"
    case .none: "none"
    default: "?"
    }
  }
}

/// A list of indexes, and what follows from it alone.
final class IndexList: Sendable {
  /// What they are registered under.
  let name: String
  /// The name of the collection.
  let collection: String
  let indexes: [IndexDeclaration]
  /// What records hold.
  let fields: IndexFields
  let names: [String]

  init(_ name: String, _ collection: String, _ indexes: [IndexDeclaration]) {
    self.name = name
    self.collection = collection
    self.indexes = indexes
    fields = IndexFields(indexes)
    names = indexes.map(\.name)
  }
}

/// Sixteen digits that differ where texts do, by Fowler, Noll and Vo's hash.
struct Fingerprint {
  let digits: String

  init(_ text: String) {
    let hash = text.utf8.reduce(0xcbf2_9ce4_8422_2325 as UInt64) { ($0 ^ UInt64($1)) &* 0x100_0000_01b3 }
    digits = String(hash, radix: 16)
  }
}
