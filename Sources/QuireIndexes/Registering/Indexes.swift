// The extension that holds all indexes of a collection.

public import QuireDatabase

/// All indexes of one collection.
///
/// ```swift
/// extension Indexes where Object == Song, Metadata == NoMetadata {
///   static var songs: Self {
///     .init("songs.indexes", over: .songs, version: "1") {
///       Index("artist", \.artist)
///       Index("year-rating", \.year, .descending(\.rating))
///       Index("tags", each: \.tags)
///     }
///   }
/// }
///
/// try db.register(Indexes.songs)
/// ```
///
/// One extension for all of them: a changed row is read once, its values stand once in a tree of their own beside the
/// entries of each index, and a change of other fields costs one look-up and no write. Queries find the indexes that
/// serve them by the key paths; names stand in the file, in plans and in errors.
public struct Indexes<Object: Sendable, Metadata: Sendable>: DatabaseExtension {
  public static var kind: String { "quire.indexes" }

  public let name: String
  public let version: String
  public let collections: CollectionFilter
  public let halves: ChangedHalves
  public var handlesClearing: Bool { true }

  let collection: RowCollection<Object, Metadata>
  let indexes: [Index<Object, Metadata>]
  let layout: RecordLayout<Object, Metadata>

  /// Describes the indexes of a collection.
  ///
  /// - Parameters:
  ///   - name: what they are registered under.
  ///   - collection: the collection whose rows they hold.
  ///   - version: to be changed when a field, a computed one perhaps, gives another value for a row than it did; what
  ///     the list itself says is noticed without. Another version has all of them built anew.
  ///   - list: the indexes; their names differ.
  public init(
    _ name: String, over collection: RowCollection<Object, Metadata>, version: String = "",
    @IndexListBuilder<Object, Metadata> _ list: () -> [Index<Object, Metadata>]
  ) {
    self.name = name
    self.collection = collection
    indexes = list()
    layout = RecordLayout(indexes)
    collections = .only([collection.name])
    halves = layout.halves
    self.version = "\(version)/\(IndexDefinition(indexes).fingerprint)"
  }

  public func checkRegistration(beside others: [any DatabaseExtension]) throws {
    for index in indexes {
      guard !index.columns.isEmpty, index.columns.count <= IndexKey.columnLimit else {
        throw IndexError.columnCount(index: index.name, count: index.columns.count)
      }
      guard index.columns.filter({ $0.column.id.kind == .elements }).count <= 1 else {
        throw IndexError.severalLists(index: index.name)
      }
    }
    let names = indexes.map(\.name)
    if let twice = names.first(where: { name in names.filter { $0 == name }.count > 1 }) {
      throw IndexError.nameUsedTwice(index: twice)
    }
    for case let other as Self in others where other.collection.name.utf8.elementsEqual(collection.name.utf8) {
      throw IndexError.severalForCollection(collection: collection.name, other: other.name)
    }
  }

  public func makeReader(_ store: ExtensionStore) throws -> IndexReader<Object, Metadata> {
    IndexReader(self, try IndexTrees(store, indexes.map(\.name)))
  }

  public func makeWriter(_ store: ExtensionStore) throws -> IndexWriter<Object, Metadata> {
    try IndexWriter(self, store)
  }
}

/// What a list of indexes says, as far as the file depends on it.
struct IndexDefinition {
  private var text = ""

  init<Object, Metadata>(_ indexes: [Index<Object, Metadata>]) {
    for index in indexes {
      text += "\(index.name.utf8.count):\(index.name)"
      for column in index.columns {
        text += "|\(column.column.id.half),\(column.column.id.kind),\(column.column.typeName),\(column.isDescending)"
      }
      text += "|\(index.uniqueness.map { "\($0)" } ?? "")|\(index.filterVersion)|"
      for case .value(let column, let ranges) in index.filter.conjuncts { text += "\(column.typeName)\(ranges.list)" }
      for case .elements(let column, let ranges, let isNegated) in index.filter.conjuncts {
        text += "\(column.typeName)\(ranges.list)\(isNegated)"
      }
      text += ";"
    }
  }

  /// Sixteen digits that differ where the text does, by Fowler, Noll and Vo's hash.
  var fingerprint: String {
    let hash = text.utf8.reduce(0xcbf2_9ce4_8422_2325 as UInt64) { ($0 ^ UInt64($1)) &* 0x100_0000_01b3 }
    return String(hash, radix: 16)
  }
}
