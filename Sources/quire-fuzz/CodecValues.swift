// What the comparison of codecs is drawn from: values with much or little in common with themselves and with a
// dictionary, and changes of blocks.

import QuireTesting

/// Draws dictionaries, values and changes of blocks.
struct CodecValues {
  private var random: SeededRandom

  init(seed: UInt64) { random = SeededRandom(seed: seed) }

  /// A dictionary, of 1 byte to 64 KiB; mostly a short one.
  mutating func dictionary() -> [UInt8] {
    var bytes: [UInt8] = []
    let count = 1 + (random.oneIn(200) ? random.below(64 << 10) : random.below(400))
    append(to: &bytes, count, from: [])
    return bytes
  }

  /// A value, which may have pieces of `dictionary`.
  mutating func value(_ dictionary: [UInt8]) -> [UInt8] {
    var bytes: [UInt8] = []
    append(to: &bytes, valueByteCount(), from: dictionary)
    return bytes
  }

  private mutating func valueByteCount() -> Int {
    switch random.below(4096) {
    case 0: random.below(140_000)
    case 1..<64: random.below(4096)
    case 64..<1024: random.below(24)
    default: random.below(220)
    }
  }

  /// Appends noise, repetitions of what stands there, and pieces of `dictionary`.
  private mutating func append(to bytes: inout [UInt8], _ count: Int, from dictionary: [UInt8]) {
    bytes.reserveCapacity(count)
    let letters = UInt8(truncatingIfNeeded: 1 + random.below(random.oneIn(4) ? 255 : 6))
    while bytes.count < count {
      let most = count - bytes.count
      var piece = 1 + (random.oneIn(8) ? random.below(600) : random.below(24))
      if random.oneIn(32), count > 4096 { piece += random.below(40_000) }
      piece = min(most, piece)
      let kind = random.below(4)
      if kind == 0 || bytes.isEmpty && dictionary.isEmpty {
        var word = random.next()
        for index in 0..<piece {
          if index & 7 == 7 { word = random.next() }
          bytes.append(UInt8(truncatingIfNeeded: word) % letters)
          word >>= 8
        }
      } else if kind == 1 && !dictionary.isEmpty {
        let start = random.below(dictionary.count)
        bytes.append(contentsOf: dictionary[start..<min(dictionary.count, start + piece)])
      } else if !bytes.isEmpty {
        // The distance may be shorter than the piece.
        let distance = 1 + random.below(min(bytes.count, random.oneIn(2) ? 16 : 70_000))
        for _ in 0..<piece { bytes.append(bytes[bytes.count - distance]) }
      }
    }
  }

  /// A block with a few bytes changed, taken out, put in or cut off.
  mutating func change(_ block: inout [UInt8]) {
    for _ in 0...random.below(3) {
      guard !block.isEmpty else { return }
      // Mostly near the beginning or the end: that is where one byte decides what all others mean.
      let place =
        switch random.below(3) {
        case 0: random.below(min(block.count, 12))
        case 1: block.count - 1 - random.below(min(block.count, 24))
        default: random.below(block.count)
        }
      switch random.below(8) {
      case 0: block.remove(at: place)
      case 1: block.insert(randomByte(), at: place)
      case 2: block.removeLast(min(block.count, 1 + random.below(8)))
      case 3: block.append(randomByte())
      case 4: block[place] = block[place] &+ (random.oneIn(2) ? 1 : 255)
      case 5: block[place] ^= 1 << UInt8(random.below(8))
      case 6: block[place] = block[random.below(block.count)]
      default: block[place] = randomByte()
      }
    }
  }

  private mutating func randomByte() -> UInt8 {
    switch random.below(4) {
    case 0: 0
    case 1: 255
    default: UInt8(truncatingIfNeeded: random.next())
    }
  }
}

/// Reads blocks by the published description alone.
enum BlockWalk {
  /// Whether a sequence of the block has an offset of 0, which the description forbids.
  static func hasOffsetOfZero(_ block: UnsafeRawBufferPointer) -> Bool {
    var position = 0
    while position < block.count {
      let token = block[position]
      position += 1
      guard let literals = length(token >> 4, block, &position), position + literals + 2 <= block.count else {
        return false
      }
      position += literals
      if block[position] == 0, block[position + 1] == 0 { return true }
      position += 2
      guard length(token & 15, block, &position) != nil else { return false }
    }
    return false
  }

  private static func length(_ short: UInt8, _ block: UnsafeRawBufferPointer, _ position: inout Int) -> Int? {
    var sum = Int(short)
    guard short == 15 else { return sum }
    while position < block.count {
      let next = block[position]
      position += 1
      sum += Int(next)
      if next != 255 { return sum }
    }
    return nil
  }
}
