// Ranges of keys of an index's tree.

internal import QuireDatabase

/// A range of values as a range of keys.
struct KeySpan: Hashable {
  var lower: [UInt8]
  var upper: [UInt8]?
  /// Whether all entries in the range are of values in the range: not where a bound was cut.
  var isExact: Bool

  var isEmpty: Bool { upper.map { !lower.precedes($0) } ?? false }

  init(lower: [UInt8], upper: [UInt8]?, isExact: Bool) {
    (self.lower, self.upper, self.isExact) = (lower, upper, isExact)
  }

  /// The span of all keys that begin with `prefix`.
  init(prefix: [UInt8], isExact: Bool) {
    lower = prefix
    upper = prefix.endOfPrefix
    self.isExact = isExact
  }

  /// The span of a range of a column's values behind `prefix`.
  init(_ range: ByteRange, behind prefix: [UInt8], isDescending: Bool, isExact: Bool) {
    let limit = IndexKey.columnByteCount
    let isCut = range.lower.count > limit || (range.upper?.count ?? 0) > limit
    // What begins with a cut bound may lie on either side of the bound.
    var low = Array(range.lower.prefix(limit))
    var high = range.upper.flatMap { $0.count > limit ? Array($0.prefix(limit)).endOfPrefix : $0 }
    if range.upper == nil { high = nil }
    if isDescending { (low, high) = Self.turned(low, high) }
    lower = prefix + low
    upper = high.map { prefix + $0 } ?? (prefix.isEmpty ? nil : prefix.endOfPrefix)
    self.isExact = isExact && !isCut
  }

  /// The spans in the order of their keys, each entry in one of them: where bounds were cut, neighbours may overlap.
  static func merged(_ spans: [KeySpan]) -> [KeySpan] {
    if spans.count <= 1 { return spans.first?.isEmpty == true ? [] : spans }
    var merged: [KeySpan] = []
    for span in spans.filter({ !$0.isEmpty }).sorted(by: { $0.lower.precedes($1.lower) }) {
      guard let last = merged.last, last.upper.map({ span.lower.precedes($0) }) ?? true else {
        merged.append(span)
        continue
      }
      let isLonger: Bool
      if let end = last.upper, let upper = span.upper {
        isLonger = end.precedes(upper)
      } else {
        isLonger = last.upper != nil
      }
      if isLonger { merged[merged.count - 1].upper = span.upper }
      merged[merged.count - 1].isExact = last.isExact && span.isExact
    }
    assert(areApart(merged), "spans overlap")
    return merged
  }

  /// Whether spans are in order, none is empty, and no key is in two of them; only the last one may have no end.
  static func areApart(_ spans: [KeySpan]) -> Bool {
    spans.allSatisfy { !$0.isEmpty }
      && zip(spans, spans.dropFirst()).allSatisfy { one, two in
        one.upper.map { !two.lower.precedes($0) } ?? false
      }
  }

  /// The bounds of the same values with each byte turned over: from the end down to the beginning.
  ///
  /// Of bytes v with low <= v < high, in order of ~v: all with ~v > ~high, that is, behind all that begins with ~high
  /// but not with more of it, up to all that begins with ~low.
  private static func turned(_ low: [UInt8], _ high: [UInt8]?) -> ([UInt8], [UInt8]?) {
    // v >= low. If v begins with low, so does ~v with ~low; if v is above without, ~v is below ~low.
    let upper = low.isEmpty ? nil : low.map { ~$0 }.endOfPrefix
    // v < high, and does not begin with it: then ~v is above ~high, and does not begin with it.
    guard let high else { return ([], upper) }
    // Nothing is above all that begins with nothing but 0xff: then no value is below `high`.
    guard let lower = high.map({ ~$0 }).endOfPrefix else { return ([0], [0]) }
    return (lower, upper)
  }
}

/// The spans of keys in which an index has what is asked for: in the order of the keys, and no entry in two of them.
///
/// Invariant: more spans than `mostListed`, and no fewer, are `many`.
enum KeySpans {
  case few([KeySpan])
  indirect case many(ByteSpans, isExact: Bool)

  /// A walk asks each of so many spans for itself.
  private static let mostListed = 16

  /// Spans in any order, of which neighbours may overlap where bounds were cut.
  init(_ spans: [KeySpan]) {
    let merged = KeySpan.merged(spans)
    if merged.count <= Self.mostListed {
      self = .few(merged)
      return
    }
    var all = ByteSpans(capacity: merged.count)
    for span in merged { all.append(lower: span.lower, upper: span.upper) }
    self = .many(all, isExact: merged.allSatisfy(\.isExact))
    assert(isSound, "spans that are few are kept as many")
  }

  /// Whether the invariant holds.
  private var isSound: Bool { if case .many = self { count > Self.mostListed } else { count <= Self.mostListed } }

  /// The spans of a column's values behind each of some prefixes, of which none begins another.
  init(_ ranges: ByteRanges, behind prefixes: [[UInt8]], isDescending: Bool, isExact: Bool) {
    if !isDescending, let spans = ranges.spans, !spans.hasBound(longerThan: IndexKey.columnByteCount) {
      if prefixes == [[]] {
        self = .many(spans, isExact: isExact)
        return
      }
      var all = ByteSpans(
        capacity: prefixes.count * spans.count, byteCount: prefixes.count * spans.byteCount)
      for prefix in prefixes.sorted(by: { $0.precedes($1) }) { all.append(spans, behind: prefix) }
      self = .many(all, isExact: isExact)
      assert(isSound, "spans that are few are kept as many")
      return
    }
    let list = ranges.list
    self.init(
      prefixes.flatMap { prefix in
        list.map { KeySpan($0, behind: prefix, isDescending: isDescending, isExact: isExact) }
      })
  }

  /// The number of spans.
  var count: Int {
    switch self {
    case .few(let spans): spans.count
    case .many(let spans, _): spans.count
    }
  }

  /// Whether all entries are of values that are asked for.
  var isExact: Bool {
    switch self {
    case .few(let spans): spans.allSatisfy(\.isExact)
    case .many(_, let isExact): isExact
    }
  }

  /// The spans one by one. Makes them, if there are many.
  var list: [KeySpan] {
    switch self {
    case .few(let spans): spans
    case .many(let spans, let isExact):
      (0..<spans.count).map { KeySpan(lower: spans.lower($0), upper: spans.upper($0), isExact: isExact) }
    }
  }
}

extension ByteSpans {
  /// Whether a bound has more bytes than some.
  fileprivate func hasBound(longerThan byteCount: Int) -> Bool {
    (0..<count).contains { lowerByteCount($0) > byteCount || upperByteCount($0) > byteCount }
  }
}
