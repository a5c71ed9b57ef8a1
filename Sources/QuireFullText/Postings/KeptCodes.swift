// The codes of the lengths of rows that a block keeps.

internal import QuireDatabase

/// The codes of the lengths of rows that a block keeps when it is made anew, or some that are no greater and still
/// within the limits that the block had.
///
/// For one thread. The memory serves one block after the other.
@safe final class KeptCodes {
  /// For each frequency, as limits have it, what all rows with it may have.
  private let byFrequency: UnsafeMutablePointer<UInt8>
  /// Those of the rows, where they were looked up.
  private let listed = RawBuffer<UInt8>()
  @exclusivity(unchecked) private var isListed = false

  private static let frequencyCount = Int(LimitPair.anyFrequency) + 1

  init() {
    unsafe byFrequency = .allocate(capacity: Self.frequencyCount)
    setUnwanted()
  }

  deinit { unsafe byFrequency.deallocate() }

  /// Nobody asks what the rows have: the greatest code says least.
  func setUnwanted() {
    unsafe byFrequency.update(repeating: .max, count: Self.frequencyCount)
    unsafe isListed = false
  }

  /// The rows are within limits.
  func set(_ limits: LimitPairs) {
    unsafe byFrequency.update(repeating: .max, count: Self.frequencyCount)
    var greatest = 0
    for index in 0..<limits.count {
      let pair = limits[index]
      greatest = max(greatest, Int(pair.frequency))
      for frequency in 0...Int(pair.frequency) {
        unsafe byFrequency[frequency] = min(byFrequency[frequency], pair.lengthCode)
      }
    }
    // No row has such a frequency, unless the limits are wrong: then nothing is known of it.
    for frequency in (greatest + 1)..<max(greatest + 1, Self.frequencyCount) { unsafe byFrequency[frequency] = 0 }
    unsafe isListed = false
  }

  /// Takes the codes of all rows, which `append` appends.
  func list(_ append: (RawBuffer<UInt8>) throws -> Void) rethrows {
    listed.removeAll()
    try append(listed)
    unsafe isListed = true
  }

  /// The code of a row that has this frequency.
  @inline(__always) func code(_ index: Int, total: Int) -> UInt8 {
    assert(unsafe !isListed || index < listed.count, "a row is asked for that the block does not have")
    return unsafe isListed ? listed.base[index] : byFrequency[min(Self.frequencyCount - 1, total)]
  }
}
