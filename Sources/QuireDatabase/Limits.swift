// Everything has a limit, and the limits of the object layer have their names here.

/// The limits of the object layer.
package enum Limits {
  /// The most bytes that an encoded object may have, before compression.
  ///
  /// It bounds what decoding allocates on the word of a stored length, so it can grow in later versions, never shrink.
  package static let valueByteCount = 1 << 30

  /// The most values inside one another that a coder writes or reads.
  ///
  /// It bounds the stack that bytes from disk can make a decoder use.
  package static let codingDepth = 512

  /// The most names in the schema of a collection's objects; further ones are spelled out in each row.
  package static let fieldNameCount = 65_535

  /// The most bytes of a name in a schema; longer ones are spelled out in each row.
  package static let fieldNameByteCount = 1_024

  /// How many fields a decoder looks at for one that does not come next, before it makes an index of the record.
  package static let fieldScanCount = 64
}
