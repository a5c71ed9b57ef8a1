// A growing set of page numbers, one bit each.

/// A set of page numbers.
struct PageBits {
  private(set) var words: [UInt64] = []

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

  /// The least number that is at least `start`, in this set and not in `excluded`.
  func first(from start: UInt64, excluding excluded: PageBits) -> UInt64? {
    var index = Int(start >> 6)
    var mask = ~UInt64(0) << (start & 63)
    while index < words.count {
      let taken = index < excluded.words.count ? excluded.words[index] : 0
      let word = words[index] & ~taken & mask
      if word != 0 { return UInt64(index) << 6 + UInt64(word.trailingZeroBitCount) }
      mask = ~0
      index += 1
    }
    return nil
  }
}
