// What the keys of encrypted collections are derived with, in the trees of a transaction.

internal import QuireStorage

/// The random bytes that the keys of a database are derived with.
struct EncryptionSalt {
  let transaction: TransactionState

  /// Where they stand in the tree for the whole database.
  static let saltKey = [UInt8]("encryptionSalt".utf8)
  private static let saltByteCount = 16

  /// The random bytes that keys of this database are derived with; makes them for the first encrypted value.
  ///
  /// - Parameter makes: whether to make them if there are none.
  /// - Throws: `damagedRow` if there are none, or what is there is none.
  func bytes(makes: Bool) throws(DatabaseError) -> [UInt8] {
    if !transaction.isWriting, let known = transaction.database.encryptionSalt { return known }
    // A writer asks the tree each time: a savepoint may have taken back what it made.
    let stored = try transaction.wrapping { () throws(StorageError) in
      try transaction.value(Self.saltKey, in: transaction.trees.info)
    }
    if let stored {
      guard stored.count == Self.saltByteCount else { throw missingSalt() }
      if !transaction.isWriting { transaction.database.remember(encryptionSalt: stored) }
      return stored
    }
    guard makes else { throw missingSalt() }
    var random = SystemRandomNumberGenerator()
    let salt = (0..<Self.saltByteCount / 8).flatMap { _ in random.next().littleEndianBytes }
    transaction.mutationCount &+= 1
    try transaction.wrapping { () throws(StorageError) in
      try transaction.putBytes(Self.saltKey, salt, in: transaction.trees.info)
    }
    return salt
  }

  private func missingSalt() -> DatabaseError {
    DatabaseError(
      .damagedRow,
      "What keys are derived with is missing, without which nothing can be decrypted. Restore a backup.",
      path: transaction.database.path)
  }
}
