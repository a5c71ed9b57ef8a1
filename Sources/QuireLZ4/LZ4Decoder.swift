// From a block of LZ4 back to the bytes that it was made of.
//
// A block is a row of sequences:
//
//     token          high four bits: how many literals; low four bits: length of the match, less 4
//     more literals  only if the high four bits are 15: bytes that are added, up to the first that is not 255
//     literals       bytes that are copied as they are
//     offset         two bytes, lowest first: how far back the match begins; never 0
//     more match     only if the low four bits are 15: bytes that are added, up to the first that is not 255
//
// The last sequence ends with its literals. The last match begins 12 bytes before the end of the result or earlier, and
// the last 5 bytes of the result are literals. A match may reach into what it makes itself, which repeats that, and
// into the dictionary, which stands in front of the result as far as offsets are concerned.

/// Decodes blocks of LZ4 whose decoded length is known.
///
/// Stateless; every call may be made from any thread. Whatever a block holds, nothing outside of the buffers that were
/// lent is read or written, and nothing is allocated.
public enum LZ4Decoder {
  /// Decodes `block` into `target`, and returns whether that is what it becomes: as many bytes as `target` has, by the
  /// rules of the format.
  ///
  /// O(`block.count + target.count`). What `target` holds after false says nothing.
  ///
  /// - Parameters:
  ///   - block: any bytes.
  ///   - target: where the result goes. It must not overlap `block`.
  ///   - prefixByteCount: how many bytes directly in front of `target` may be read: the dictionary that the block was
  ///     made with, or its end. Not negative.
  public static func decode(
    _ block: UnsafeRawBufferPointer, into target: UnsafeMutableRawBufferPointer, prefixByteCount: Int = 0
  ) -> Bool {
    precondition(prefixByteCount >= 0, "a dictionary has no negative length")
    guard let source = block.baseAddress, let result = target.baseAddress, target.count > 0 else {
      return isEmptyValue(block, target)
    }
    let sides = Sides(
      source: source, sourceCount: block.count, result: result, resultCount: target.count,
      prefixCount: prefixByteCount)
    return sides.decode { _, _, _ in nil }
  }

  /// Decodes `block`, which was made with `dictionary`, into `target`, and returns whether that is what it becomes: as
  /// many bytes as `target` has, by the rules of the format.
  ///
  /// O(`block.count + target.count`). What `target` holds after false says nothing. Where a copy of the dictionary
  /// stands directly in front of `target`, the form with a prefix is faster.
  ///
  /// - Parameters:
  ///   - block: any bytes.
  ///   - target: where the result goes. It must overlap neither `block` nor `dictionary`.
  ///   - dictionary: the bytes that the block was made with. Only the last 65,535 can be referred to.
  public static func decode(
    _ block: UnsafeRawBufferPointer, into target: UnsafeMutableRawBufferPointer, dictionary: UnsafeRawBufferPointer
  ) -> Bool {
    guard let source = block.baseAddress, let result = target.baseAddress, target.count > 0 else {
      return isEmptyValue(block, target)
    }
    let sides = Sides(
      source: source, sourceCount: block.count, result: result, resultCount: target.count, prefixCount: 0)
    return sides.decode { position, offset, length in
      sides.copyFromDictionary(dictionary, to: position, offset, length)
    }
  }

  /// Whether a block stands for no bytes, where none are wanted: it is a single token of 0.
  private static func isEmptyValue(_ block: UnsafeRawBufferPointer, _ target: UnsafeMutableRawBufferPointer) -> Bool {
    target.isEmpty && block.count == 1 && block[0] == 0
  }
}

/// A block that is decoded, and where to. Positions are counted from the beginning of each.
private struct Sides {
  let source: UnsafeRawPointer
  /// At least 0.
  let sourceCount: Int
  let result: UnsafeMutableRawPointer
  /// At least 1.
  let resultCount: Int
  /// How many bytes in front of `result` may be read.
  let prefixCount: Int

  /// Decodes all sequences.
  ///
  /// - Parameter fromOutside: copies a match that begins in front of everything that `prefixCount` reaches: takes the
  ///   position, the offset and the length, and returns the position behind it, or nil if there is no such place.
  @inline(__always)
  func decode(_ fromOutside: (Int, Int, Int) -> Int?) -> Bool {
    // Up to here a whole short sequence can be copied with moves that go beyond its end.
    let lastShortInput = sourceCount - LZ4Format.shortInput
    let lastShortPosition = resultCount - LZ4Format.shortResult
    let lastMatchEnd = resultCount - LZ4Format.lastLiterals
    var input = 0
    var position = 0
    while input < sourceCount {
      let token = Int(byte(input))
      input &+= 1
      let literals = token >> 4
      let isShort = literals != LZ4Format.longLength && input <= lastShortInput && position <= lastShortPosition
      if isShort {
        move16(to: position, from: source + input)
        input &+= literals
        position &+= literals
      } else {
        guard let isLast = copyLiterals(literals, &input, &position) else { return false }
        if isLast { return true }
      }
      let offset = Int(byte(input)) | Int(byte(input &+ 1)) << 8
      input &+= 2
      var length = token & LZ4Format.longLength
      if isShort && length != LZ4Format.longLength && offset >= 8 && offset <= position &+ prefixCount {
        // Eighteen bytes, whatever the length. A nearer match would read what it has not yet written.
        let match = UnsafeRawPointer(result) + (position &- offset)
        move8(to: position, from: match)
        move8(to: position &+ 8, from: match + 8)
        move2(to: position &+ 16, from: match + 16)
        position &+= length &+ LZ4Format.leastMatch
        continue
      }
      if length == LZ4Format.longLength {
        guard let more = moreLength(&input, atMost: resultCount) else { return false }
        length &+= more
      }
      length &+= LZ4Format.leastMatch
      guard offset > 0, length <= lastMatchEnd &- position else { return false }
      if offset <= position &+ prefixCount {
        copyMatch(to: position, offset, length)
        position &+= length
      } else {
        guard let end = fromOutside(position, offset, length) else { return false }
        position = end
      }
    }
    return false
  }

  /// Copies the literals of a sequence, whose token gives `count`. Returns whether it is the last sequence and ends
  /// both the block and the result, as it must; nil if the bytes are no sequence. If it is not the last, an offset
  /// follows at `input`.
  @inline(__always)
  private func copyLiterals(_ count: Int, _ input: inout Int, _ position: inout Int) -> Bool? {
    var count = count
    if count == LZ4Format.longLength {
      guard let more = moreLength(&input, atMost: resultCount) else { return nil }
      count &+= more
    }
    let (inputLeft, resultLeft) = (sourceCount &- input, resultCount &- position)
    // Literals that one of the two has no room for count as the last as well, and are then refused.
    let isLast =
      inputLeft &- count < LZ4Format.leastInputAfterLiterals || resultLeft &- count < LZ4Format.lastMatchDistance
    if isLast, count != inputLeft || count != resultLeft { return nil }
    copyExactly(to: position, from: source + input, count, within: inputLeft)
    input &+= count
    position &+= count
    return isLast
  }

  /// Adds up the bytes that continue a length, which end with the first that is not 255. Returns nil if the block ends
  /// before that, or the sum is more than `most`.
  @inline(__always)
  private func moreLength(_ input: inout Int, atMost most: Int) -> Int? {
    var sum = 0
    while input < sourceCount {
      let next = Int(byte(input))
      input &+= 1
      sum &+= next
      guard sum <= most else { return nil }
      if next != 255 { return sum }
    }
    return nil
  }

  /// Copies a match whose bytes all stand in the result or directly in front of it.
  @inline(__always)
  private func copyMatch(to start: Int, _ offset: Int, _ length: Int) {
    var position = start
    let end = start &+ length
    if offset >= 16 {
      while position < end, position <= resultCount &- 16 {
        move16(to: position, from: UnsafeRawPointer(result) + (position &- offset))
        position &+= 16
      }
    }
    var distance = offset
    if distance < 8 {
      // After eight bytes the pattern stands there often enough that it can be taken from eight bytes or more ago.
      let first = min(8, length)
      for index in 0..<first { copyByte(to: position &+ index, distance) }
      position &+= first
      distance = LZ4Format.spread(distance)
    }
    while position < end, position <= resultCount &- 8 {
      move8(to: position, from: UnsafeRawPointer(result) + (position &- distance))
      position &+= 8
    }
    while position < end {
      copyByte(to: position, distance)
      position &+= 1
    }
  }

  /// Copies a match that begins in a dictionary which stands somewhere else, and may end in the result. Returns the
  /// position behind it; nil if it begins in front of the dictionary.
  @inline(never)
  func copyFromDictionary(
    _ dictionary: UnsafeRawBufferPointer, to position: Int, _ offset: Int, _ length: Int
  ) -> Int? {
    let back = offset - position
    guard let base = dictionary.baseAddress, back <= dictionary.count else { return nil }
    let count = min(back, length)
    let start = dictionary.count - back
    copyExactly(to: position, from: base + start, count, within: back)
    // The rest begins where the result does.
    if count < length { copyMatch(to: position + count, offset, length - count) }
    return position + length
  }

  /// Copies `count` bytes and changes none behind them that is not to be written later; `within` bytes may be read.
  @inline(__always)
  private func copyExactly(to position: Int, from start: UnsafeRawPointer, _ count: Int, within readable: Int) {
    if count <= 32, readable >= 32, position <= resultCount &- 32 {
      move16(to: position, from: start)
      move16(to: position &+ 16, from: start + 16)
    } else {
      (result + position).copyMemory(from: start, byteCount: count)
    }
  }

  // MARK: - Bytes

  @inline(__always)
  private func byte(_ input: Int) -> UInt8 {
    assert(input >= 0 && input < sourceCount, "a byte is read outside of the block")
    return source.load(fromByteOffset: input, as: UInt8.self)
  }

  @inline(__always)
  private func copyByte(to position: Int, _ distance: Int) {
    assert(position < resultCount && distance <= position + prefixCount, "a match leaves the result")
    let byte = result.load(fromByteOffset: position &- distance, as: UInt8.self)
    result.storeBytes(of: byte, toByteOffset: position, as: UInt8.self)
  }

  @inline(__always)
  private func move2(to position: Int, from start: UnsafeRawPointer) {
    assert(position >= 0 && position <= resultCount - 2, "two bytes leave the result")
    (result + position).storeBytes(of: start.loadUnaligned(as: UInt16.self), as: UInt16.self)
  }

  @inline(__always)
  private func move8(to position: Int, from start: UnsafeRawPointer) {
    assert(position >= 0 && position <= resultCount - 8, "eight bytes leave the result")
    (result + position).storeBytes(of: start.loadUnaligned(as: UInt64.self), as: UInt64.self)
  }

  @inline(__always)
  private func move16(to position: Int, from start: UnsafeRawPointer) {
    assert(position >= 0 && position <= resultCount - 16, "sixteen bytes leave the result")
    let bytes = start.loadUnaligned(as: SIMD16<UInt8>.self)
    (result + position).storeBytes(of: bytes, as: SIMD16<UInt8>.self)
  }
}
