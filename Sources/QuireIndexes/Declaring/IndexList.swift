// The indexes of a collection, as they are declared.

internal import QuireDatabase

/// A list of indexes, and what follows from it alone.
struct IndexList<Object: Sendable, Metadata: Sendable>: Sendable {
  /// What they are registered under.
  let name: String
  let collection: RowCollection<Object, Metadata>
  let indexes: [Index<Object, Metadata>]
  /// What records hold.
  let fields: IndexFields<Object, Metadata>
  /// For each index what its declaration says, as far as its entries depend on it.
  let signatures: [String]
  let names: [String]

  init(_ name: String, _ collection: RowCollection<Object, Metadata>, _ indexes: [Index<Object, Metadata>]) {
    self.name = name
    self.collection = collection
    self.indexes = indexes
    fields = IndexFields(indexes)
    signatures = indexes.map(\.signature)
    names = indexes.map(\.name)
  }
}

extension Index {
  /// What the file depends on of the declaration, in words; of key paths only the types can be told.
  var signature: String {
    var text = ""
    for column in columns {
      text += "\(column.column.id.half),\(column.column.id.kind),\(column.column.typeName),\(column.isDescending)|"
    }
    text += "\(uniqueness.map { "\($0)" } ?? "")|\(filterVersion)|"
    for node in filter.conjuncts {
      switch node {
      case .value(let column, let ranges): text += "\(column.typeName)\(ranges.list)"
      case .elements(let column, let ranges, let isNegated): text += "\(column.typeName)\(ranges.list)\(isNegated)"
      default: text += "?"
      }
    }
    return Fingerprint(text).digits
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
