// Comparing names of groups and versions of views.

internal import QuireDatabase

extension String {
  /// Whether two texts are the same byte by byte.
  func hasSameBytes(as other: String) -> Bool { ByteString(self) == ByteString(other) }
}
