// Long phrases in which terms come again and again.

internal import QuireDatabase

/// Finds a phrase among the tokens of one field, for phrases whose terms stand one behind the other and repeat: each
/// token of the field is looked at once, where looking for one element after the other looks at the tokens of a term as
/// often as the term stands in the phrase.
///
/// Knuth, Morris and Pratt, “Fast pattern matching in strings”, SIAM Journal on Computing 6 (1977).
///
/// For one thread. The memory serves one field after the other.
final class SequenceMatcher {
  /// For each element the number of its term.
  private let terms: [Int32]
  /// For each element, how many elements before it and with it are also the first of the phrase, without being all.
  private let borders: [Int32]
  /// The tokens of the field: the position above, the number of the term in the lowest 32 bits.
  private let tokens = RawBuffer<UInt64>()

  /// Terms of shorter phrases are looked for one by one.
  private static let leastCount = 8

  /// - Parameter terms: for each element the number of its term.
  /// - Returns: nil if terms do not repeat so often that it is worth the while, or if elements do not stand one behind
  ///   the other.
  init?(_ terms: [Int], offsets: [UInt32]) {
    let isWorthwhile = terms.count >= Self.leastCount && terms.count >= 2 * Set(terms).count
    guard isWorthwhile, offsets.indices.allSatisfy({ offsets[$0] == UInt32(clamping: $0) }) else { return nil }
    self.terms = terms.map { Int32(truncatingIfNeeded: $0) }
    var borders: [Int32] = [0]
    for index in 1..<terms.count {
      var length = Int(borders[index - 1])
      while length > 0, terms[length] != terms[index] { length = Int(borders[length - 1]) }
      borders.append(Int32(terms[length] == terms[index] ? length + 1 : 0))
    }
    self.borders = borders
  }

  /// Forgets the tokens of the field before.
  func removeAll() { tokens.removeAll() }

  /// Takes in where a term stands; its positions ascend.
  @inline(__always) func add(_ position: UInt32, _ term: Int) {
    tokens.append(UInt64(position) << 32 | UInt64(UInt32(truncatingIfNeeded: term)))
  }

  /// How many tokens were taken in.
  var count: Int { tokens.count }

  /// Appends where the phrase begins among the tokens that were taken in.
  ///
  /// - Parameters:
  ///   - isAtStart: whether it has to begin with the first token.
  ///   - isOne: whether one place is enough.
  /// - Returns: false if two terms stand at one position: then nothing was looked for.
  func findStarts(_ starts: RawBuffer<UInt32>, isAtStart: Bool, isOne: Bool) -> Bool {
    var values = unsafe tokens.values
    unsafe values.sort()
    let (tokens, count) = unsafe (self.tokens.base, tokens.count)
    for index in 1..<max(1, count) where unsafe tokens[index] >> 32 == tokens[index - 1] >> 32 { return false }
    var (matched, next): (Int, UInt64) = (0, 0)
    for index in 0..<count {
      let (position, term) = unsafe (tokens[index] >> 32, Int32(truncatingIfNeeded: tokens[index]))
      if position != next { matched = 0 }
      next = position + 1
      if isAtStart, position != UInt64(matched) { return true }
      while matched > 0, matched == terms.count || terms[matched] != term { matched = Int(borders[matched - 1]) }
      if terms[matched] == term { matched += 1 }
      guard matched == terms.count else { continue }
      starts.append(UInt32(truncatingIfNeeded: next - UInt64(matched)))
      if isOne || isAtStart { return true }
    }
    return true
  }
}
