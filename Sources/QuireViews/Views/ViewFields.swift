// Fields of objects that views group, sort and filter by.

public import QuireDatabase

extension ViewGrouping {
  /// Groups by a text of the object. Asked again when the object is stored or touched.
  ///
  /// Of objects whose type is ``QuireDatabase/SynthesizedCodable`` the rows that are there are not decoded when the
  /// view is built, if its order is told by fields or keys as well: that takes a fraction of the time.
  public static func byField(_ path: any KeyPath<Object, String> & Sendable) -> Self {
    byField(path, isOptional: false) { $0[keyPath: path] }
  }

  /// Groups by a text of the object, likewise; nil leaves the row out.
  public static func byField(_ path: any KeyPath<Object, String?> & Sendable) -> Self {
    byField(path, isOptional: true) { $0[keyPath: path] }
  }

  private static func byField(
    _ path: any PartialKeyPath<Object> & Sendable, isOptional: Bool, _ group: @escaping @Sendable (Object) -> String?
  ) -> Self {
    Self(.object, told: .byField(path, isOptional: isOptional, group)) { row in
      try group(row.object).map { [$0] } ?? []
    }
  }
}

extension ViewSorting {
  /// By fields of the object, of which the first that differs decides: storing a row compares nothing, and rows with
  /// equal fields stand in the order in which they were inserted, as with other sort keys.
  ///
  /// Of objects whose type is ``QuireDatabase/SynthesizedCodable`` the rows that are there are not decoded when the
  /// view is built, if their groups are told by fields or keys as well: that takes a fraction of the time.
  public static func byFields(_ fields: SortField<Object>...) -> Self {
    Self(
      .object, told: .byFields(fields),
      .keyed { row in
        let object = try row.object
        var sortKey: [UInt8] = []
        for field in fields { field.append(object, &sortKey) }
        return sortKey
      })
  }
}

extension ViewFilter {
  /// By a field of the object. Asked again when the object is stored or touched.
  ///
  /// Of objects whose type is ``QuireDatabase/SynthesizedCodable`` the rows that are there are not decoded when the
  /// view is built, or gets another filter: that takes a fraction of the time.
  public static func byField<Value: SortKey>(
    _ path: any KeyPath<Object, Value> & Sendable, where isIncluded: @escaping @Sendable (Value) throws -> Bool
  ) -> Self {
    // Of numbers that are equal, and of those that are none, several have the same bytes.
    let (none, zero) = (Value.unorderedBytes, 0.0.sortBytes)
    let told = ToldFilter<Object>(path: path) { bytes in
      if let none, bytes == none || bytes.suffix(zero.count) == zero[...] { return nil }
      // Not of every type a value comes back from its bytes.
      return try Value.fromSortBytes(bytes).map(isIncluded)
    } isObjectIncluded: { object in
      try isIncluded(object[keyPath: path])
    }
    return Self(halves: .object, told: told) { _, row in try isIncluded(row.object[keyPath: path]) }
  }
}

extension AutoView {
  /// Describes a view over one collection that groups and sorts by fields of the object: as with closures that return
  /// these, and without decoding rows that are there, as `byField` of ``ViewGrouping`` says.
  public init<Key: SortKey>(
    _ name: String, over collection: RowCollection<Object, Metadata>, version: String = "",
    group: any KeyPath<Object, String> & Sendable, sortKey: any KeyPath<Object, Key> & Sendable
  ) {
    self.init(
      name, over: [collection], version: version, grouping: .byField(group), sorting: .byFields(.ascending(sortKey)))
  }

  /// The same with a group that may be nil, which leaves the row out.
  public init<Key: SortKey>(
    _ name: String, over collection: RowCollection<Object, Metadata>, version: String = "",
    group: any KeyPath<Object, String?> & Sendable, sortKey: any KeyPath<Object, Key> & Sendable
  ) {
    self.init(
      name, over: [collection], version: version, grouping: .byField(group), sorting: .byFields(.ascending(sortKey)))
  }
}
