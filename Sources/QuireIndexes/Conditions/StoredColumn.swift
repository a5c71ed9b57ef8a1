// Conditions on columns that only the file describes, for tools that know no types of rows.

internal import QuireDatabase

/// A column of an index as the file describes it; or a field that no index has; or the keys of the rows.
public struct StoredColumn: Sendable {
  /// The name of the field, with those of the fields around it, and `metadata.` in front of one of the metadata; nil if
  /// the file does not have it.
  public let name: String?
  /// The name of its type; empty if the file does not have it.
  public let typeName: String
  /// Whether its index has an entry for each element of a list or set.
  public let hasElements: Bool
  /// Whether it is a field of the metadata.
  public let isMetadata: Bool
  /// Whether its index has the greatest first.
  public let isDescending: Bool
  /// Whether some index has it.
  public let isStored: Bool

  let column: Column
  private let type: StoredType?

  /// A column of an index, whose values records have at a place.
  init(name: String?, typeName: String, hasElements: Bool, isMetadata: Bool, isDescending: Bool, place: Int) {
    self.name = name
    self.typeName = typeName
    self.hasElements = hasElements
    self.isMetadata = isMetadata
    self.isDescending = isDescending
    isStored = true
    column = Column(storedAt: .place(place), hasElements ? .elements : .value)
    let list = hasElements ? typeName.content(of: "Array") ?? typeName.content(of: "Set") ?? "" : typeName
    type = StoredType(named: list)
  }

  /// A field that no index has.
  init(unknown name: String) {
    self.name = name
    (typeName, hasElements, isMetadata, isDescending, isStored) = ("", false, false, false, false)
    column = Column(storedAt: .name(name), .value)
    type = .any
  }

  /// The keys of the rows, which serve conditions without an index.
  public static let key = StoredColumn()

  private init() {
    (name, typeName, hasElements, isMetadata, isDescending, isStored) = (nil, "String", false, false, false, true)
    column = Column(keysOf: StoredRow.self, NoMetadata.self)
    type = StoredType(named: typeName)
  }

  /// Whether it is that of the keys.
  public var isKey: Bool { column.id.half == .key }

  // MARK: Conditions

  /// Equal, below, or what else is asked.
  ///
  /// - Throws: `StoredConditionError` if the value is none of the column's type, or if the type is not known.
  public func compare(
    _ comparison: StoredComparison, _ value: StoredValue
  ) throws(StoredConditionError) -> StoredCondition {
    let (type, bytes) = (try knownType(), try bytes(value))
    func ordered(_ range: ByteRange) throws(StoredConditionError) -> StoredCondition {
      if hasElements {
        throw StoredConditionError(
          "its index has an entry for each element, which are not below or above a value. Write = or IN")
      }
      return condition(.ordered(range, with: bytes, absent: type.absentBytes, unordered: type.unorderedBytes))
    }
    switch comparison {
    case .equal: return try isIn([value])
    case .notEqual: return !(try isIn([value]))
    case .less: return try ordered(ByteRange(lower: [], upper: bytes))
    case .lessOrEqual: return try ordered(ByteRange(lower: [], upper: bytes.endOfPrefix))
    case .greater: return try ordered(bytes.endOfPrefix.map { ByteRange(lower: $0, upper: nil) } ?? .nothing)
    case .greaterOrEqual: return try ordered(ByteRange(lower: bytes, upper: nil))
    }
  }

  /// Equal to one of some values; of elements, that one of them is.
  ///
  /// - Throws: as `compare(_:_:)`.
  public func isIn(_ values: [StoredValue]) throws(StoredConditionError) -> StoredCondition {
    let unordered = try knownType().unorderedBytes
    var points = PointList(capacity: values.count)
    for value in values {
      let bytes = try bytes(value)
      points.append(unless: unordered) { $0 += bytes }
    }
    return condition(ByteRanges(points))
  }

  /// Whether it is nil; a value of metadata also where there are none.
  ///
  /// - Throws: `StoredConditionError` for elements.
  public func isNull() throws(StoredConditionError) -> StoredCondition {
    if hasElements { throw StoredConditionError("its index has an entry for each element, and none for no element") }
    var ranges = ByteRanges.none
    if !isStored || typeName.content(of: "Optional") != nil, let absent = Bool?.absentBytes {
      ranges = ByteRanges(ByteRange(value: absent))
    }
    return condition(ranges, orNoMetadata: true)
  }

  /// Whether a text begins with another.
  ///
  /// - Throws: `StoredConditionError` if the column is not one of texts.
  public func hasPrefix(_ text: String) throws(StoredConditionError) -> StoredCondition {
    guard let beginning = try knownType().beginning, !hasElements else {
      throw StoredConditionError("it is a column of \(typeName), and only a String begins with a text")
    }
    return condition(ByteRanges(isKey ? ByteRange(keyPrefix: text) : ByteRange(prefix: beginning(text))))
  }

  private func knownType() throws(StoredConditionError) -> StoredType {
    if let type { return type }
    throw StoredConditionError(
      typeName.isEmpty
        ? "the file does not have the type of this column. Open the database with the app, which adds it"
        : "it is a column of \(typeName), a type of the app’s whose values are not known here. Leave it out, or print "
          + "the `plan` of the query in the app")
  }

  private func bytes(_ value: StoredValue) throws(StoredConditionError) -> [UInt8] {
    let type = try knownType()
    guard let bytes = type.bytes(value) else {
      throw StoredConditionError("this is no value\(typeName.isEmpty ? "" : " of \(typeName)"). Write \(type.form)")
    }
    return bytes
  }

  /// The condition that a value is one of `ranges`, of the bytes of the type.
  private func condition(_ ranges: ByteRanges, orNoMetadata: Bool = false) -> StoredCondition {
    if ranges.isEmpty, !(orNoMetadata && isMetadata) { return StoredCondition(.none) }
    if hasElements { return StoredCondition(.elements(column, ranges, isNegated: false)) }
    guard isMetadata else { return StoredCondition(.value(column, ranges)) }
    // Metadata may be absent: a byte in front of the value tells.
    var stored = ranges.behind([1])
    if orNoMetadata { stored = stored.union(ByteRanges(ByteRange(prefix: [0]))) }
    return StoredCondition(.value(column, stored))
  }
}

/// How a column is compared with a value.
public enum StoredComparison: Sendable {
  /// The same; or not.
  case equal, notEqual
  /// Below; or also equal.
  case less, lessOrEqual
  /// Above; or also equal.
  case greater, greaterOrEqual
}

/// A condition on columns that only the file describes.
public struct StoredCondition: Sendable {
  let node: ConditionNode

  init(_ node: ConditionNode) { self.node = node }

  /// Every row.
  public static var all: Self { Self(.all) }
  /// Both.
  public static func && (left: Self, right: @autoclosure () throws -> Self) rethrows -> Self {
    Self(.both(left.node, try right().node))
  }
  /// Either, or both.
  public static func || (left: Self, right: @autoclosure () throws -> Self) rethrows -> Self {
    Self(.either(left.node, try right().node))
  }
  /// Not.
  public static prefix func ! (condition: Self) -> Self { Self(condition.node.negated) }
}

/// What is wrong with a condition on a stored column, and what to write instead.
public struct StoredConditionError: Error, CustomStringConvertible {
  public let description: String

  init(_ description: String) { self.description = description }
}
