// Many keys of a tree in little memory.

/// Keys of bytes, one behind the other in one piece of memory.
///
/// Invariants:
/// 1. `ends` has the end of each key in `bytes`, none below the one before; the last one is the end of `bytes`.
/// 2. If `isAscending`, each key is above the one before.
public struct ByteKeys: Sendable {
  private var bytes: [UInt8] = []
  private var ends: [Int] = []
  /// Whether the keys stand in the order of a tree, and none is there twice.
  public private(set) var isAscending = true

  /// None, with room for some.
  public init(capacity: Int = 0, byteCount: Int = 0) {
    ends.reserveCapacity(capacity)
    bytes.reserveCapacity(byteCount)
  }

  /// The number of keys.
  public var count: Int { ends.count }

  /// Adds a key behind the others.
  public mutating func append(_ key: RawSpan) {
    append { bytes in unsafe key.withUnsafeBytes { unsafe bytes.append(contentsOf: $0) } }
  }

  /// Adds the key that `body` appends.
  mutating func append(_ body: (inout [UInt8]) -> Void) {
    let start = bytes.count
    body(&bytes)
    assert(bytes.count >= start, "a key was cut off while one was appended")
    ends.append(bytes.count)
    if isAscending, count > 1 { isAscending = order(count - 2, count - 1) < 0 }
  }

  /// A key, copied.
  public subscript(index: Int) -> [UInt8] { Array(bytes[range(index)]) }

  /// Calls `body` with a key where it lies.
  @inline(__always)
  func withKey<Result>(_ index: Int, _ body: (UnsafeRawBufferPointer) throws -> Result) rethrows -> Result {
    let range = range(index)
    return try unsafe bytes.withUnsafeBytes { try unsafe body(UnsafeRawBufferPointer(rebasing: $0[range])) }
  }

  /// Whether a key has these bytes.
  @inline(__always) func isEqual(_ index: Int, _ other: RawSpan) -> Bool {
    unsafe withKey(index) { key in
      unsafe other.withUnsafeBytes { other in unsafe key.count == other.count && key.order(beside: other) == 0 }
    }
  }

  /// Brings the keys into the order of a tree. O(n log n), and next to nothing if they are in order.
  mutating func sort() {
    if isAscending { return }
    let order = (0..<count).sorted { self.order($0, $1) < 0 }
    var sorted = ByteKeys(capacity: count, byteCount: bytes.count)
    for index in order {
      // One that is there twice is removed once.
      if let last = sorted.last, unsafe withKey(index, { unsafe sorted.isEqual(last, $0.bytes) }) { continue }
      unsafe withKey(index) { unsafe sorted.append($0.bytes) }
    }
    assert(sorted.isAscending, "sorted keys do not ascend")
    self = sorted
  }

  private var last: Int? { count > 0 ? count - 1 : nil }

  @inline(__always) private func range(_ index: Int) -> Range<Int> {
    (index == 0 ? 0 : ends[index - 1])..<ends[index]
  }

  /// Negative, zero or positive as a key is below, the same as, or above another one.
  private func order(_ left: Int, _ right: Int) -> Int {
    unsafe withKey(left) { left in unsafe withKey(right) { right in unsafe left.order(beside: right) } }
  }
}
