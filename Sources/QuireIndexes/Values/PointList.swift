// Values that are asked for one by one, however many there are.

internal import Foundation
internal import QuireDatabase

#if canImport(Darwin)
  internal import Darwin
#elseif canImport(Glibc)
  internal import Glibc
#elseif canImport(Musl)
  internal import Musl
#elseif canImport(Android)
  internal import Android
#endif

/// The bytes of single values, one behind the other in one piece of memory, in any order.
struct PointList {
  private var bytes: [UInt8] = []
  /// Where each value ends.
  private var ends: [Int] = []
  /// Whether one has no bytes, as the value of a type that has only one: all values are equal to it.
  private(set) var hasEmpty = false

  /// None, with room for some.
  init(capacity: Int = 0) { ends.reserveCapacity(capacity) }

  var count: Int { ends.count }

  /// Adds a value, unless its bytes are `excluded`; `write` appends them.
  mutating func append(unless excluded: [UInt8]?, _ write: (inout [UInt8]) -> Void) {
    let start = bytes.count
    write(&bytes)
    if bytes.count == start { hasEmpty = true }
    if let excluded, bytes[start...].elementsEqual(excluded) {
      bytes.removeSubrange(start...)
    } else {
      ends.append(bytes.count)
    }
  }

  private func range(_ index: Int) -> Range<Int> { (index == 0 ? 0 : ends[index - 1])..<ends[index] }

  /// The values as ranges.
  var ranges: [ByteRange] { ends.indices.map { ByteRange(value: Array(bytes[range($0)])) } }

  // MARK: Sorting

  /// A value by the bytes behind what all begin with.
  private struct Entry {
    /// The first eight of them, with zeros behind fewer, as a number of their order.
    let word: UInt64
    let index: Int
  }

  /// The values in order, each once; neighbours between which no other value lies are one span. None may be without
  /// bytes.
  func sorted() -> ByteSpans {
    assert(!hasEmpty, "a value without bytes is no span")
    var spans = ByteSpans(capacity: count, byteCount: bytes.count)
    unsafe bytes.withUnsafeBytes { bytes in
      let value = { (index: Int) in unsafe UnsafeRawBufferPointer(rebasing: bytes[range(index)]) }
      var last: UnsafeRawBufferPointer?
      for entry in unsafe sortedEntries(bytes) {
        let next = unsafe value(entry.index)
        // The same once more. No value's bytes begin another's; where they do, all of them are in the first one's span.
        if let last = unsafe last, unsafe begins(next, with: last) { continue }
        if let last = unsafe last, unsafe isNext(next, behind: last) {
          spans.extendLast(to: unsafe [UInt8](next).endOfPrefix)
        } else {
          unsafe spans.append(point: next.bytes)
        }
        unsafe last = next
      }
    }
    assert(spans.count <= count && (spans.count > 0) == (count > 0), "values are lost, or there are more than before")
    return spans
  }

  private func sortedEntries(_ bytes: UnsafeRawBufferPointer) -> [Entry] {
    guard count > 0 else { return [] }
    let first = unsafe UnsafeRawBufferPointer(rebasing: bytes[range(0)])
    var common = first.count
    for index in ends.indices.dropFirst() {
      let other = unsafe UnsafeRawBufferPointer(rebasing: bytes[range(index)])
      common = min(common, other.count)
      while unsafe !begins(other, with: UnsafeRawBufferPointer(rebasing: first.prefix(common))) { common -= 1 }
    }
    var entries: [Entry] = []
    entries.reserveCapacity(count)
    for index in ends.indices {
      entries.append(Entry(word: unsafe Self.word(bytes[range(index).dropFirst(common)]), index: index))
    }
    entries.sort { left, right in
      if left.word != right.word { return left.word < right.word }
      let (one, other) = (range(left.index), range(right.index))
      return unsafe UnsafeRawBufferPointer(rebasing: bytes[one]).precedes(.init(rebasing: bytes[other]))
    }
    return entries
  }

  private static func word(_ bytes: Slice<UnsafeRawBufferPointer>) -> UInt64 {
    let bytes = unsafe UnsafeRawBufferPointer(rebasing: bytes)
    if bytes.count >= 8 { return UInt64(bigEndian: unsafe bytes.loadUnaligned(as: UInt64.self)) }
    var word: UInt64 = 0
    for index in 0..<bytes.count { word |= unsafe UInt64(bytes[index]) << UInt64(56 - 8 * index) }
    return word
  }

  /// Whether some bytes begin with others.
  private func begins(_ bytes: UnsafeRawBufferPointer, with beginning: UnsafeRawBufferPointer) -> Bool {
    guard bytes.count >= beginning.count, let own = bytes.baseAddress, let other = beginning.baseAddress else {
      return unsafe beginning.isEmpty
    }
    return unsafe memcmp(own, other, beginning.count) == 0
  }

  /// Whether a value is the least bytes above all that begins with another, which it comes behind.
  private func isNext(_ next: UnsafeRawBufferPointer, behind last: UnsafeRawBufferPointer) -> Bool {
    guard next.count <= last.count, let end = unsafe next.last, end > 0, unsafe last[next.count - 1] == end - 1 else {
      return false
    }
    let isSame = unsafe next.dropLast().elementsEqual(last.prefix(next.count - 1))
    return unsafe isSame && last.dropFirst(next.count).allSatisfy { $0 == 0xff }
  }
}
