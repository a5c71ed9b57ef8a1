// Moving a flexible window along with the steps of a change.

/// The place of a flexible window in its group while steps are replayed; always within the group as it is at the step.
///
/// Invariant: `0 <= lower <= upper`, and `wasEmpty` if both are the same.
struct WindowTracker {
  private(set) var lower: Int
  private(set) var upper: Int
  /// Whether the window was empty at any moment since the start: from then on it grows at both edges. Without this a
  /// window that lost its last row could, depending on its growth, never show a row again.
  private var wasEmpty: Bool
  private let growsLow: Bool
  private let growsHigh: Bool

  init(_ window: ViewWindow, at range: Range<Int>) {
    lower = range.lowerBound
    upper = range.upperBound
    wasEmpty = range.isEmpty
    growsLow = window.growth.contains(window.pin == .beginning ? .pinSide : .farSide)
    growsHigh = window.growth.contains(window.pin == .beginning ? .farSide : .pinSide)
  }

  /// The indexes covered now.
  var range: Range<Int> { lower..<upper }

  /// A row came in at an index.
  mutating func insert(at index: Int) {
    if index < lower || (index == lower && !growsLow && !wasEmpty) {
      lower += 1
      upper += 1
    } else if index < upper || (index == upper && (growsHigh || wasEmpty)) {
      upper += 1
    }
    assert(isSound, "a window ends before it begins")
  }

  private var isSound: Bool { 0 <= lower && lower <= upper && (lower < upper || wasEmpty) }

  /// The row at an index went.
  mutating func remove(at index: Int) {
    if index < lower { lower -= 1 }
    if index < upper { upper -= 1 }
    if lower == upper { wasEmpty = true }
    assert(isSound, "a window ends before it begins")
  }

  /// All rows went.
  mutating func reset() {
    lower = 0
    upper = 0
    wasEmpty = true
  }
}
