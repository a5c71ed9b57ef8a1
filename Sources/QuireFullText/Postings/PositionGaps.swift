// The positions of a term in one field of one row.

internal import QuireDatabase

/// Positions of one row in one field, as they are stored: the first one, then the gaps less 1.
@safe struct PositionGaps {
  private let numbers: UnsafePointer<UInt64>
  let count: Int

  init(_ numbers: UnsafePointer<UInt64>, _ count: Int) {
    unsafe (self.numbers, self.count) = unsafe (numbers, count)
  }

  /// Copies them to where there is room for `count` numbers.
  ///
  /// - Returns: false if one of the positions is too great to be one.
  @inline(__always)
  func copy(to target: UnsafeMutablePointer<UInt64>) -> Bool {
    var (sum, bits): (UInt64, UInt64) = (0, 0)
    for index in 0..<count {
      let gap = unsafe numbers[index]
      unsafe target[index] = gap
      (sum, bits) = (sum &+ gap &+ 1, bits | gap)
    }
    // Fewer numbers than 2^32, each below 2^32, do not overflow.
    return bits <= UInt64(UInt32.max) && sum <= UInt64(UInt32.max)
  }

  /// Whether one of another term's positions is `offset` behind one of these; nil if one is too great to be one.
  @inline(__always)
  func isFollowed(by others: PositionGaps, at offset: UInt32) -> Bool? {
    assert(count > 0 && others.count > 0, "a row has a term nowhere")
    var (index, other) = (0, 0)
    var (position, otherPosition) = unsafe (numbers[0], others.numbers[0])
    var bits = position | otherPosition
    position &+= UInt64(offset)
    while position != otherPosition {
      if position < otherPosition {
        index &+= 1
        if index == count { break }
        let gap = unsafe numbers[index]
        (position, bits) = (position &+ gap &+ 1, bits | gap)
      } else {
        other &+= 1
        if other == others.count { break }
        let gap = unsafe others.numbers[other]
        (otherPosition, bits) = (otherPosition &+ gap &+ 1, bits | gap)
      }
    }
    // Fewer numbers than 2^31, each below 2^32, do not overflow.
    let isPossible = max(position &- UInt64(offset), otherPosition) < UInt64(UInt32.max)
    return bits <= UInt64(UInt32.max) && isPossible ? position == otherPosition : nil
  }

  /// Calls `body` with the positions in order until it returns false.
  ///
  /// - Returns: false if one is too great to be one.
  @inline(__always)
  func forEach(_ body: (UInt32) -> Bool) -> Bool {
    var position: UInt64 = 0
    for index in 0..<count {
      let (sum, overflow) = unsafe position.addingReportingOverflow(numbers[index])
      guard !overflow, sum < UInt64(UInt32.max) else { return false }
      guard body(UInt32(truncatingIfNeeded: sum)) else { return true }
      position = sum + 1
    }
    return true
  }
}
