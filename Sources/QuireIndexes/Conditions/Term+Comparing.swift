// Comparisons of fields with values.

public import QuireDatabase

extension Term where Value: SortKey {
  private var column: Column {
    // `Half` is one of the two: only `Fields` and `MetadataFields` make terms.
    if let path = path as? FieldPath<Object, Value>, !isMetadata { return Column(path, beside: Metadata.self) }
    if let path = path as? FieldPath<Metadata, Value> { return Column(metadata: path, beside: Object.self) }
    preconditionFailure("a term is of neither half")
  }

  /// The condition that the field's value is one of `ranges`, of the bytes of `Value`.
  private func condition(_ ranges: ByteRanges) -> Condition<Object, Metadata> {
    // Metadata may be absent: a byte in front of the value tells.
    var stored = isMetadata ? ranges.behind([1]) : ranges
    // Metadata that are not there are equal to nil.
    if isMetadata, let absent = Value.absentBytes, ranges.contains(absent) {
      stored = stored.union(ByteRanges(ByteRange(prefix: [0])))
    }
    return Condition(stored.isEmpty ? .none : .value(column, stored))
  }

  /// The range that `body` makes of the bytes of a value, without what is absent or unordered; none if the value itself
  /// is such.
  private static func range(_ value: Value, _ body: ([UInt8]) -> ByteRange) -> ByteRanges {
    let bytes = value.sortBytes
    return .ordered(body(bytes), with: bytes, absent: Value.absentBytes, unordered: Value.unorderedBytes)
  }

  private static func point(_ value: Value) -> ByteRanges {
    let bytes = value.sortBytes
    return bytes == Value.unorderedBytes ? .none : ByteRanges(ByteRange(value: bytes))
  }

  /// Equal.
  public static func == (term: Self, value: Value) -> Condition<Object, Metadata> {
    term.condition(point(value))
  }

  /// Not equal; true for nil if `value` is none.
  public static func != (term: Self, value: Value) -> Condition<Object, Metadata> { !(term == value) }

  /// Below.
  public static func < (term: Self, value: Value) -> Condition<Object, Metadata> {
    term.condition(range(value) { ByteRange(lower: [], upper: $0) })
  }

  /// Below or equal.
  public static func <= (term: Self, value: Value) -> Condition<Object, Metadata> {
    term.condition(range(value) { ByteRange(lower: [], upper: $0.endOfPrefix) })
  }

  /// Above.
  public static func > (term: Self, value: Value) -> Condition<Object, Metadata> {
    term.condition(range(value) { bytes in bytes.endOfPrefix.map { ByteRange(lower: $0, upper: nil) } ?? .nothing })
  }

  /// Above or equal.
  public static func >= (term: Self, value: Value) -> Condition<Object, Metadata> {
    term.condition(range(value) { ByteRange(lower: $0, upper: nil) })
  }

  /// Equal to one of `values`.
  public func isIn(_ values: some Sequence<Value>) -> Condition<Object, Metadata> {
    var points = PointList(capacity: values.underestimatedCount)
    let unordered = Value.unorderedBytes
    for value in values { points.append(unless: unordered) { value.append(to: &$0) } }
    return condition(ByteRanges(points))
  }

  /// From `lower` to `upper`, which is among them.
  public func isBetween(_ lower: Value, and upper: Value) -> Condition<Object, Metadata> {
    self >= lower && self <= upper
  }

  /// In a closed range.
  public func isIn(_ range: ClosedRange<Value>) -> Condition<Object, Metadata> where Value: Comparable {
    isBetween(range.lowerBound, and: range.upperBound)
  }

  /// In a range without its upper bound.
  public func isIn(_ range: Range<Value>) -> Condition<Object, Metadata> where Value: Comparable {
    self >= range.lowerBound && self < range.upperBound
  }

  /// All whose bytes begin with `prefix`.
  fileprivate func begins(with prefix: [UInt8]) -> Condition<Object, Metadata> {
    condition(ByteRanges(ByteRange(prefix: prefix)))
  }
}

extension Term {
  /// What a closure says of the field, of any type, which no index serves. False of a row without metadata, if it is a
  /// field of these.
  public func satisfies(_ body: @escaping @Sendable (Value) throws -> Bool) -> Condition<Object, Metadata> {
    let (field, isMetadata) = (path, isMetadata)
    return .closure { object, metadata in
      if !isMetadata, let value = object as? Half { return try body(value[keyPath: field.path]) }
      guard let value = metadata as? Half else { return false }
      return try body(value[keyPath: field.path])
    }
  }
}

extension ByteRange {
  /// No value.
  static var nothing: ByteRange { ByteRange(lower: [0], upper: [0]) }
}

extension [UInt8] {
  /// The bytes that every text's bytes begin with if the text begins with `prefix`.
  fileprivate init(prefix: String) {
    self = prefix.sortBytes
    // Without the end of the text.
    removeLast(2)
  }
}

extension Term where Value == String {
  /// Whether the text begins with the bytes of `prefix`.
  public func hasPrefix(_ prefix: String) -> Condition<Object, Metadata> { begins(with: [UInt8](prefix: prefix)) }
}

extension Term where Value == String? {
  /// Whether there is a text, and it begins with the bytes of `prefix`.
  public func hasPrefix(_ prefix: String) -> Condition<Object, Metadata> { begins(with: [1] + [UInt8](prefix: prefix)) }
}

extension Term where Value == String {
  /// Never there: for the compiler's message.
  @available(
    *, unavailable,
    message: "Words are found by a full text, as `$0.matches(…)`, beginnings by `hasPrefix`, all else by `satisfies`"
  )
  public func contains(_ text: String) -> Condition<Object, Metadata> {
    preconditionFailure("no program compiles that calls this")
  }
}

extension Term where Value == FoldedText {
  /// Whether the folded text begins with that of `prefix`.
  public func hasPrefix(_ prefix: FoldedText) -> Condition<Object, Metadata> {
    begins(with: [UInt8](prefix: prefix.text))
  }
}

extension Term where Value == FoldedText? {
  /// Whether there is a text, and it, folded, begins with that of `prefix`.
  public func hasPrefix(_ prefix: FoldedText) -> Condition<Object, Metadata> {
    begins(with: [1] + [UInt8](prefix: prefix.text))
  }
}

extension Term
where Value: Sequence & SendableMetatype, Value.Element: SortKey, Value.Iterator: SendableMetatype {
  /// Whether one of the elements is equal to `element`.
  public func contains(_ element: Value.Element) -> Condition<Object, Metadata> { contains(anyOf: [element]) }

  /// Whether one of the elements is equal to one of `elements`.
  public func contains(anyOf elements: some Sequence<Value.Element>) -> Condition<Object, Metadata> {
    var points = PointList(capacity: elements.underestimatedCount)
    let unordered = Value.Element.unorderedBytes
    for element in elements { points.append(unless: unordered) { element.append(to: &$0) } }
    let ranges = ByteRanges(points)
    guard !ranges.isEmpty else { return .none }
    if let path = path as? FieldPath<Object, Value>, !isMetadata {
      return Condition(.elements(Column(each: path, beside: Metadata.self), ranges, isNegated: false))
    }
    guard let path = path as? FieldPath<Metadata, Value> else { preconditionFailure("a term is of neither half") }
    return Condition(.elements(Column(metadataEach: path, beside: Object.self), ranges, isNegated: false))
  }
}
