// Looking at a half of a stored row without its type.

extension StoredHalf {
  /// Decompresses a half of a row that may be any bytes, and calls `body` with what its coder has written.
  ///
  /// Whether an encrypted half decrypts is for those to see who have the key: of such a one only the header is read.
  ///
  /// - Parameter dictionary: called with the number of the dictionary that the half was compressed with, if any.
  /// - Returns: whether the half is encrypted; `body` is not called then.
  /// - Throws: what `dictionary` and `body` throw, and why the half breaks the format.
  static func decompress(
    _ half: UnsafeRawBufferPointer, _ room: DecodingRoom, dictionary: (UInt32) throws -> CompressionDictionary,
    _ body: (UnsafeRawBufferPointer) throws -> Void
  ) throws -> Bool {
    if unsafe SealedHeader.isSealed(half) {
      _ = try unsafe SealedHeader(half)
      return true
    }
    try unsafe ValueCompression.withDecoded(half.bytes, room, dictionary: dictionary, body)
    return false
  }
}
