// The bytes of a block, sequence by sequence.

/// Writes sequences into memory that somebody lends, as far as there is room.
struct SequenceWriter {
  private let target: UnsafeMutableRawBufferPointer
  /// How many bytes were written.
  private(set) var byteCount = 0

  @inline(__always)
  init(_ target: UnsafeMutableRawBufferPointer) { self.target = target }

  /// Appends literals and a match. Returns false, and writes nothing, if there is not room enough.
  ///
  /// - Parameters:
  ///   - readable: how many bytes may be read from the first literal on.
  ///   - length: the length of the match, at least 4.
  @inline(__always)
  mutating func append(_ literals: UnsafeRawBufferPointer, _ readable: Int, offset: Int, _ length: Int) -> Bool {
    assert(1...LZ4Format.mostOffset ~= offset, "an offset of \(offset) has no two bytes")
    assert(length >= LZ4Format.leastMatch, "a match of \(length) bytes is too short")
    let more = length &- LZ4Format.leastMatch
    let room = target.count &- byteCount
    guard let base = target.baseAddress, Self.count(literals.count) &+ literals.count &+ Self.count(more) &+ 2 < room
    else { return false }
    let start = base + byteCount
    let short = min(more, LZ4Format.longLength)
    var next = 1
    if literals.count < LZ4Format.longLength {
      start.storeBytes(of: UInt8(truncatingIfNeeded: literals.count &<< 4 | short), as: UInt8.self)
    } else {
      start.storeBytes(of: UInt8(truncatingIfNeeded: LZ4Format.longLength &<< 4 | short), as: UInt8.self)
      next = Self.store(literals.count &- LZ4Format.longLength, at: start, next)
    }
    if let first = literals.baseAddress {
      if readable &- 16 >= literals.count, next &+ literals.count &+ 16 <= room {
        // What is copied too much is written over.
        var done = 0
        repeat {
          let bytes = first.loadUnaligned(fromByteOffset: done, as: SIMD16<UInt8>.self)
          (start + (next &+ done)).storeBytes(of: bytes, as: SIMD16<UInt8>.self)
          done &+= 16
        } while done < literals.count
      } else {
        (start + next).copyMemory(from: first, byteCount: literals.count)
      }
    }
    next &+= literals.count
    (start + next).storeBytes(of: UInt16(truncatingIfNeeded: offset).littleEndian, as: UInt16.self)
    next &+= 2
    if more >= LZ4Format.longLength { next = Self.store(more &- LZ4Format.longLength, at: start, next) }
    byteCount &+= next
    assert(byteCount <= target.count, "a sequence is longer than was counted")
    return true
  }

  /// Appends the last literals. Returns false, and writes nothing, if there is not room enough.
  mutating func finish(literals: UnsafeRawBufferPointer) -> Bool {
    guard let base = target.baseAddress, Self.count(literals.count) + literals.count < target.count - byteCount
    else { return false }
    let start = base + byteCount
    let short = min(literals.count, LZ4Format.longLength)
    start.storeBytes(of: UInt8(truncatingIfNeeded: short &<< 4), as: UInt8.self)
    var next = 1
    if literals.count >= LZ4Format.longLength {
      next = Self.store(literals.count - LZ4Format.longLength, at: start, next)
    }
    if let first = literals.baseAddress { (start + next).copyMemory(from: first, byteCount: literals.count) }
    byteCount += next + literals.count
    assert(byteCount <= target.count, "the last sequence is longer than was counted")
    return true
  }

  /// How many bytes continue a length that is four bits in the token.
  @inline(__always)
  private static func count(_ length: Int) -> Int {
    length < LZ4Format.longLength ? 0 : (length &- LZ4Format.longLength) / 255 &+ 1
  }

  /// Stores what a length is more than the token says, and returns the position behind it.
  @inline(__always)
  private static func store(_ rest: Int, at start: UnsafeMutableRawPointer, _ position: Int) -> Int {
    var (rest, position) = (rest, position)
    while rest >= 255 {
      start.storeBytes(of: 255, toByteOffset: position, as: UInt8.self)
      position &+= 1
      rest &-= 255
    }
    start.storeBytes(of: UInt8(truncatingIfNeeded: rest), toByteOffset: position, as: UInt8.self)
    return position &+ 1
  }
}
