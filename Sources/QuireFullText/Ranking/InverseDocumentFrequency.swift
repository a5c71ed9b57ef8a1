// How much more a rare phrase counts than a frequent one.

internal import Foundation

/// How much a phrase counts in ranking by the number of rows that have it.
///
/// N is the number of rows with words, df that of the rows with the phrase, both exact.
public enum InverseDocumentFrequency: Hashable, Sendable, CaseIterable {
  /// `log(1 + (N − df + 0.5) / (df + 0.5))`: every phrase counts, those of nearly all rows least. It is what Lucene and
  /// Tantivy have, and finds better where words are frequent: in questions as people write them, and in few rows.
  case smooth
  /// `log((N − df + 0.5) / (df + 0.5))`, and no less than 10⁻⁶: what is in half of the rows and more counts nearly
  /// nothing. It is what FTS5's `bm25()` has.
  case fts5

  /// The value for a phrase in `count` of the rows.
  func value(count: Int, rowCount: Double) -> Double {
    let count = Double(count)
    // A count above the number of rows, from a damaged file, must not make a score negative or no number.
    let odds = max(0, rowCount - count + 0.5) / (count + 0.5)
    switch self {
    case .smooth: return log(1 + odds)
    case .fts5: return max(1e-6, log(odds))
    }
  }
}
