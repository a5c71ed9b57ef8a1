// Where the Unicode data is. Made by Fixtures/make-unicode.

/// What is known of each scalar, from the Unicode Character Database and from SQLite.
enum UnicodeData {
  /// The version of the Unicode Character Database.
  static let version = "15.0.0"
  /// The number of bytes that the parts together are.
  static let byteCount = 39038
  /// Base64 in lines, one part behind the other.
  static var parts: [StaticString] { [part1, part2] }
}
