// Collections that are alike, some of which are made at run time.

/// Collections with the same types, whose names need not be known beforehand: an app may make one per thread, account
/// or day, and have views and relationships follow all of them, those to come as well.
///
/// ```swift
/// let threads = CollectionFamily<Message, NoMetadata>(.matching { $0.hasPrefix("thread/") })
/// let authors = Relationship("authors").deriving(over: threads) { message, row in
///   [Edge("author", to: .people, key: message.author, rules: .deleteSourceIfDestinationDeleted)]
/// }
/// ```
///
/// A description and nothing more, like `RowCollection`. May be used from any thread.
public struct CollectionFamily<Object: Sendable, Metadata: Sendable>: Sendable {
  /// Which collections belong to it.
  public let filter: CollectionFilter
  /// Those that are known by name, in the order in which they were given; empty if only `filter` knows them.
  public let named: [RowCollection<Object, Metadata>]
  private let describe: @Sendable (String) -> RowCollection<Object, Metadata>?

  /// The collections that `filter` lets through.
  ///
  /// - Parameters:
  ///   - filter: which ones; the same ones for as long as the version of what follows them stays the same.
  ///   - describe: the description of one, by its name. Called whenever one of its rows is decoded: cheap.
  public init(
    _ filter: CollectionFilter, describedBy describe: @escaping @Sendable (String) -> RowCollection<Object, Metadata>
  ) {
    self.filter = filter
    self.describe = describe
    named = []
  }

  /// These collections and no others. Of two with one name the first one counts.
  public init(_ collections: [RowCollection<Object, Metadata>]) {
    filter = .only(collections.map(\.name))
    named = collections
    describe = { name in collections.first { $0.name.hasSameBytes(as: name) } }
  }

  private init(
    _ filter: CollectionFilter, _ named: [RowCollection<Object, Metadata>],
    _ describe: @escaping @Sendable (String) -> RowCollection<Object, Metadata>?
  ) {
    (self.filter, self.named, self.describe) = (filter, named, describe)
  }

  /// Those of these collections that a filter lets through as well.
  public func limited(to filter: CollectionFilter) -> Self {
    let named = named.filter { filter.contains($0.name) }
    return Self(self.filter.intersection(filter), named, describe)
  }

  /// The description of a collection; nil if it does not belong here. Names are the same if their bytes are.
  public func collection(named name: String) -> RowCollection<Object, Metadata>? {
    filter.contains(name) ? describe(name) : nil
  }
}

extension CollectionFamily where Object: Codable, Metadata: Codable {
  /// The collections that `filter` lets through, with the coders that `RowCollection` has by default.
  public init(_ filter: CollectionFilter) { self.init(filter) { RowCollection($0) } }
}
