// The numbers of the format of LZ4's blocks, and what follows from them.

/// What both directions have to keep to.
enum LZ4Format {
  /// A match has at least so many bytes.
  static let leastMatch = 4
  /// Four bits that say that more of the length follows.
  static let longLength = 15
  /// The result ends with so many literals at the least.
  static let lastLiterals = 5
  /// The last match begins so many bytes before the end of the result, or earlier.
  static let lastMatchDistance = 12
  /// Offsets have two bytes.
  static let mostOffset = 65_535
  /// What follows the literals of a sequence that is not the last, at the least: an offset, a token, five literals.
  static let leastInputAfterLiterals = 2 + 1 + lastLiterals

  /// The longest match that the token alone says.
  static let shortMatch = longLength - 1 + leastMatch
  /// What is read of a block from the first literal of a short sequence on: sixteen bytes at once, which are up to
  /// fourteen literals and an offset.
  static let shortInput = 16
  /// How much room a short sequence takes at the most: its literals and its match, and behind them what must be left
  /// for the last literals. Its literals end as far from the end as a match must begin.
  static let shortResult = longLength - 1 + shortMatch + lastLiterals

  /// The least multiple of a distance below 8 that is 8 or more.
  @inline(__always)
  static func spread(_ distance: Int) -> Int {
    assert(1..<8 ~= distance, "a distance of \(distance) needs no spreading")
    // 8, 8, 9, 8, 10, 12, 14: four bits each.
    return (0xeca_8988 &>> ((distance &- 1) &* 4)) & 15
  }
}
