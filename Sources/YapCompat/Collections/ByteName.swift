// Names as the database compares them.

/// A name that is the same as another if its bytes are; `String` calls two spellings of one letter equal.
struct ByteName: Hashable, Sendable {
  let name: String

  init(_ name: String) { self.name = name }

  static func == (left: Self, right: Self) -> Bool { left.name.utf8.elementsEqual(right.name.utf8) }

  func hash(into hasher: inout Hasher) {
    for byte in name.utf8 { hasher.combine(byte) }
    hasher.combine(0xff as UInt8)
  }
}
