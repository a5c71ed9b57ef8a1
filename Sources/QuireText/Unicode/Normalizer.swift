// Canonical decomposition and composition, by chapter 3.11 of the Unicode standard.

/// Decomposes scalars, puts marks in their canonical order, and composes again.
struct Normalizer: Sendable {
  private let pairs: ScalarMap
  private let singles: ScalarMap
  private let combiningClasses: [ScalarRun]
  /// Two scalars as one number, in ascending order, and what they compose to.
  private let composedPairs: [UInt64]
  private let composedScalars: [UInt32]

  /// - Parameters:
  ///   - pairs: decompositions into two scalars that are composed again.
  ///   - singles: those that are not.
  ///   - combiningClasses: all that are not 0.
  init(pairs: ScalarMap, singles: ScalarMap, combiningClasses: [ScalarRun]) {
    (self.pairs, self.singles, self.combiningClasses) = (pairs, singles, combiningClasses)
    let composed = (0..<pairs.count).map { index in
      let pair = Array(pairs[index])
      return (key: UInt64(pair[0]) << 32 | UInt64(pair[1]), scalar: pairs.scalars[index])
    }.sorted { $0.key < $1.key }
    composedPairs = composed.map(\.key)
    composedScalars = composed.map(\.scalar)
  }

  /// The syllables of Hangul, and the letters that they are made of.
  private enum Hangul {
    static let syllables: UInt32 = 0xac00
    static let syllableCount: UInt32 = 11_172
    static let leads: UInt32 = 0x1100
    static let vowels: UInt32 = 0x1161
    static let trails: UInt32 = 0x11a7
    static let leadCount: UInt32 = 19
    static let vowelCount: UInt32 = 21
    static let trailCount: UInt32 = 28
  }

  /// All canonical decompositions but those of Hangul.
  var maps: [ScalarMap] { [pairs, singles] }

  /// The canonical combining class of a scalar.
  func combiningClass(_ scalar: UInt32) -> UInt32 {
    scalar < 0x300 ? 0 : combiningClasses.value(of: scalar) ?? 0
  }

  /// Appends what a scalar is decomposed to, by the canonical decompositions and by those of `further`.
  func decompose(_ scalar: UInt32, further: ScalarMap? = nil, into scalars: inout [UInt32]) {
    if scalar >= Hangul.syllables, scalar - Hangul.syllables < Hangul.syllableCount {
      let index = scalar - Hangul.syllables
      scalars.append(Hangul.leads + index / (Hangul.vowelCount * Hangul.trailCount))
      scalars.append(Hangul.vowels + index / Hangul.trailCount % Hangul.vowelCount)
      let trail = index % Hangul.trailCount
      if trail > 0 { scalars.append(Hangul.trails + trail) }
    } else if scalar >= 0xa0, let parts = pairs(scalar) ?? singles(scalar) ?? further?(scalar) {
      // The decompositions of the standard end after few steps.
      for part in parts { decompose(part, further: further, into: &scalars) }
    } else {
      scalars.append(scalar)
    }
  }

  /// Puts marks behind each other in the order of their classes.
  func reorder(_ scalars: inout [UInt32]) {
    for index in scalars.indices.dropFirst() {
      let (scalar, rank) = (scalars[index], combiningClass(scalars[index]))
      guard rank > 0 else { continue }
      var place = index
      while place > 0, combiningClass(scalars[place - 1]) > rank {
        scalars[place] = scalars[place - 1]
        place -= 1
      }
      scalars[place] = scalar
    }
  }

  /// Composes scalars that are decomposed and in order.
  func compose(_ scalars: inout [UInt32]) {
    var (count, starter, last) = (0, -1, UInt32.max)
    for scalar in scalars {
      let rank = combiningClass(scalar)
      // `last` is the class of what stands between the starter and here; nothing does if it is 0 right behind it.
      let isBlocked = starter < 0 || count - 1 > starter && (last >= rank)
      if !isBlocked, let composed = compose(scalars[starter], scalar) {
        scalars[starter] = composed
        continue
      }
      if rank == 0 { starter = count }
      last = rank
      scalars[count] = scalar
      count += 1
    }
    scalars.removeSubrange(count...)
  }

  /// What two scalars compose to.
  private func compose(_ first: UInt32, _ second: UInt32) -> UInt32? {
    if first >= Hangul.leads, first - Hangul.leads < Hangul.leadCount {
      guard second >= Hangul.vowels, second - Hangul.vowels < Hangul.vowelCount else { return nil }
      let (lead, vowel) = (first - Hangul.leads, second - Hangul.vowels)
      return Hangul.syllables + (lead * Hangul.vowelCount + vowel) * Hangul.trailCount
    }
    if first >= Hangul.syllables, first - Hangul.syllables < Hangul.syllableCount {
      guard (first - Hangul.syllables) % Hangul.trailCount == 0 else { return nil }
      guard second > Hangul.trails, second - Hangul.trails < Hangul.trailCount else { return nil }
      return first + second - Hangul.trails
    }
    let key = UInt64(first) << 32 | UInt64(second)
    var (low, high) = (0, composedPairs.count)
    while low < high {
      let middle = (low + high) / 2
      if composedPairs[middle] < key { low = middle + 1 } else { high = middle }
    }
    return low < composedPairs.count && composedPairs[low] == key ? composedScalars[low] : nil
  }
}
