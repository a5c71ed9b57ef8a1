// Comparisons of the keys of rows.

public import QuireDatabase

extension Fields {
  /// The row's key: `$0.key == "s1"`. A field of the object that is called so is `$0[\.key]`.
  public var key: KeyTerm<Object, Metadata> { KeyTerm() }
}

/// The key of a row, which conditions compare with texts, or with identifiers that stand for these.
///
/// Keys are in the order of their bytes, which is that of identifiers. The collection's keys serve such a condition
/// without any index: what is asked for is counted exactly, and other rows are not read.
public struct KeyTerm<Object: Sendable, Metadata: Sendable>: Sendable {
  private func condition(_ ranges: ByteRanges) -> Condition<Object, Metadata> {
    Condition(ranges.isEmpty ? .none : .value(Column(keysOf: Object.self, Metadata.self), ranges))
  }

  private func condition(_ range: ByteRange) -> Condition<Object, Metadata> { condition(ByteRanges(range)) }

  /// Equal.
  public static func == (term: Self, id: some RowKeyConvertible) -> Condition<Object, Metadata> {
    term.condition(ByteRange(value: id.rowKey.sortBytes))
  }

  /// Not equal.
  public static func != (term: Self, id: some RowKeyConvertible) -> Condition<Object, Metadata> { !(term == id) }

  /// Below.
  public static func < (term: Self, id: some RowKeyConvertible) -> Condition<Object, Metadata> {
    term.condition(ByteRange(lower: [], upper: id.rowKey.sortBytes))
  }

  /// Below or equal.
  public static func <= (term: Self, id: some RowKeyConvertible) -> Condition<Object, Metadata> {
    term.condition(ByteRange(lower: [], upper: id.rowKey.sortBytes.endOfPrefix))
  }

  /// Above.
  public static func > (term: Self, id: some RowKeyConvertible) -> Condition<Object, Metadata> { !(term <= id) }

  /// Above or equal.
  public static func >= (term: Self, id: some RowKeyConvertible) -> Condition<Object, Metadata> { !(term < id) }

  /// Equal to one of `ids`.
  public func isIn<ID: RowKeyConvertible>(_ ids: some Sequence<ID>) -> Condition<Object, Metadata> {
    var points = PointList(capacity: ids.underestimatedCount)
    for id in ids { points.append(unless: nil) { id.rowKey.append(to: &$0) } }
    return condition(ByteRanges(points))
  }

  /// From `lower` to `upper`, which is among them.
  public func isBetween<ID: RowKeyConvertible>(_ lower: ID, and upper: ID) -> Condition<Object, Metadata> {
    self >= lower && self <= upper
  }

  /// In a closed range.
  public func isIn<ID: RowKeyConvertible>(_ range: ClosedRange<ID>) -> Condition<Object, Metadata> {
    isBetween(range.lowerBound, and: range.upperBound)
  }

  /// In a closed range of numbers.
  public func isIn<ID: RowKeyConvertible>(_ range: ClosedRange<ID>) -> Condition<Object, Metadata>
  where ID: Strideable, ID.Stride: SignedInteger {
    isBetween(range.lowerBound, and: range.upperBound)
  }

  /// In a range without its upper bound.
  public func isIn<ID: RowKeyConvertible>(_ range: Range<ID>) -> Condition<Object, Metadata> {
    self >= range.lowerBound && self < range.upperBound
  }

  /// In a range of numbers without its upper bound.
  public func isIn<ID: RowKeyConvertible>(_ range: Range<ID>) -> Condition<Object, Metadata>
  where ID: Strideable, ID.Stride: SignedInteger {
    self >= range.lowerBound && self < range.upperBound
  }

  /// Whether the key begins with the bytes of `prefix`.
  public func hasPrefix(_ prefix: String) -> Condition<Object, Metadata> { condition(ByteRange(keyPrefix: prefix)) }
}

extension ByteRange {
  /// The keys that begin with `prefix`. Its bounds are those of texts.
  init(keyPrefix prefix: String) {
    self.init(lower: Self.begin(prefix), upper: Self.text(behindPrefix: prefix).map { Self.begin($0) })
  }

  /// What the bytes of all texts begin with that begin with `prefix`.
  private static func begin(_ prefix: String) -> [UInt8] { Array(prefix.sortBytes.dropLast(KeyBound.endByteCount)) }

  /// The first text behind all that begin with `prefix`; nil if there is none.
  private static func text(behindPrefix prefix: String) -> String? {
    var scalars = String.UnicodeScalarView(prefix.unicodeScalars)
    while let last = scalars.popLast() {
      // Between these two there is no scalar.
      let next = last.value == 0xd7ff ? 0xe000 : last.value + 1
      guard let scalar = Unicode.Scalar(next) else { continue }
      scalars.append(scalar)
      return String(scalars)
    }
    return nil
  }
}

/// A bound of a range of keys, from the bytes by which texts are in order.
///
/// Those of a key are its bytes, each 0 followed by 0xff, and 0, 0 at the end. A bound is a beginning of such bytes, or
/// all of them, or what comes next behind all of them, which ends with 0, 1.
enum KeyBound {
  /// The bytes at the end of a text.
  static let endByteCount = 2

  /// The first key that is not below a bound.
  static func key(_ bound: [UInt8]) -> String {
    var key: [UInt8] = []
    var index = 0
    while index < bound.count {
      key.append(bound[index])
      guard bound[index] == 0 else {
        index += 1
        continue
      }
      let mark = index + 1 < bound.count ? bound[index + 1] : 0
      // The key itself ends here; behind it comes first the one with a zero byte more.
      if mark == 0 { key.removeLast() }
      if mark < 0xff { break }
      index += endByteCount
    }
    guard let text = String(validating: key, as: UTF8.self) else { preconditionFailure("a bound is no text") }
    return text
  }
}

/// A range of keys, as rows are asked for it.
struct KeySlice: KeyRange {
  let firstKey: String?
  let endKey: String?
  /// The only key in it; nil if there may be others.
  let point: String?

  init(_ range: ByteRange) {
    firstKey = range.lower.isEmpty ? nil : KeyBound.key(range.lower)
    endKey = range.upper.map { KeyBound.key($0) }
    point = range.isPoint ? firstKey : nil
  }
}
