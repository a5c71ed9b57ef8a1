// Keys that are written more than once.
//
// A value may write a field again: a subclass that overrides what `super.encode(to:)` has written, or code that just
// does. The last one counts, as with Foundation's coders, and a record never has two fields of one key.

/// Which keys a record has, as far as it is cheap to know.
struct WrittenKeys {
  /// The numbers below 128 that were written, a bit each; all bits if another key was, which may be any of them.
  private var low: UInt64 = 0
  private var high: UInt64 = 0
  /// Whether a key may be there twice.
  private(set) var mayRepeat = false

  /// A key is written by its number, which is at least 1.
  @inline(__always) mutating func note(_ number: UInt32) {
    let bit: UInt64 = 1 &<< UInt64(number & 63)
    if number < 64 {
      if low & bit != 0 { mayRepeat = true }
      low |= bit
    } else if number < 128 {
      if high & bit != 0 { mayRepeat = true }
      high |= bit
    } else {
      noteOther()
    }
  }

  /// A key is written with a large number, or by its name, which may also have a number.
  mutating func noteOther() {
    if low | high != 0 { mayRepeat = true }
    (low, high) = (.max, .max)
  }
}

extension RowEncoder {
  /// Takes all fields out of the innermost record that are there again later. O(fields).
  func removeRepeated() throws {
    let contentStart: Int
    switch unsafe shape {
    case .record: contentStart = unsafe start + 2
    case .openRecord: contentStart = unsafe start + 1
    default: return
    }
    var last: [WrittenKey: Range<Int>] = [:]
    var repeated: [Range<Int>] = []
    var offset = contentStart
    while unsafe offset < buffer.count {
      guard let (key, end) = writtenField(at: offset) else {
        throw EncodingError.invalidValue(
          Any.self, .init(codingPath: codingPath, debugDescription: "The fields of a value were not written whole."))
      }
      if let former = last.updateValue(offset..<end, forKey: key) { repeated.append(former) }
      offset = end
    }
    unsafe buffer.remove(repeated.sorted { $0.lowerBound < $1.lowerBound })
  }

  /// The key of the field at an offset, and where the field ends.
  private func writtenField(at offset: Int) -> (WrittenKey, end: Int)? {
    let reader = unsafe ValueReader(buffer.bytes)
    let limit = unsafe buffer.count
    var next = offset
    guard let number = reader.varint(at: &next, limit: limit) else { return nil }
    var key = WrittenKey.number(number)
    if number == 0 {
      guard let head = reader.head(at: next, limit: limit), let name = reader.text(head) else { return nil }
      let noted = names.number(of: name).flatMap { names.name($0)?.hasSameBytes(as: name) == true ? $0 : nil }
      key = noted.map { .number($0) } ?? .name(ByteString(name))
      next = head.end
    }
    guard let value = reader.head(at: next, limit: limit) else { return nil }
    return (key, value.end)
  }
}

/// A key in the bytes of a record.
private enum WrittenKey: Hashable {
  case number(UInt32)
  case name(ByteString)
}
