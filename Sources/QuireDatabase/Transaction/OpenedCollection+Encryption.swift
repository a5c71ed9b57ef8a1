// The halves of a row where a collection is encrypted; the form stands in `RowProtection.swift`.

internal import QuireStorage

extension OpenedCollection {
  /// Appends an encoded half in its encrypted form. It is compressed first, without a dictionary, if `compression` says
  /// so: nothing can be compressed afterwards.
  @inline(never)
  func appendSealed(
    _ encoded: RawSpan, _ half: RowHalf, _ key: String, _ compression: Compression, _ protection: RowProtection,
    to row: inout RowBuilder
  ) throws {
    let packed = try ValueCompression.encode(encoded, compression)
    let place = SealingPlace(
      salt: try EncryptionSalt(transaction: transaction).bytes(makes: true),
      collection: try state.existingOrNewID(in: transaction),
      half: half, key: key)
    try row.append { bytes in
      try unsafe packed.withUnsafeBytes { try unsafe protection.seal($0, place, into: &bytes) }
    }
  }

  /// Calls `body` with the encoded half of a row, however it is stored.
  @inline(__always)
  func withDecoded<Result>(
    _ stored: UnsafeRawBufferPointer, _ half: RowHalf, _ key: String, _ protection: Unmanaged<RowProtection>?,
    _ body: (UnsafeRawBufferPointer) throws -> Result
  ) throws -> Result {
    if unsafe protection == nil, unsafe !SealedHeader.isSealed(stored) {
      return try unsafe transaction.withDecoded(stored, state, body)
    }
    return try unsafe withUnprotected(stored, half, key, protection?.takeUnretainedValue(), body)
  }

  @inline(never)
  private func withUnprotected<Result>(
    _ stored: UnsafeRawBufferPointer, _ half: RowHalf, _ key: String, _ protection: RowProtection?,
    _ body: (UnsafeRawBufferPointer) throws -> Result
  ) throws -> Result {
    guard unsafe SealedHeader.isSealed(stored) else {
      guard protection?.acceptsPlain == true else { throw sealFailure(.notSealed, half, key) }
      return try unsafe transaction.withDecoded(stored, state, body)
    }
    let packed = try unsafe opened(stored, half, key, protection)
    return try unsafe packed.withUnsafeBytes { bytes in
      try unsafe ValueCompression.withDecoded(bytes.bytes, transaction.scratch.room, body)
    }
  }

  /// What was encrypted: a stored value in one of the other forms.
  func opened(
    _ stored: UnsafeRawBufferPointer, _ half: RowHalf, _ key: String, _ protection: RowProtection?
  ) throws(DatabaseError) -> [UInt8] {
    let salt = protection == nil ? nil : try EncryptionSalt(transaction: transaction).bytes(makes: false)
    do throws(SealError) {
      let header = try unsafe SealedHeader(stored)
      guard let protection else { throw .notExpected(header.keyID) }
      guard let id, let salt else { throw .malformed }
      return try unsafe protection.open(
        stored, SealingPlace(salt: salt, collection: id, half: half, key: key))
    } catch {
      throw sealFailure(error, half, key)
    }
  }

  private func sealFailure(_ error: SealError, _ half: RowHalf, _ key: String) -> DatabaseError {
    error.error(half, transaction.database.path, name, key)
  }
}
