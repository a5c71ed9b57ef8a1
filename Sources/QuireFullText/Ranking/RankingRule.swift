// The formula of scores.

/// How well rows fit: BM25 over all fields together, with a weight for each field.
///
///     score = Σ over phrases: idf · tf · (k1 + 1) / (tf + k1 · (1 − b + b · length / average length))
///
/// tf is the sum of the frequencies in the fields, each by the weight of its field; lengths are the tokens of all
/// fields; idf is that of ``InverseDocumentFrequency``, with `.fts5` the score of FTS5's `bm25()` with the other sign.
struct RankingRule {
  private static let saturation = 1.2
  private static let lengthShare = 0.75
  /// Limits are raised by this share: sums of floating-point numbers in another order may be a little greater.
  private static let caution = 1 + 1e-9

  /// Beyond this, weights leave scores as they are: one word of the field counts as much as any number of them. Sums of
  /// frequencies by such weights are numbers still.
  private static let greatestWeight = 1e200

  /// A weight for each field.
  let weights: [Double]
  private let greatestWeight: Double
  /// The weight of all fields if it is the same, and not 0.
  let evenWeight: Double?
  private let rowCount: Double
  private let documentFrequency: InverseDocumentFrequency
  /// What is added to a frequency: for a row without tokens, and for each token.
  private let base: Double
  private let perToken: Double

  /// - Parameters:
  ///   - rowCount: the number of rows with tokens.
  ///   - totalLength: the tokens of all of them.
  ///   - documentFrequency: how much rare phrases count.
  init(weights: [Double], rowCount: Int, totalLength: UInt64, _ documentFrequency: InverseDocumentFrequency) {
    assert(weights.allSatisfy { $0 >= 0 && $0.isFinite }, "a weight is negative")
    self.weights = weights.map { min($0, Self.greatestWeight) }
    let greatest = self.weights.max() ?? 0
    greatestWeight = greatest
    evenWeight = greatest > 0 && self.weights.allSatisfy { $0 == greatest } ? greatest : nil
    self.rowCount = Double(rowCount)
    self.documentFrequency = documentFrequency
    base = Self.saturation * (1 - Self.lengthShare)
    perToken = totalLength == 0 ? 0 : Self.saturation * Self.lengthShare * Double(rowCount) / Double(totalLength)
  }

  /// How much a phrase says that stands in `count` rows.
  func rarity(rowCount count: Int) -> Double { documentFrequency.value(count: count, rowCount: rowCount) }

  /// The part of a score that the length of a row decides: the same for all its phrases.
  @inline(__always) func norm(length: Int) -> Double { base + perToken * Double(length) }

  /// The score of a phrase.
  @inline(__always) func score(_ rarity: Double, _ frequency: Double, norm: Double) -> Double {
    rarity * (frequency * (Self.saturation + 1) / (frequency + norm))
  }

  /// No row of these limits has a higher score.
  func limit(_ rarity: Double, _ limits: LimitPairs) -> Double {
    var greatest = 0.0
    for index in 0..<limits.count {
      let pair = limits[index]
      let frequency = Double(pair.frequency) * greatestWeight
      let isAny = pair.frequency == LimitPair.anyFrequency && greatestWeight > 0
      let share = isAny ? Self.saturation + 1 : score(1, frequency, norm: norm(length: pair.length))
      greatest = max(greatest, frequency == 0 ? 0 : share)
    }
    return rarity * greatest * Self.caution
  }

  /// The same of one row that is known.
  func limit(_ rarity: Double, _ frequency: Double, norm: Double) -> Double {
    score(rarity, frequency, norm: norm) * Self.caution
  }

  /// Whether a limit that was put together is below a score, whatever its last digits are.
  @inline(__always) func isBelow(_ limit: Double, _ score: Double) -> Bool { limit * Self.caution < score }

  /// No row with a frequency below this has such a score, whatever its length is.
  func leastFrequency(_ rarity: Double, score: Double) -> Double {
    let rest = rarity * (Self.saturation + 1) - score
    // Beyond what frequencies reach, all are looked at: the sums are too close to each other to tell.
    guard score > 0, rest > 0 else { return 0 }
    return score * base / rest / Self.caution
  }
}
