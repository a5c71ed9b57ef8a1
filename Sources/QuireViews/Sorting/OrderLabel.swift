// Labels that put things in an order that nothing about them tells.

/// A byte string that stands for a place in a list: between any two there is room for another one.
///
/// Read as a fraction in base 256, after the point. A label never ends with a zero byte, so that different labels are
/// different fractions, and byte order is the order of the fractions.
enum OrderLabel {
  /// Labels longer than this are given out only until the list is labelled anew around them.
  static let byteLimit = 32

  /// The label of the first thing in a list.
  static let first: [UInt8] = [0x80]

  /// Whether both are labels, in order; nil means the beginning and the end of the list.
  static func areSound(_ low: [UInt8]?, _ high: [UInt8]?) -> Bool {
    // An empty label has no last byte.
    if let low, low.last ?? 0 == 0 { return false }
    if let high, high.last ?? 0 == 0 { return false }
    guard let low, let high else { return true }
    return low.lexicographicallyPrecedes(high)
  }

  /// A label between two others, which mean what `areSound` says; nil if they are not sound.
  ///
  /// In front of all and behind all it steps by a fixed amount instead of halving what is left, so that lists which
  /// grow at an end get short labels for ever: some 16 million on each side before a label gets longer than 8 bytes.
  static func between(_ low: [UInt8]?, _ high: [UInt8]?) -> [UInt8]? {
    guard areSound(low, high) else { return nil }
    let label = unchecked(between: low, high)
    assert(areSound(low, label), "a label is not behind the one in front of it")
    assert(areSound(label, high), "a label is not in front of the one behind it")
    return label
  }

  private static func unchecked(between low: [UInt8]?, _ high: [UInt8]?) -> [UInt8] {
    switch (low, high) {
    case (nil, nil): return first
    case (let low?, nil):
      let word = prefix(low)
      if word < UInt64.max - step { return trimmed(word + step) }
    case (nil, let high?):
      let word = prefix(high)
      if word > step { return trimmed(word - step) }
    case (.some, .some): break
    }
    return middle(low ?? [], high)
  }

  private static let step: UInt64 = 1 << 39

  /// The first eight bytes as a number.
  private static func prefix(_ label: [UInt8]) -> UInt64 {
    (0..<8).reduce(0) { $0 << 8 | UInt64($1 < label.count ? label[$1] : 0) }
  }

  private static func trimmed(_ word: UInt64) -> [UInt8] {
    // Cut off to the bytes that the step moves, which keeps it strictly beyond the label that it came from.
    var bytes = (0..<8).map { UInt8(truncatingIfNeeded: word >> UInt64(56 - 8 * $0)) }
    while bytes.last == 0 { bytes.removeLast() }
    return bytes
  }

  /// The shortest label in the middle of two, which are sound.
  private static func middle(_ low: [UInt8], _ high: [UInt8]?) -> [UInt8] {
    var label: [UInt8] = []
    var high = high
    // Two that differ do so within the longer one, and behind the lower one is room again.
    for index in 0...max(low.count, high?.count ?? 0) {
      let below = index < low.count ? Int(low[index]) : 0
      let above = high.map { index < $0.count ? Int($0[index]) : 0 } ?? 256
      if above - below > 1 {
        label.append(UInt8((below + above) / 2))
        return label
      }
      label.append(UInt8(below))
      // One apart: whatever follows stays below `high`.
      if above > below { high = nil }
    }
    preconditionFailure("there is no room between two labels")
  }

  /// `count` labels in order between two others, evenly apart; nil if these are not sound.
  static func spread(_ count: Int, between low: [UInt8]?, _ high: [UInt8]?) -> [[UInt8]]? {
    guard areSound(low, high) else { return nil }
    var labels = Array(repeating: [UInt8](), count: count)
    // Parts that are still to be labelled, each with the labels around it: the middle first, then the halves.
    var parts: [(range: Range<Int>, low: [UInt8]?, high: [UInt8]?)] = [(0..<count, low, high)]
    while let part = parts.popLast() {
      guard !part.range.isEmpty else { continue }
      let index = part.range.lowerBound + part.range.count / 2
      labels[index] = middle(part.low ?? [], part.high)
      parts.append((part.range.lowerBound..<index, part.low, labels[index]))
      parts.append((index + 1..<part.range.upperBound, labels[index], part.high))
    }
    assert(zip(labels, labels.dropFirst()).allSatisfy { areSound($0, $1) }, "labels are out of order")
    return labels
  }
}
