// Where compressed values are decoded to, without an allocation for each.

/// Memory for one decoded value at a time, behind a copy of the dictionary that values were compressed with last: LZ4
/// decodes twice as fast with the dictionary there.
///
/// Invariants: `base` has room for `dictionaryCapacity` bytes and a value; if there is a `dictionary`, its bytes end
/// where the value begins.
@safe package final class DecodingRoom {
  private var base: UnsafeMutableRawPointer?
  private var dictionaryCapacity = 0
  private var dictionary: CompressionDictionary?
  /// A decoder may come back and read another row while it reads this one.
  private var isLent = false

  /// Whether no value is lent.
  var isFree: Bool { !isLent }

  /// Takes no memory before something is decoded.
  package init() {}

  deinit { unsafe base?.deallocate() }

  /// Calls `body` with the value that `block` is the compressed form of.
  ///
  /// - Parameters:
  ///   - byteCount: the length of the value; at least 1, and checked to be possible.
  ///   - dictionary: what it was compressed with, if anything.
  /// - Throws: `CompressionError.malformedBlock`, and what `body` throws.
  func withDecoded<Result>(
    _ block: UnsafeRawBufferPointer, _ byteCount: Int, _ dictionary: CompressionDictionary?,
    _ body: (UnsafeRawBufferPointer) throws -> Result
  ) throws -> Result {
    guard !isLent, byteCount <= Limits.dictionaryValueByteCount else {
      let value = unsafe try ValueCompression.decompress(block, byteCount, dictionary)
      return try unsafe value.withUnsafeBytes(body)
    }
    assert(byteCount >= 1, "a value of no bytes is stored plain")
    isLent = true
    defer { isLent = false }
    let start = unsafe prepare(for: dictionary)
    let target = unsafe UnsafeMutableRawBufferPointer(start: start, count: byteCount)
    let isDecoded =
      if let dictionary {
        unsafe dictionary.decompress(block, into: target, prefix: UnsafeRawPointer(start) - dictionary.byteCount)
      } else {
        unsafe BlockCodec.decode(block, into: target)
      }
    guard isDecoded else { throw CompressionError.malformedBlock }
    return try unsafe body(UnsafeRawBufferPointer(target))
  }

  /// The place of the value, with `wanted` in front of it.
  @inline(__always) private func prepare(for wanted: CompressionDictionary?) -> UnsafeMutableRawPointer {
    if let base = unsafe base, wanted == nil || wanted === dictionary { return unsafe base + dictionaryCapacity }
    return unsafe take(wanted)
  }

  @inline(never) private func take(_ wanted: CompressionDictionary?) -> UnsafeMutableRawPointer {
    let needed = wanted?.byteCount ?? 0
    if unsafe base == nil || needed > dictionaryCapacity {
      unsafe base?.deallocate()
      dictionaryCapacity = max(needed, Limits.trainedDictionaryByteCount)
      unsafe base = UnsafeMutableRawPointer.allocate(
        byteCount: dictionaryCapacity + Limits.dictionaryValueByteCount, alignment: 16)
      dictionary = nil
    }
    guard let base = unsafe base else { preconditionFailure("the memory was allocated above") }
    assert(needed <= dictionaryCapacity, "a dictionary has no room in front of the value")
    let start = unsafe base + dictionaryCapacity
    if let wanted, let source = unsafe wanted.bytes.baseAddress {
      unsafe (start - needed).copyMemory(from: source, byteCount: needed)
      dictionary = wanted
    }
    return unsafe start
  }
}
