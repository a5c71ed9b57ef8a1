// How long each of many calls took, as a histogram: a mean says nothing of those who waited.

internal import Histogram

/// Times of calls, in nanoseconds, to three digits.
struct Latencies {
  private static let longestNanoseconds: UInt64 = 3_600_000_000_000
  private var histogram = Histogram<UInt64>(
    highestTrackableValue: longestNanoseconds, numberOfSignificantValueDigits: .three)

  /// How many there are.
  var count: Int { Int(histogram.totalCount) }

  /// Notes the time of one call.
  mutating func add(_ nanoseconds: Int) {
    _ = histogram.record(min(UInt64(max(1, nanoseconds)), Self.longestNanoseconds))
  }

  /// What half of the calls took at the most, 99 of 100, 999 of 1,000, and the worst of them; none without calls.
  var shares: [(name: String, nanoseconds: Double)] {
    guard count > 0 else { return [] }
    return [("p50", 50.0), ("p99", 99.0), ("p99.9", 99.9), ("worst", 100.0)].map { name, share in
      (name, Double(histogram.valueAtPercentile(share)))
    }
  }
}
