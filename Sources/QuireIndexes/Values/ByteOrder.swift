// Which of two strings of bytes comes first.

internal import Foundation

#if canImport(Darwin)
  internal import Darwin
#elseif canImport(Glibc)
  internal import Glibc
#elseif canImport(Musl)
  internal import Musl
#elseif canImport(Android)
  internal import Android
#endif

extension UnsafeRawBufferPointer {
  /// Whether the bytes come before `other`: by the first one that differs, else the shorter one first.
  func precedes(_ other: UnsafeRawBufferPointer) -> Bool {
    let common = Swift.min(count, other.count)
    guard let own = baseAddress, let others = other.baseAddress, common > 0 else {
      return count < other.count
    }
    let order = unsafe memcmp(own, others, common)
    return order == 0 ? count < other.count : order < 0
  }

  /// The same for an array.
  func precedes(_ other: [UInt8]) -> Bool { unsafe other.withUnsafeBytes { unsafe precedes($0) } }
}

extension [UInt8] {
  /// Whether the bytes come before `other`.
  func precedes(_ other: [UInt8]) -> Bool { unsafe withUnsafeBytes { unsafe $0.precedes(other) } }
}

extension RawSpan {
  /// Whether the bytes come before `other`.
  func precedes(_ other: [UInt8]) -> Bool { unsafe withUnsafeBytes { unsafe $0.precedes(other) } }
}

extension [[UInt8]] {
  /// These in order, each once.
  func distinctInOrder() -> Self {
    guard count > 1 else { return self }
    var distinct: Self = []
    for bytes in sorted(by: { $0.precedes($1) }) where distinct.last != bytes { distinct.append(bytes) }
    assert(zip(distinct, distinct.dropFirst()).allSatisfy { $0.precedes($1) }, "values are out of order")
    return distinct
  }
}
