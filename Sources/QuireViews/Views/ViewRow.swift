// What a view's closures are shown of a row.

public import QuireDatabase

/// One row, as a view's closures see it: halves are decoded when they are asked for, and once. Good until the closure
/// returns.
///
/// The rule for all rows: an object is there as long as its row is, and so is never nil. A ``QuireDatabase/Row`` has
/// been decoded, and its `object` is a value; where rows are decoded on request, as here, asking for it may throw.
public final class ViewRow<Object: Sendable, Metadata: Sendable> {
  private let row: FamilyRow<Object, Metadata>
  /// What a closure wants to keep of the row for when it is asked about it again, which the sorting of one operation
  /// does, and filtering in the groups of one row may do: nil at first. Not for other threads.
  public var attachment: AnyObject?

  init(_ row: FamilyRow<Object, Metadata>) { self.row = row }

  /// The name of the collection.
  public var collection: String { row.collection }
  /// The key in the collection.
  public var key: String { row.key }

  /// The object.
  ///
  /// - Throws: `decodingFailed`, `damagedRow` if the row has gone.
  public var object: Object {
    get throws { try row.object }
  }

  /// The metadata; nil if the row has none.
  ///
  /// - Throws: `decodingFailed`.
  public var metadata: Metadata? {
    get throws { try row.metadata }
  }
}

extension ViewRow {
  /// The transaction that asks, as a reading one. What a closure reads of other rows is not followed: touch the rows of
  /// the view when those change.
  public var readTransaction: ReadTransaction { row.change.readTransaction }

  /// The object as one of another description of its collection: for a view whose collections differ in their types,
  /// which describes them by types that nobody decodes. Decoded at each call.
  ///
  /// - Throws: `collectionMismatch` if the row is in another collection, `decodingFailed`, `damagedRow` if the row has
  ///   gone.
  public func object<Other, OtherMetadata>(
    in collection: RowCollection<Other, OtherMetadata>
  ) throws -> Other {
    guard let object = try row.change.object(in: collection) else {
      throw DatabaseError(
        .damagedRow,
        "A view leads to a row that is not there. Verify the database, and register the view anew.",
        collection: row.collection, key: row.key)
    }
    return object
  }

  /// The metadata as those of another description of its collection. Errors as above.
  public func metadata<Other, OtherMetadata>(
    in collection: RowCollection<Other, OtherMetadata>
  ) throws -> OtherMetadata? {
    try row.change.metadata(in: collection)
  }
}

/// Which groups of a view a row belongs to, and what of the row that depends on.
public struct ViewGrouping<Object: Sendable, Metadata: Sendable>: Sendable {
  let halves: ChangedHalves
  let groups: @Sendable (ViewRow<Object, Metadata>) throws -> [String]
  /// What of a row tells its group; nil if only `groups` does.
  let told: ToldGroup<Object>?

  init(
    _ halves: ChangedHalves, told: ToldGroup<Object>? = nil,
    _ groups: @escaping @Sendable (ViewRow<Object, Metadata>) throws -> [String]
  ) {
    self.halves = halves
    self.told = told
    self.groups = groups
  }

  /// Groups by the key alone; nil leaves the row out. Asked once for each row.
  public static func byKey(_ group: @escaping @Sendable (String) throws -> String?) -> Self {
    Self([]) { row in try group(row.key).map { [$0] } ?? [] }
  }

  /// Groups by the object; nil leaves the row out. Asked again when the object is stored or touched.
  public static func byObject(_ group: @escaping @Sendable (Object) throws -> String?) -> Self {
    Self(.object) { row in try group(row.object).map { [$0] } ?? [] }
  }

  /// Groups by the metadata; nil leaves the row out. Asked again when the metadata are stored or touched.
  public static func byMetadata(_ group: @escaping @Sendable (Metadata?) throws -> String?) -> Self {
    Self(.metadata) { row in try group(row.metadata).map { [$0] } ?? [] }
  }

  /// Groups by all of the row; nil leaves it out. Asked again when any half is stored or touched.
  public static func byRow(_ group: @escaping @Sendable (ViewRow<Object, Metadata>) throws -> String?) -> Self {
    Self([.object, .metadata]) { row in try group(row).map { [$0] } ?? [] }
  }

  /// Puts the row into several groups at once, of which each counts once; an empty list leaves it out. Asked again when
  /// one of `halves` is stored or touched.
  public static func severalByRow(
    _ halves: ChangedHalves = [.object, .metadata],
    _ groups: @escaping @Sendable (ViewRow<Object, Metadata>) throws -> [String]
  ) -> Self {
    Self(halves, groups)
  }

  /// One group, in which every row is.
  public static func all(in group: String = "") -> Self { Self([], told: .always(group)) { _ in [group] } }
}

/// In which order the rows of a group stand, and what of a row that depends on.
public struct ViewSorting<Object: Sendable, Metadata: Sendable>: Sendable {
  enum Order: Sendable {
    /// By bytes that a row has for itself.
    case keyed(@Sendable (ViewRow<Object, Metadata>) throws -> [UInt8])
    /// By asking which of two comes first; the group is told.
    case compared(@Sendable (String, ViewRow<Object, Metadata>, ViewRow<Object, Metadata>) throws -> Bool)
  }

  let halves: ChangedHalves
  let order: Order
  /// What of a row tells its sort key; nil if only `order` does, or if rows are compared.
  let told: ToldOrder<Object>?

  init(_ halves: ChangedHalves, told: ToldOrder<Object>? = nil, _ order: Order) {
    self.halves = halves
    self.told = told
    self.order = order
  }

  private static func bytes(_ key: some SortKey) -> [UInt8] {
    var bytes: [UInt8] = []
    key.append(to: &bytes)
    return bytes
  }

  /// In the order of the keys' bytes.
  public static func byKey() -> Self { Self([], told: .byKey, .keyed { row in bytes(row.key) }) }

  /// By a sort key made of the object: storing a row compares nothing. Rows with equal keys stand in the order in which
  /// they were inserted into the database. Of a key only the first `ViewLimits.sortKeyByteCount` bytes count.
  public static func byObject<Key: SortKey>(key: @escaping @Sendable (Object) throws -> Key) -> Self {
    Self(.object, .keyed { row in try bytes(key(row.object)) })
  }

  /// By a sort key made of the metadata.
  public static func byMetadata<Key: SortKey>(key: @escaping @Sendable (Metadata?) throws -> Key) -> Self {
    Self(.metadata, .keyed { row in try bytes(key(row.metadata)) })
  }

  /// By a sort key made of `halves` of the row.
  public static func byRow<Key: SortKey>(
    _ halves: ChangedHalves = [.object, .metadata], key: @escaping @Sendable (ViewRow<Object, Metadata>) throws -> Key
  ) -> Self {
    Self(halves, .keyed { row in try bytes(key(row)) })
  }

  /// By comparing objects: whether the first comes before the second. It must be a strict weak order. Storing a row
  /// decodes and compares about log2(n) others; where the order follows from a value, a sort key is much faster.
  public static func byObject(_ isBefore: @escaping @Sendable (Object, Object) throws -> Bool) -> Self {
    Self(.object, .compared { _, left, right in try isBefore(left.object, right.object) })
  }

  /// By comparing `halves` of rows, which may differ from group to group.
  public static func byRow(
    _ halves: ChangedHalves = [.object, .metadata],
    _ isBefore:
      @escaping @Sendable (_ group: String, ViewRow<Object, Metadata>, ViewRow<Object, Metadata>) throws -> Bool
  ) -> Self {
    Self(halves, .compared(isBefore))
  }
}
