// Which pages long values have been read from, so that a file cannot have them read over and over.

/// The pages of long values that have been read, over all trees.
///
/// In a file that nobody forged each page is part of one value. Older versions of a leaf name the values that the
/// current one names, and others whose pages have been given to new values since: pages may be read again, but not more
/// bytes that way than `repeatFactor` times what the file has. So what is read and delivered of long values is bounded
/// by the size of the file, whatever it says.
struct SalvageClaims {
  private var pages = PageBits()
  /// How many pages may still be read that were read before.
  private var repeatCount: UInt64
  private static let repeatFactor: UInt64 = 4

  /// - Parameter fileLimit: how many pages the file has.
  init(fileLimit: UInt64) { repeatCount = Self.repeatFactor * fileLimit }

  /// Asks for the pages of a value. Returns whether it may be read.
  mutating func take(_ first: PageNumber, count: Int) -> Bool {
    assert(count > 0, "a value has no page")
    let range = first.rawValue..<first.rawValue + UInt64(count)
    if pages.claim(range) { return true }
    guard repeatCount >= UInt64(count) else { return false }
    repeatCount -= UInt64(count)
    return true
  }
}

extension PageBits {
  /// Adds all numbers of `range`; returns whether none of them was in the set.
  fileprivate mutating func claim(_ range: Range<UInt64>) -> Bool {
    var isNew = true
    for number in range {
      if self[number] { isNew = false } else { self[number] = true }
    }
    return isNew
  }
}
