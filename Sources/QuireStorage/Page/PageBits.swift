// A growing set of page numbers, one bit each.

/// A set of page numbers.
package struct PageBits: ExpressibleByArrayLiteral {
  private(set) var words: [UInt64] = []

  /// The set of `numbers`.
  package init(arrayLiteral numbers: UInt64...) {
    for number in numbers { self[number] = true }
  }

  /// Makes room for numbers below `count`.
  mutating func grow(to count: UInt64) {
    let needed = Int((count + 63) / 64)
    if words.count < needed { words.append(contentsOf: repeatElement(0, count: needed - words.count)) }
  }

  /// Whether a number is in the set.
  subscript(_ number: UInt64) -> Bool {
    get {
      let index = Int(number >> 6)
      return index < words.count && words[index] & (1 << (number & 63)) != 0
    }
    set {
      grow(to: number + 1)
      if newValue {
        words[Int(number >> 6)] |= 1 << (number & 63)
      } else {
        words[Int(number >> 6)] &= ~(1 << (number & 63))
      }
    }
  }

  /// Whether nothing was entered since the set was made.
  var isEmpty: Bool { words.isEmpty }

  /// Takes a number out; returns whether it was in.
  mutating func remove(_ number: UInt64) -> Bool {
    guard self[number] else { return false }
    self[number] = false
    return true
  }

  /// Adds the numbers from `64 * index` on whose bits are set in `word`.
  mutating func insert(_ word: UInt64, at index: Int) {
    grow(to: UInt64(index + 1) << 6)
    words[index] |= word
  }

  /// Adds every number of `other`.
  mutating func formUnion(_ other: PageBits) {
    grow(to: UInt64(other.words.count) * 64)
    for (index, word) in other.words.enumerated() { words[index] |= word }
  }

  /// Calls `body` with every number in the set, in order.
  func forEach(_ body: (UInt64) -> Void) {
    for (index, word) in words.enumerated() {
      var rest = word
      while rest != 0 {
        body(UInt64(index) << 6 + UInt64(rest.trailingZeroBitCount))
        rest &= rest - 1
      }
    }
  }

  /// How many numbers are in the set.
  var count: Int { words.reduce(0) { $0 + $1.nonzeroBitCount } }

  /// The least number of the set that is at least `start`.
  func first(from start: UInt64) -> UInt64? {
    var index = Int(start >> 6)
    var mask = ~UInt64(0) << (start & 63)
    while index < words.count {
      let word = words[index] & mask
      if word != 0 { return UInt64(index) << 6 + UInt64(word.trailingZeroBitCount) }
      mask = ~0
      index += 1
    }
    return nil
  }
}
