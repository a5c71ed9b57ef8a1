// Names of groups as keys.

/// The name of a group, the same as another if its bytes are, as in the database; `String` takes two spellings of one
/// letter for the same.
struct GroupName: Hashable, Sendable {
  let text: String

  init(_ text: String) { self.text = text }

  static func == (left: Self, right: Self) -> Bool { left.text.hasSameBytes(as: right.text) }

  // Texts of the same bytes are equal and have one hash; the few others that share it are told apart above.
  func hash(into hasher: inout Hasher) { hasher.combine(text) }
}

extension String {
  /// Whether two texts are the same byte by byte. As fast as comparing them for plain ASCII.
  func hasSameBytes(as other: String) -> Bool {
    // Equal texts may differ in bytes, as an é of one and of two scalars; in most cases they do not even in length.
    self == other && utf8.count == other.utf8.count
      && (utf8.count == unicodeScalars.count || utf8.elementsEqual(other.utf8))
  }
}
