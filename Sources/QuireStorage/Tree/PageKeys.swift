// Keys as pages hold them: in pieces, borrowed.

/// A key in pieces: what a page's prefix holds, in a uniform leaf what the head alone holds, and the rest. Integer keys
/// are in `integer` alone.
struct SplitKey {
  var front: UnsafeRawBufferPointer
  var back: UnsafeRawBufferPointer
  var integer: UInt64 = 0
  /// How many bytes of `head` come between `front` and `back`: 4 at most.
  var headCount = 0
  /// Four bytes of the key as a big-endian number.
  var head: UInt32 = 0

  /// A key that is in one piece.
  init(_ key: SearchKey) {
    front = UnsafeRawBufferPointer(start: nil, count: 0)
    back = UnsafeRawBufferPointer(start: key.base, count: key.count)
    integer = key.integer
  }

  init(front: UnsafeRawBufferPointer, back: UnsafeRawBufferPointer) {
    self.front = front
    self.back = back
  }

  init(front: UnsafeRawBufferPointer, head: UInt32, headCount: Int, back: UnsafeRawBufferPointer) {
    self.front = front
    self.head = head
    self.headCount = headCount
    self.back = back
  }

  init(integer: UInt64) {
    front = UnsafeRawBufferPointer(start: nil, count: 0)
    back = front
    self.integer = integer
  }

  var count: Int { front.count + headCount + back.count }

  @inline(__always) subscript(_ index: Int) -> UInt8 {
    if index < front.count { return front[index] }
    let rest = index &- front.count
    return rest < headCount ? KeyOrder.byte(rest, ofHead: head) : back[rest &- headCount]
  }

  /// How many bytes two keys have in common at their start.
  func commonPrefixCount(with other: SplitKey) -> Int {
    let limit = min(count, other.count)
    var index = 0
    while index < limit, self[index] == other[index] { index += 1 }
    return index
  }

  /// Copies all but the first `skipped` bytes to `target`; returns how many.
  @discardableResult
  func copy(skipping skipped: Int, to target: UnsafeMutableRawPointer) -> Int {
    let fromFront = max(0, front.count - skipped)
    if fromFront > 0, let base = front.baseAddress { target.copyMemory(from: base + skipped, byteCount: fromFront) }
    var copied = fromFront
    var index = max(0, skipped - front.count)
    while index < headCount {
      target.storeBytes(of: KeyOrder.byte(index, ofHead: head), toByteOffset: copied, as: UInt8.self)
      copied += 1
      index += 1
    }
    let fromBack = back.count - (index - headCount)
    if fromBack > 0, let base = back.baseAddress {
      (target + copied).copyMemory(from: base + (index - headCount), byteCount: fromBack)
    }
    return copied + max(0, fromBack)
  }

  /// The whole key.
  var bytes: [UInt8] {
    [UInt8](unsafeUninitializedCapacity: count) { buffer, used in
      used = count
      if let base = buffer.baseAddress { copy(skipping: 0, to: UnsafeMutableRawPointer(base)) }
    }
  }
}

/// The shortest key that is above `left` and not above `right`: what a branch stores to divide two pages.
enum Separator {
  static func between(_ left: SplitKey, _ right: SplitKey, keyKind: KeyKind) -> OwnedKey {
    if keyKind == .int64 { return OwnedKey(bytes: [], integer: right.integer) }
    let count = min(left.commonPrefixCount(with: right) + 1, right.count)
    let bytes = [UInt8](unsafeUninitializedCapacity: count) { buffer, filledCount in
      for index in 0..<count { buffer[index] = right[index] }
      filledCount = count
    }
    return OwnedKey(bytes: bytes, integer: 0)
  }
}

/// A key that owns its bytes.
struct OwnedKey {
  let bytes: [UInt8]
  let integer: UInt64

  /// Calls `body` with the key, borrowed.
  func withSplitKey<Result>(
    _ body: (SplitKey) throws(StorageError) -> Result
  ) throws(StorageError) -> Result {
    if bytes.isEmpty { return try body(SplitKey(integer: integer)) }
    let outcome: Swift.Result<Result, StorageError> = bytes.withUnsafeBytes { buffer in
      var key = SplitKey(front: UnsafeRawBufferPointer(start: nil, count: 0), back: buffer)
      key.integer = integer
      do throws(StorageError) { return .success(try body(key)) } catch { return .failure(error) }
    }
    return try outcome.get()
  }
}
