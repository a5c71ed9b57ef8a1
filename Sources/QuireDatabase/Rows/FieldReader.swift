// Rows with some of their fields, of which nothing else is decoded.

/// Reads fields of the rows of a collection, one row after the other, without decoding the rest of the objects where
/// the type allows that: see ``SynthesizedCodable``. What tests many rows uses it, such as the conditions of queries.
///
/// ```swift
/// let reader = FieldReader(tx[.songs])
/// let year = reader.add(\.year)
/// var count = 0
/// try reader.forEachRow { _, fields in
///   let isMeant = fields.hasValue(year) { bytes in bytes.withUnsafeBytes { $0.elementsEqual(1990.sortBytes) } }
///   if try isMeant ?? (reader.object().year == 1990) { count += 1 }
///   return true
/// }
/// ```
///
/// For the thread and the life of the transaction of its rows. Only inside of the closure of `forEachRow` there is a
/// row to ask. Of the first rows, and of each that is not of the plain form, fields are not told, and the object has
/// to be asked.
public final class FieldReader<Object: Sendable, Metadata: Sendable> {
  /// An object, where its type is not known.
  private final class Box {
    let object: Object
    init(_ object: Object) { self.object = object }
  }

  private let loan: RowLoan
  private let handle: RowHandle<Object, Metadata>
  private let readsFields: Bool
  private var sources: [FieldSource<Object>] = []

  /// Prepares to read rows.
  ///
  /// - Parameters:
  ///   - rows: the collection in a transaction; not for longer than that is open.
  ///   - halves: the halves of rows that may be asked for, for observed reads.
  public init(_ rows: some RowReading<Object, Metadata>, halves: RowHalves = .object) {
    handle = rows.handle
    let version = handle.coder.values.upgrades?.count ?? 0
    if case .binary = handle.coder.form, version < 0x80, Object.self is any SynthesizedCodable.Type {
      // Where unknown fields are refused, each row has to be looked through for them.
      readsFields = handle.transaction.database.unknownFields != .refuse
    } else {
      readsFields = false
    }
    // After the end of the transaction there is no state, and the walk throws.
    let isOpen = handle.transaction.isOpen
    let context =
      unsafe isOpen ? handle.state.objectContext.takeUnretainedValue() : RowCodingContext(schema: RowSchema())
    let fields = StoredFields(context, version: UInt8(truncatingIfNeeded: version))
    loan = RowLoan(handle.opened, handle.protections, fields, halves)
  }

  /// Has the sort bytes of a field read, that is, those that its value has as a `SortKey`. Costs nothing before there
  /// are more than a few rows.
  ///
  /// - Parameters:
  ///   - path: to the field, from the object.
  ///   - each: whether those of each element are meant, of a list or set.
  /// - Returns: What stands for the field in `hasValue`; nil if rows never tell its values.
  public func add(_ path: PartialKeyPath<Object>, each: Bool = false) -> Int? {
    guard readsFields, let source = FieldSource<Object>(path, each: each) else { return nil }
    sources.append(source)
    unsafe loan.isWorthwhile = true
    return loan.fields.add(source.plan)
  }

  // MARK: Rows

  /// Calls `body` with the numbers and the fields of all rows, in the order of the numbers, until it returns false.
  ///
  /// - Parameter body: may read, and change nothing.
  /// - Throws: also what `body` throws, and `decodingFailed` if the type does not keep its promise.
  public func forEachRow(_ body: (RowID, StoredFields) throws -> Bool) throws {
    try loan.forEachRow(of: .all(above: nil), check: { try check() }, body)
  }

  /// Calls `body` with those of the rows whose number is above `bound`, in the order of the numbers, until it returns
  /// false: for a walk that goes on in another transaction. Otherwise as for all rows.
  ///
  /// O(log n) to the first row where the collection has at least half of the rows of the database; elsewhere the
  /// numbers of all its rows are sorted first.
  public func forEachRow(above bound: RowID, _ body: (RowID, StoredFields) throws -> Bool) throws {
    try loan.forEachRow(of: .all(above: bound), check: { try check() }, body)
  }

  /// Calls `body` with those of some rows that are in the collection, in the order given, until it returns false.
  /// Otherwise as for all rows.
  public func forEachRow(withIDs rowIDs: [RowID], _ body: (RowID, StoredFields) throws -> Bool) throws {
    try loan.forEachRow(of: .listed(rowIDs), check: { try check() }, body)
  }

  /// Calls `body` with those rows of a step of building that are in the collection: what an extension is built from.
  ///
  /// - Parameters:
  ///   - rows: what the extension was handed to be built from.
  ///   - rowIDs: the numbers of those of them that count, ascending; nil for all. Of others nothing is decoded.
  ///   - body: may change trees and values of the extension, too.
  public func forEachRow(
    in rows: UnbuiltRows, withIDs rowIDs: [RowID]? = nil, _ body: (RowID, StoredFields) throws -> Void
  ) throws {
    assert(rowIDs.map { zip($0, $0.dropFirst()).allSatisfy { $0 < $1 } } ?? true, "numbers of rows do not ascend")
    try loan.forEachRow(of: .unbuilt(rows, rowIDs), check: { try check() }) { rowID, fields in
      try body(rowID, fields)
      return true
    }
  }

  /// The object of the row that `forEachRow` has come to.
  public func object() throws -> Object {
    if let known = unsafe loan.object as? Box { return known.object }
    guard loan.isLent else { throw notLent() }
    if handle.isCached, let object = unsafe handle.objectCached(loan.rowID) { return object }
    return try decoded()
  }

  /// The key of the row that `forEachRow` has come to. Decodes nothing else.
  public func key() throws -> String {
    guard loan.isLent else { throw notLent() }
    return try loan.viewAndKey().key
  }

  /// The row that `forEachRow` has come to.
  public func row() throws -> Row<Object, Metadata> {
    guard loan.isLent else { throw notLent() }
    let (view, key) = try loan.viewAndKey()
    return Row(key: key, rowID: unsafe loan.rowID, object: try object(), metadata: try handle.metadata(view, key))
  }

  private func decoded() throws -> Object {
    let key = try loan.viewAndKey().key
    do {
      let object = try unsafe handle.decode(loan.objectBytes, handle.state.objectContext, key)
      unsafe loan.object = Box(object)
      return object
    } catch {
      throw handle.opened.undecodable("object", key, error)
    }
  }

  private func notLent() -> DatabaseError {
    DatabaseError(
      .transactionClosed,
      "A reader of fields was asked for a row that it does not lend. Ask inside of the closure of `forEachRow`.")
  }

  // MARK: Checking

  /// Decodes the row, and sees whether its fields are what is read of them.
  private func check() throws {
    let context = unsafe handle.state.objectContext.takeUnretainedValue()
    let object = try context.decodingWhole { try decoded() }
    unsafe loan.isWorthwhile = loan.fields.resolve(object, of: Object.self)
    unsafe loan.fields.begin(loan.objectBytes)
    for (index, source) in sources.enumerated() {
      var read: Set<[UInt8]> = []
      let isTold = loan.fields.hasValue(index) { bytes in
        read.insert((0..<bytes.byteCount).map { unsafe bytes.unsafeLoad(fromByteOffset: $0, as: UInt8.self) })
        return false
      }
      guard isTold != nil, read != source.sortBytes(object) else { continue }
      throw DatabaseError(
        .decodingFailed,
        """
        \(Object.self) is marked as SynthesizedCodable, and its property “\(source.name)” is not what is stored under \
        that name. Take the mark away, or have the compiler write `Codable` and call the coding keys as the properties.
        """, path: handle.transaction.database.path, collection: handle.opened.name, key: try loan.viewAndKey().key)
    }
  }
}
