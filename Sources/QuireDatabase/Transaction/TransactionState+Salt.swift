// What the keys of encrypted collections are derived with, in the trees of a transaction.

internal import QuireStorage

extension TransactionState {
  private static let saltKey = [UInt8]("encryptionSalt".utf8)
  private static let saltByteCount = 16

  /// The random bytes that keys of this database are derived with; makes them for the first encrypted value.
  ///
  /// - Parameter makes: whether to make them if there are none.
  /// - Throws: `damagedRow` if there are none, or what is there is none.
  func encryptionSalt(makes: Bool) throws(DatabaseError) -> [UInt8] {
    if !isWriting, let known = database.encryptionSalt { return known }
    // A writer asks the tree each time: a savepoint may have taken back what it made.
    let stored = try wrapping { () throws(StorageError) in try value(Self.saltKey, in: trees.info) }
    if let stored {
      guard stored.count == Self.saltByteCount else { throw missingSalt() }
      if !isWriting { database.remember(encryptionSalt: stored) }
      return stored
    }
    guard makes else { throw missingSalt() }
    var random = SystemRandomNumberGenerator()
    let salt = (0..<Self.saltByteCount / 8).flatMap { _ in random.next().littleEndianBytes }
    mutationCount &+= 1
    try wrapping { () throws(StorageError) in try putBytes(Self.saltKey, salt, in: trees.info) }
    return salt
  }

  private func missingSalt() -> DatabaseError {
    DatabaseError(
      .damagedRow,
      "What keys are derived with is missing, without which nothing can be decrypted. Restore a backup.",
      path: database.path)
  }
}
