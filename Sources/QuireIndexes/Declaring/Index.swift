// One index: which values of rows it holds, in which order.

public import QuireDatabase

/// One index of a collection, as `Indexes` lists them.
///
/// ```swift
/// Index("artist", \.artist)
/// Index("year-rating", \.year, .descending(\.rating))
/// Index("isbn", \.isbn).unique()
/// Index("tags", each: \.tags)
/// Index("unplayed", \.added).where { $0.plays == 0 }
/// ```
public struct Index<Object: Sendable, Metadata: Sendable>: Sendable {
  /// When a unique index is checked.
  public enum Uniqueness: Hashable, Sendable {
    /// At the end of the transaction: within it two rows may have the same value for a while, as when they are swapped.
    case atCommit
    /// With each change.
    case immediate
  }

  /// What it is called in the file, in plans and in errors.
  public let name: String
  let columns: [KeyColumn]
  private(set) var uniqueness: Uniqueness?
  /// Which rows it holds.
  private(set) var filter = ConditionNode.all
  /// What stands for `filter` in the file.
  private(set) var filterVersion = ""
  /// False for what `StoredField` makes.
  let hasEntries: Bool

  /// An index over columns.
  public init(_ name: String, columns: [IndexColumn<Object, Metadata>]) {
    self.name = name
    self.columns = columns.map(\.key)
    hasEntries = true
  }

  /// A field that is stored beside the columns of indexes.
  init(_ field: StoredField<Object, Metadata>) {
    name = field.name
    columns = [field.column.key]
    hasEntries = false
  }

  /// An index over columns.
  public init(_ name: String, _ columns: IndexColumn<Object, Metadata>...) { self.init(name, columns: columns) }

  /// An index over one field.
  public init<Value: SortKey>(_ name: String, _ path: any KeyPath<Object, Value> & Sendable) {
    self.init(name, columns: [.ascending(path)])
  }

  /// An index over two fields: rows are in order of the second among those with the same first.
  public init<First: SortKey, Second: SortKey>(
    _ name: String, _ first: any KeyPath<Object, First> & Sendable, _ second: any KeyPath<Object, Second> & Sendable
  ) {
    self.init(name, columns: [.ascending(first), .ascending(second)])
  }

  /// An index over a field and further columns.
  public init<First: SortKey>(
    _ name: String, _ first: any KeyPath<Object, First> & Sendable, _ others: IndexColumn<Object, Metadata>...
  ) {
    self.init(name, columns: [.ascending(first)] + others)
  }

  /// An index over three fields.
  public init<First: SortKey, Second: SortKey, Third: SortKey>(
    _ name: String, _ first: any KeyPath<Object, First> & Sendable, _ second: any KeyPath<Object, Second> & Sendable,
    _ third: any KeyPath<Object, Third> & Sendable
  ) {
    self.init(name, columns: [.ascending(first), .ascending(second), .ascending(third)])
  }

  /// An index with an entry for each distinct element of a list or set.
  public init<Elements: Sequence & SendableMetatype>(
    _ name: String, each path: any KeyPath<Object, Elements> & Sendable
  )
  where Elements.Element: SortKey, Elements.Iterator: SendableMetatype {
    self.init(name, columns: [.each(path)])
  }

  /// An index over a field of the metadata.
  public init<Value: SortKey>(_ name: String, metadata path: any KeyPath<Metadata, Value> & Sendable) {
    self.init(name, columns: [.metadata(path)])
  }

  /// The same index, of which no two rows may have the same values. Rows with a nil among them are let through, and
  /// those with what is not a number.
  public func unique(_ uniqueness: Uniqueness = .atCommit) -> Self {
    var copy = self
    copy.uniqueness = uniqueness
    return copy
  }

  /// The same index with only the rows that satisfy a condition. It serves queries whose condition says at least as
  /// much.
  ///
  /// - Parameters:
  ///   - version: to be changed with a condition that a closure, or a value from elsewhere, is a part of; what
  ///     fields are compared with is noticed without.
  ///   - condition: which rows are in the index.
  public func `where`(
    version: String = "", _ condition: (Fields<Object, Metadata>) throws -> Condition<Object, Metadata>
  ) rethrows -> Self {
    var copy = self
    copy.filter = try .both(filter, condition(Fields()).node)
    copy.filterVersion = version
    return copy
  }
}

/// A column of an index, or of an order: a field and a direction.
public struct IndexColumn<Object: Sendable, Metadata: Sendable>: Sendable {
  let key: KeyColumn

  private init(_ column: Column, isDescending: Bool = false) { key = KeyColumn(column, isDescending: isDescending) }

  /// The least first.
  public static func ascending<Value: SortKey>(_ path: any KeyPath<Object, Value> & Sendable) -> Self {
    Self(Column(FieldPath(path), beside: Metadata.self))
  }

  /// The greatest first.
  public static func descending<Value: SortKey>(_ path: any KeyPath<Object, Value> & Sendable) -> Self {
    Self(Column(FieldPath(path), beside: Metadata.self), isDescending: true)
  }

  /// A field of the metadata; rows without metadata come first.
  public static func metadata<Value: SortKey>(_ path: any KeyPath<Metadata, Value> & Sendable) -> Self {
    Self(Column(metadata: FieldPath(path), beside: Object.self))
  }

  /// A field of the metadata, the greatest first.
  public static func metadataDescending<Value: SortKey>(_ path: any KeyPath<Metadata, Value> & Sendable) -> Self {
    Self(Column(metadata: FieldPath(path), beside: Object.self), isDescending: true)
  }

  /// Each distinct element of a list or set.
  public static func each<Elements: Sequence & SendableMetatype>(
    _ path: any KeyPath<Object, Elements> & Sendable
  ) -> Self
  where Elements.Element: SortKey, Elements.Iterator: SendableMetatype {
    Self(Column(each: FieldPath(path), beside: Metadata.self))
  }

  /// Each distinct element of a list or set of the metadata.
  public static func metadataEach<Elements: Sequence & SendableMetatype>(
    _ path: any KeyPath<Metadata, Elements> & Sendable
  ) -> Self
  where Elements.Element: SortKey, Elements.Iterator: SendableMetatype {
    Self(Column(metadataEach: FieldPath(path), beside: Object.self))
  }
}

/// A field that is stored beside the columns of a collection's indexes, and has no index of its own.
///
/// ```swift
/// Index("title", \.title.folded)
/// StoredField("plays", \.plays)
/// ```
///
/// Conditions on it, orders by it and `values` of it read the few bytes that stand there instead of decoding rows: for
/// fields that are asked about together with others, or in a scan. Costs its bytes, and no entry.
public struct StoredField<Object: Sendable, Metadata: Sendable>: Sendable {
  /// What it is called in the file and in errors; different from the names of the indexes.
  public let name: String
  let column: IndexColumn<Object, Metadata>

  /// A field of the object.
  public init<Value: SortKey>(_ name: String, _ path: any KeyPath<Object, Value> & Sendable) {
    (self.name, column) = (name, .ascending(path))
  }

  /// The elements of a list or set of the object.
  public init<Elements: Sequence & SendableMetatype>(
    _ name: String, each path: any KeyPath<Object, Elements> & Sendable
  )
  where Elements.Element: SortKey, Elements.Iterator: SendableMetatype {
    (self.name, column) = (name, .each(path))
  }

  /// A field of the metadata.
  public init<Value: SortKey>(_ name: String, metadata path: any KeyPath<Metadata, Value> & Sendable) {
    (self.name, column) = (name, .metadata(path))
  }
}

/// Puts the indexes of a list together.
@resultBuilder public enum IndexListBuilder<Object: Sendable, Metadata: Sendable> {
  /// One index.
  public static func buildExpression(_ index: Index<Object, Metadata>) -> [Index<Object, Metadata>] { [index] }
  /// One field without an index.
  public static func buildExpression(_ field: StoredField<Object, Metadata>) -> [Index<Object, Metadata>] {
    [Index(field)]
  }
  /// All of them.
  public static func buildBlock(_ lists: [Index<Object, Metadata>]...) -> [Index<Object, Metadata>] {
    lists.flatMap { $0 }
  }
  /// Those of a condition that holds.
  public static func buildOptional(_ list: [Index<Object, Metadata>]?) -> [Index<Object, Metadata>] { list ?? [] }
  /// Those of the first case.
  public static func buildEither(first list: [Index<Object, Metadata>]) -> [Index<Object, Metadata>] { list }
  /// Those of the second case.
  public static func buildEither(second list: [Index<Object, Metadata>]) -> [Index<Object, Metadata>] { list }
  /// Those of a loop.
  public static func buildArray(_ lists: [[Index<Object, Metadata>]]) -> [Index<Object, Metadata>] {
    lists.flatMap { $0 }
  }
}
