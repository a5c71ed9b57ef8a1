// The rows that are stored and the order in which they are looked up: the same bytes for every store.

internal import QuireTesting

/// Adds up bytes as 64-bit words, the last of which may overlap the one before: touches every byte, costs little.
@inline(__always) func sum(of bytes: UnsafeRawBufferPointer) -> UInt64 {
  var total: UInt64 = 0
  guard bytes.count >= 8 else {
    for byte in bytes { total &+= UInt64(byte) }
    return total
  }
  var offset = 0
  while offset <= bytes.count - 8 {
    total &+= bytes.loadUnaligned(fromByteOffset: offset, as: UInt64.self)
    offset += 8
  }
  if offset < bytes.count { total &+= bytes.loadUnaligned(fromByteOffset: bytes.count - 8, as: UInt64.self) }
  return total
}

/// Random rows in one block of memory: key, value, key, value and so on.
///
/// Sharing it between threads is safe because nothing changes it after `init`.
final class RowBlock: @unchecked Sendable {
  static let keyByteCount = 24

  let count: Int
  let valueByteCount: Int
  private var rowByteCount: Int { Self.keyByteCount + valueByteCount }
  private let memory: UnsafeMutableRawBufferPointer

  /// Makes `count` rows; equal seeds make equal rows.
  init(count: Int, seed: UInt64, valueByteCount: Int = 150) {
    self.count = count
    self.valueByteCount = valueByteCount
    let byteCount = count * (Self.keyByteCount + valueByteCount)
    memory = UnsafeMutableRawBufferPointer.allocate(byteCount: (byteCount + 7) & ~7, alignment: 64)
    var random = SeededRandom(seed: seed)
    for offset in stride(from: 0, to: memory.count, by: 8) {
      memory.storeBytes(of: random.next(), toByteOffset: offset, as: UInt64.self)
    }
  }

  /// The rows of another block in key order.
  init(sorted other: RowBlock) {
    count = other.count
    valueByteCount = other.valueByteCount
    memory = UnsafeMutableRawBufferPointer.allocate(byteCount: other.memory.count, alignment: 64)
    for (place, index) in other.sortedIndices().enumerated() {
      let target = UnsafeMutableRawBufferPointer(
        rebasing: memory[(place * rowByteCount)..<((place + 1) * rowByteCount)])
      target.copyMemory(from: UnsafeRawBufferPointer(start: other.row(index), count: rowByteCount))
    }
  }

  /// Rows with the keys of `other` and values of their own, drawn from `seed`.
  convenience init(keysOf other: RowBlock, seed: UInt64) {
    self.init(count: other.count, seed: seed, valueByteCount: other.valueByteCount)
    for index in 0..<count {
      UnsafeMutableRawPointer(mutating: row(index)).copyMemory(
        from: other.row(index), byteCount: Self.keyByteCount)
    }
  }

  /// Makes `count` rows, each of what `fill` writes to its bytes, key first.
  init(count: Int, valueByteCount: Int = 150, fill: (Int, UnsafeMutableRawBufferPointer) -> Void) {
    self.count = count
    self.valueByteCount = valueByteCount
    let rowByteCount = Self.keyByteCount + valueByteCount
    memory = UnsafeMutableRawBufferPointer.allocate(byteCount: (count * rowByteCount + 7) & ~7, alignment: 64)
    for index in 0..<count {
      let start = index * rowByteCount
      fill(index, UnsafeMutableRawBufferPointer(rebasing: memory[start..<(start + rowByteCount)]))
    }
  }

  deinit { memory.deallocate() }

  @inline(__always) func key(_ index: Int) -> UnsafeRawBufferPointer {
    UnsafeRawBufferPointer(start: row(index), count: Self.keyByteCount)
  }

  @inline(__always) func value(_ index: Int) -> UnsafeRawBufferPointer {
    UnsafeRawBufferPointer(start: row(index) + Self.keyByteCount, count: valueByteCount)
  }

  @inline(__always) private func row(_ index: Int) -> UnsafeRawPointer {
    // The block is never empty: the smallest plan has rows.
    UnsafeRawPointer(memory.baseAddress.unsafelyUnwrapped) + index * rowByteCount
  }

  /// All keys and values.
  var byteCount: Int { count * rowByteCount }

  /// What a store holds that holds these rows and no others.
  var contents: Contents { contents(of: 0..<count) }

  /// What a store holds that holds the rows of `range` and no others.
  func contents(of range: Range<Int>) -> Contents {
    Contents(count: range.count, sum: range.reduce(0) { $0 &+ sum(of: value($1)) })
  }

  /// The indices of the rows in key order. O(n log n).
  func sortedIndices() -> [Int] {
    // Eight random bytes decide nearly always; the rest of the key is compared where they do not.
    let heads = (0..<count).map { UInt64(bigEndian: key($0).loadUnaligned(as: UInt64.self)) }
    return (0..<count).sorted { left, right in
      heads[left] != heads[right] ? heads[left] < heads[right] : key(left).lexicographicallyPrecedes(key(right))
    }
  }
}

/// Keys in the order in which they are looked up, side by side, so that fetching the next key costs no cache miss that
/// would be charged to the store.
///
/// Sharing it between threads is safe because nothing changes it after `init`.
final class KeyList: @unchecked Sendable {
  let count: Int
  private let memory: UnsafeMutableRawBufferPointer

  /// The keys of `rows` at `indices`.
  init(_ rows: RowBlock, at indices: [Int]) {
    count = indices.count
    memory = UnsafeMutableRawBufferPointer.allocate(byteCount: count * RowBlock.keyByteCount, alignment: 64)
    for (place, index) in indices.enumerated() {
      let target = UnsafeMutableRawBufferPointer(
        rebasing: memory[(place * RowBlock.keyByteCount)..<((place + 1) * RowBlock.keyByteCount)])
      target.copyMemory(from: rows.key(index))
    }
  }

  /// `count` keys, each of what `fill` writes to its bytes.
  init(count: Int, fill: (Int, UnsafeMutableRawBufferPointer) -> Void) {
    self.count = count
    let keyByteCount = RowBlock.keyByteCount
    memory = UnsafeMutableRawBufferPointer.allocate(byteCount: count * keyByteCount, alignment: 64)
    for place in 0..<count {
      let start = place * keyByteCount
      fill(place, UnsafeMutableRawBufferPointer(rebasing: memory[start..<(start + keyByteCount)]))
    }
  }

  deinit { memory.deallocate() }

  @inline(__always) subscript(index: Int) -> UnsafeRawBufferPointer {
    UnsafeRawBufferPointer(
      start: UnsafeRawPointer(memory.baseAddress.unsafelyUnwrapped) + index * RowBlock.keyByteCount,
      count: RowBlock.keyByteCount)
  }
}

/// Range reads with the answer that they must give.
struct RangeReads {
  let starts: KeyList
  let length: Int
  let expectedSum: UInt64

  /// `count` ranges of up to `length` rows, beginning at rows drawn from `seed`.
  init(_ rows: RowBlock, count: Int, length: Int, seed: UInt64) {
    let sorted = rows.sortedIndices()
    var random = SeededRandom(seed: seed)
    let ranks = (0..<count).map { _ in random.below(sorted.count) }
    self.length = length
    starts = KeyList(rows, at: ranks.map { sorted[$0] })
    expectedSum = ranks.reduce(0) { total, rank in
      sorted[rank..<min(rank + length, sorted.count)].reduce(total) { $0 &+ sum(of: rows.value($1)) }
    }
  }
}
