// Everything has a limit, and the limits of the object layer have their names here.

/// The limits of the object layer.
package enum Limits {
  /// The most bytes that an encoded object may have, before compression.
  ///
  /// It bounds what decoding allocates on the word of a stored length, so it can grow in later versions, never shrink.
  package static let valueByteCount = 1 << 30
}
