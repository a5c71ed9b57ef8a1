// What is kept of each row: the values of its columns, each at its place.
//
//     for each place at which the row has something, in ascending order:
//       varint   the place × 2, and 1 if there is one value
//       varint   the number of values, if it is not one
//       for each value, in ascending order: varint, its length; its bytes
//
// Places are given out as columns come, and never again to another column, so that a record tells which columns it
// knows. A row that the condition of an index lets through has one empty value at a place of that index's own.

/// Puts a record together, place by place.
struct RowRecord: Equatable {
  private(set) var bytes: [UInt8] = []

  /// Begins anew, in the memory that it has.
  mutating func removeAll() { bytes.removeAll(keepingCapacity: true) }

  /// Appends the one value at a place.
  mutating func append(at place: Int, _ value: RawSpan) {
    Varint.append(place << 1 | 1, to: &bytes)
    Varint.append(value.byteCount, to: &bytes)
    unsafe value.withUnsafeBytes { unsafe bytes.append(contentsOf: $0) }
  }

  /// Appends the one value at a place; `write` appends its bytes.
  mutating func append(at place: Int, _ write: (inout [UInt8]) throws -> Void) rethrows {
    Varint.append(place << 1 | 1, to: &bytes)
    let start = bytes.count
    bytes.append(0)
    try write(&bytes)
    let count = bytes.count - start - 1
    if count < 0x80 {
      bytes[start] = UInt8(count)
    } else {
      var length: [UInt8] = []
      Varint.append(count, to: &length)
      bytes.replaceSubrange(start...start, with: length)
    }
  }

  /// Appends the values at a place.
  mutating func append(at place: Int, _ values: [[UInt8]]) {
    Varint.append(place << 1, to: &bytes)
    Varint.append(values.count, to: &bytes)
    for value in values {
      Varint.append(value.count, to: &bytes)
      bytes += value
    }
  }
}

/// A record where it lies. Its bytes have been checked, and are good as long as whoever lends them says.
@safe struct RecordView {
  private let bytes: UnsafeRawBufferPointer

  /// Takes bytes; nil if they are no record.
  init?(_ bytes: UnsafeRawBufferPointer) {
    unsafe self.bytes = unsafe bytes
    var (offset, last) = (0, -1)
    while offset < bytes.count {
      guard let (place, count) = header(&offset), place > last else { return nil }
      last = place
      for _ in 0..<count {
        guard let length = unsafe Varint.read(bytes, at: &offset), length <= bytes.count - offset else { return nil }
        offset += length
      }
    }
  }

  private func header(_ offset: inout Int) -> (place: Int, count: Int)? {
    guard let word = unsafe Varint.read(bytes, at: &offset) else { return nil }
    if word & 1 == 1 { return (word >> 1, 1) }
    // Each value takes a byte at least.
    guard let count = unsafe Varint.read(bytes, at: &offset), unsafe count <= bytes.count - offset else { return nil }
    return (word >> 1, count)
  }

  /// Calls `body` with each value at a place, in ascending order. Returns the number of values; nil if the record does
  /// not know the place.
  @discardableResult
  func forEachValue(at wanted: Int, _ body: (UnsafeRawBufferPointer) throws -> Void) rethrows -> Int? {
    var offset = 0
    while unsafe offset < bytes.count, let (place, count) = header(&offset) {
      if place > wanted { return nil }
      for _ in 0..<count {
        guard let length = unsafe Varint.read(bytes, at: &offset) else { return nil }
        if place == wanted { try unsafe body(.init(rebasing: bytes[offset..<offset + length])) }
        offset += length
      }
      if place == wanted { return count }
    }
    return nil
  }

  /// The first value at a place, where it lies, and how many there are; nil if the record does not know the place.
  func firstValue(at wanted: Int) -> (value: UnsafeRawBufferPointer?, count: Int)? {
    var offset = 0
    while unsafe offset < bytes.count, let (place, count) = header(&offset), place <= wanted {
      if place == wanted, count == 0 { return (nil, 0) }
      for _ in 0..<count {
        guard let length = unsafe Varint.read(bytes, at: &offset) else { return nil }
        if place == wanted {
          return unsafe (UnsafeRawBufferPointer(rebasing: bytes[offset..<offset + length]), count)
        }
        offset += length
      }
    }
    return nil
  }

  /// Whether the record knows a place.
  func knows(_ place: Int) -> Bool { unsafe forEachValue(at: place) { _ in } != nil }

  /// Whether the record knows all of some places, which are in ascending order.
  func knowsAll(_ places: [Int]) -> Bool {
    assert(zip(places, places.dropFirst()).allSatisfy { $0 < $1 }, "places are out of order")
    var (offset, next) = (0, 0)
    while next < places.count, unsafe offset < bytes.count, let (place, count) = header(&offset) {
      if place == places[next] { next += 1 } else if place > places[next] { return false }
      for _ in 0..<count {
        guard let length = unsafe Varint.read(bytes, at: &offset) else { return false }
        offset += length
      }
    }
    return next == places.count
  }

  /// Whether there is a value at a place.
  func hasValue(at place: Int) -> Bool { unsafe (forEachValue(at: place) { _ in } ?? 0) > 0 }

  /// The values at a place, copied.
  func values(at place: Int) -> [[UInt8]] {
    var values: [[UInt8]] = []
    unsafe forEachValue(at: place) { unsafe values.append([UInt8]($0)) }
    return values
  }

  /// Whether this and another record have the same at a place.
  func isSame(as other: RecordView, at place: Int) -> Bool {
    guard knows(place) == other.knows(place) else { return false }
    return values(at: place) == other.values(at: place)
  }
}

extension RowRecord {
  /// Calls `body` with the record where it lies.
  func withView<Result>(_ body: (RecordView) throws -> Result) rethrows -> Result {
    try unsafe bytes.withUnsafeBytes { buffer in
      guard let view = unsafe RecordView(buffer) else { preconditionFailure("a record is put together wrongly") }
      return try body(view)
    }
  }
}
