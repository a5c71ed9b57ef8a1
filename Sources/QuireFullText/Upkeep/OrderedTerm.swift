// Putting the terms of a row in order.

/// A term of a row, to be put in order.
struct OrderedTerm {
  /// The first eight bytes as a number that has their order.
  let prefix: UInt64
  let index: Int32
}

extension [OrderedTerm] {
  /// Up to so many terms are sorted by putting one after the other in its place.
  private static let insertedCount = 80

  /// Sorts terms by their bytes.
  ///
  /// - Parameter precedes: whether one term precedes another one, where both begin with the same eight bytes.
  mutating func sort(byRest precedes: (Int32, Int32) -> Bool) {
    func isBefore(_ left: OrderedTerm, _ right: OrderedTerm) -> Bool {
      left.prefix != right.prefix ? left.prefix < right.prefix : precedes(left.index, right.index)
    }
    guard count <= Self.insertedCount else { return sort { isBefore($0, $1) } }
    unsafe withUnsafeMutableBufferPointer { terms in
      for end in terms.indices.dropFirst() {
        let term = unsafe terms[end]
        var place = end
        while place > 0, unsafe isBefore(term, terms[place - 1]) {
          unsafe terms[place] = terms[place - 1]
          place -= 1
        }
        unsafe terms[place] = term
      }
    }
  }
}
