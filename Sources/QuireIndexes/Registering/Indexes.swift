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
///
/// The guide is <doc:FindingRows>.
public struct Indexes<Object: Sendable, Metadata: Sendable>: DatabaseExtension {
  public static var kind: String { IndexTrees.kind }
  public static var formatVersion: UInt32 { IndexTrees.formatVersion }
  public static var readsTreesOnly: Bool { true }

  public let name: String
  public let version: String
  public let collections: CollectionFilter
  public let halves: ChangedHalves
  public var handlesClearing: Bool { true }
  public var servedCollection: String? { list.collection }

  let list: IndexList
  let collection: RowCollection<Object, Metadata>
  /// Records are completed in steps of so many rows, between which other writers get their turn.
  var completedStepCount = 1 << 11
  /// The memory for entries that wait to be sorted, in bytes; what is beyond goes to a temporary file.
  var sortedByteCount = 16 << 20
  private let cache = MapCache()

  /// Describes the indexes of a collection.
  ///
  /// - Parameters:
  ///   - name: what they are registered under.
  ///   - collection: the collection whose rows they hold.
  ///   - version: to be changed when a field, a computed one perhaps, gives another value for a row than it did.
  ///     Another version has all of them built anew. What the list itself says is noticed without, and an index that is
  ///     new or says something else is built alone. Of fields it is types and names that are noticed, the names
  ///     only where the program has symbols that tell them.
  ///   - list: the indexes; their names differ.
  public init(
    _ name: String, over collection: RowCollection<Object, Metadata>, version: String = "",
    @IndexListBuilder<Object, Metadata> _ list: () -> [Index<Object, Metadata>]
  ) {
    self.name = name
    self.collection = collection
    self.list = IndexList(name, collection.name, list().map { IndexDeclaration($0) })
    self.version = version
    collections = .only([collection.name])
    halves = self.list.fields.halves
  }

  public func checkRegistration(beside others: [any DatabaseExtension]) throws {
    for index in list.indexes {
      guard !index.columns.isEmpty, index.columns.count <= IndexKey.columnLimit else {
        throw IndexError.columnCount(index: index.name, count: index.columns.count)
      }
      guard index.columns.filter({ $0.column.id.kind == .elements }).count <= 1 else {
        throw IndexError.severalLists(index: index.name)
      }
      if index.filter.hasPart(where: { $0.asksKey || $0.isSelection }) {
        throw IndexError.asksBeyondFields(index: index.name)
      }
    }
    let names = list.indexes.map(\.name)
    if let twice = names.first(where: { name in names.filter { $0 == name }.count > 1 }) {
      throw IndexError.nameUsedTwice(index: twice)
    }
    for case let other as Self in others where other.list.collection.utf8.elementsEqual(list.collection.utf8) {
      throw IndexError.severalForCollection(collection: list.collection, other: other.name)
    }
  }

  public func makeReader(_ store: ExtensionStore) throws -> IndexReader<Object, Metadata> {
    try IndexReader(collection, list, store, cache)
  }

  public func makeWriter(_ store: ExtensionStore) throws -> IndexWriter<Object, Metadata> {
    IndexWriter(collection, try IndexUpkeep(list, store, cache))
  }

  public func finishBuilding(in database: Database, progress: (Database.Progress) throws -> Void) throws {
    try withoutActuallyEscaping(progress) { progress in
      try IndexBuilder(indexes: self, database: database, progress: progress).run()
    }
  }
}
