// Single fields of the rows that a query finds: listed, added up, counted by value.

public import QuireDatabase

extension FoundRows {
  // MARK: Lists

  /// One field of each row. Decodes the rows.
  public func values<Value>(_ path: KeyPath<Object, Value>) throws -> [Value] {
    try objects.map { $0[keyPath: path] }
  }

  /// One field of each row: where an index has it, and its type comes back from its bytes, no row is read. Of a
  /// ``/QuireDatabase/SynthesizedCodable`` type nothing but the field is decoded otherwise.
  public func values<Value: SortKey>(_ path: any KeyPath<Object, Value> & Sendable) throws -> [Value] {
    let run = try QueryRun(self)
    let column = Column(FieldPath(path), beside: Metadata.self)
    // All rows are walked through, and not looked up.
    if run.isWholeCollection, !run.tells(column) { return try StoredValues(rows, path).all(nil) }
    let rowIDs = try run.rowIDs()
    return try run.indexedValues(of: column, rowIDs) ?? StoredValues(rows, path).all(rowIDs)
  }

  // MARK: Extremes, sums

  /// The least value of a field; nil if there is no row.
  public func min<Value: SortKey>(_ path: any KeyPath<Object, Value> & Sendable) throws -> Value? {
    try extreme(path, .ascending(path)) { $0.lexicographicallyPrecedes($1) }
  }

  /// The greatest value of a field; nil if there is no row.
  public func max<Value: SortKey>(_ path: any KeyPath<Object, Value> & Sendable) throws -> Value? {
    try extreme(path, .descending(path)) { $1.lexicographicallyPrecedes($0) }
  }

  /// The first row's value in the order of a column, or, where the query takes a part of its rows, the value that
  /// comes before all others.
  private func extreme<Value: SortKey>(
    _ path: any KeyPath<Object, Value> & Sendable, _ column: IndexColumn<Object, Metadata>,
    _ isBefore: ([UInt8], [UInt8]) -> Bool
  ) throws -> Value? {
    if limit == nil, offset == 0 { return try order(by: column).limit(1).values(path).first }
    return try values(path).min { isBefore($0.sortBytes, $1.sortBytes) }
  }

  /// The sum of a field. Traps where `+` does.
  public func sum<Value: AdditiveArithmetic>(_ path: KeyPath<Object, Value>) throws -> Value {
    try objects.reduce(.zero) { $0 + $1[keyPath: path] }
  }

  /// The sum of a field: where an index has it, no row is read.
  public func sum<Value: AdditiveArithmetic & SortKey>(
    _ path: any KeyPath<Object, Value> & Sendable
  ) throws -> Value {
    try values(path).reduce(.zero, +)
  }

  /// The sum of a field: where an index has it, no row is read.
  ///
  /// - Throws: `IndexError.sumTooLarge` if the type cannot hold it.
  public func sum<Value: FixedWidthInteger & SortKey>(
    _ path: any KeyPath<Object, Value> & Sendable
  ) throws -> Value {
    try checkedSum(values(path))
  }

  /// The mean of a field; nil if there is no row.
  public func average<Value: BinaryInteger & SortKey>(
    _ path: any KeyPath<Object, Value> & Sendable
  ) throws -> Double? {
    let values = try values(path)
    return values.isEmpty ? nil : values.reduce(0) { $0 + Double($1) } / Double(values.count)
  }

  /// The mean of a field; nil if there is no row.
  public func average<Value: BinaryFloatingPoint & SortKey>(
    _ path: any KeyPath<Object, Value> & Sendable
  ) throws -> Value? {
    let values = try values(path)
    return values.isEmpty ? nil : values.reduce(0, +) / Value(values.count)
  }

  /// The sum of a field that may be nil, of the rows that have one: where an index has it, no row is read.
  public func sum<Value: AdditiveArithmetic & SortKey>(
    _ path: any KeyPath<Object, Value?> & Sendable
  ) throws -> Value {
    try values(path).reduce(.zero) { sum, value in value.map { sum + $0 } ?? sum }
  }

  /// The sum of a field that may be nil, of the rows that have one: where an index has it, no row is read.
  ///
  /// - Throws: `IndexError.sumTooLarge` if the type cannot hold it.
  public func sum<Value: FixedWidthInteger & SortKey>(
    _ path: any KeyPath<Object, Value?> & Sendable
  ) throws -> Value {
    try checkedSum(values(path).lazy.compactMap(\.self))
  }

  private func checkedSum<Value: FixedWidthInteger>(_ values: some Sequence<Value>) throws -> Value {
    try values.reduce(.zero) { sum, value in
      let (next, isTooLarge) = sum.addingReportingOverflow(value)
      if isTooLarge { throw IndexError.sumTooLarge(collection: rows.collection.name, type: "\(Value.self)") }
      return next
    }
  }

  /// The mean of a field that may be nil, of the rows that have one; nil if there is none.
  public func average<Value: BinaryInteger & SortKey>(
    _ path: any KeyPath<Object, Value?> & Sendable
  ) throws -> Double? {
    let values = try values(path).compactMap(\.self)
    return values.isEmpty ? nil : values.reduce(0) { $0 + Double($1) } / Double(values.count)
  }

  /// The mean of a field that may be nil, of the rows that have one; nil if there is none.
  public func average<Value: BinaryFloatingPoint & SortKey>(
    _ path: any KeyPath<Object, Value?> & Sendable
  ) throws -> Value? {
    let values = try values(path).compactMap(\.self)
    return values.isEmpty ? nil : values.reduce(0, +) / Value(values.count)
  }

  // MARK: Groups

  /// The different values of a field, in order.
  public func distinct<Value: SortKey>(_ path: any KeyPath<Object, Value> & Sendable) throws -> [Value] {
    try groupCounts(by: path).map(\.value)
  }

  /// The different values of a field, in order, with the number of rows of each. Of all rows, and with an index that
  /// begins with the field, O(log n) for each value.
  public func groupCounts<Value: SortKey>(
    by path: any KeyPath<Object, Value> & Sendable
  ) throws -> [(value: Value, count: Int)] {
    let column = Column(FieldPath(path), beside: Metadata.self)
    if limit == nil, offset == 0, case .all = condition,
      let groups = try QueryRun(self).groups(of: column) as [(value: Value, count: Int)]?
    {
      return groups
    }
    var groups: [[UInt8]: (value: Value, count: Int)] = [:]
    for value in try values(path) { groups[value.sortBytes, default: (value, 0)].count += 1 }
    return groups.sorted { $0.key.lexicographicallyPrecedes($1.key) }.map(\.value)
  }
}
