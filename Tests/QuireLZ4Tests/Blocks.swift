// The codec as functions of arrays, with memory around what it may touch.

import QuireLZ4
import QuireTesting
import Testing

/// What stands around lent memory, and must stand there afterwards.
private let border = [UInt8](repeating: 0xa5, count: 64)

/// The block of `value`, in a room of `room` bytes; nil if it has no room there.
func encoded(_ value: [UInt8], dictionary: [UInt8] = [], room: Int? = nil) -> [UInt8]? {
  let room = room ?? value.count + value.count / 255 + 16
  var table = [UInt32](repeating: .max, count: LZ4Encoder.tableByteCount(for: value.count) / 4)
  var index = [UInt32](repeating: .max, count: LZ4Encoder.indexByteCount / 4)
  var target = border + [UInt8](repeating: 0, count: room) + border
  let byteCount = target.withUnsafeMutableBytes { target in
    let lent = UnsafeMutableRawBufferPointer(rebasing: target[border.count..<(border.count + room)])
    return value.withUnsafeBytes { value in
      table.withUnsafeMutableBytes { table in
        guard !dictionary.isEmpty else { return LZ4Encoder.encode(value, into: lent, table: table) }
        return dictionary.withUnsafeBytes { dictionary in
          index.withUnsafeMutableBytes { index in
            LZ4Encoder.makeIndex(of: dictionary, in: index)
            return LZ4Encoder.encode(
              value, into: lent, dictionary: dictionary, index: UnsafeRawBufferPointer(index), table: table)
          }
        }
      }
    }
  }
  #expect(target.prefix(border.count) == border[...] && target.suffix(border.count) == border[...])
  return byteCount > 0 ? Array(target[border.count..<(border.count + byteCount)]) : nil
}

/// The value of `byteCount` bytes that `block` stands for; nil if it is refused. The dictionary stands in front, or
/// somewhere else: both give the same, which is expected here.
func decoded(_ block: [UInt8], _ byteCount: Int, dictionary: [UInt8] = []) -> [UInt8]? {
  let inFront = decode(block, byteCount, inFront: dictionary) { block, target in
    LZ4Decoder.decode(block, into: target, prefixByteCount: dictionary.count)
  }
  let elsewhere = decode(block, byteCount, inFront: []) { block, target in
    dictionary.withUnsafeBytes { LZ4Decoder.decode(block, into: target, dictionary: $0) }
  }
  #expect(inFront == elsewhere)
  return inFront
}

private func decode(
  _ block: [UInt8], _ byteCount: Int, inFront: [UInt8],
  _ body: (UnsafeRawBufferPointer, UnsafeMutableRawBufferPointer) -> Bool
) -> [UInt8]? {
  let before = border + inFront
  var target = before + [UInt8](repeating: 0x5a, count: byteCount) + border
  let isDecoded = target.withUnsafeMutableBytes { target in
    let lent = UnsafeMutableRawBufferPointer(rebasing: target[before.count..<(before.count + byteCount)])
    return block.withUnsafeBytes { body($0, lent) }
  }
  #expect(target.prefix(before.count) == before[...] && target.suffix(border.count) == border[...])
  return isDecoded ? Array(target[before.count...].prefix(byteCount)) : nil
}

/// What the bytes of a value look like.
enum Content: CaseIterable {
  case equal, repetitive, text, noise

  /// Makes `count` bytes of this kind; equal seeds give equal bytes.
  func bytes(_ count: Int, seed: UInt64 = 1) -> [UInt8] {
    var random = SeededRandom(seed: seed)
    let words = ["{\"title\":", "\"artist\":", "\"Blue\",", "\"Miles\",", "1959,", "true}", "[", "]"]
    var bytes: [UInt8] = []
    while bytes.count < count {
      switch self {
      case .equal: return [UInt8](repeating: 7, count: count)
      case .repetitive: bytes += [0, 1, 2, 3, 4, 5, 6]
      case .text: bytes += words[random.below(words.count)].utf8
      case .noise: withUnsafeBytes(of: random.next().littleEndian) { bytes.append(contentsOf: $0) }
      }
    }
    return Array(bytes.prefix(count))
  }
}
