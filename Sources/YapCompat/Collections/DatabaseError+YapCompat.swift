// The errors of untyped calls.

public import Quire

extension DatabaseError.Code {
  /// A collection was used for which no types, serializers or defaults were registered.
  public static let collectionNotRegistered = DatabaseError.Code("collectionNotRegistered")
}

extension DatabaseError {
  static func wrongType(
    _ half: String, _ given: Any.Type, expected: Any.Type, _ collection: String, _ key: String
  ) -> DatabaseError {
    DatabaseError(
      .collectionMismatch,
      """
      The \(half) is of type \(given), but that of this collection is \(expected). Use that type, or register the \
      collection with the other one.
      """, collection: collection, key: key)
  }

  static func notRegistered(
    _ collection: String, _ key: String? = nil, missing: String = "type"
  ) -> DatabaseError {
    DatabaseError(
      .collectionNotRegistered,
      """
      No \(missing) was registered for the collection. Call `registerCodableSerialization(_:metadata:forCollection:)` \
      or `register(_:)` with its `RowCollection` after opening the database.
      """, collection: collection, key: key)
  }

  static func usedTooLate() -> DatabaseError {
    DatabaseError(
      .transactionClosed,
      "A transaction was used after its block had returned. Take out what you need as values, inside the block.")
  }

  static func changedInLoop(_ collection: String?) -> DatabaseError {
    DatabaseError(
      .mutatedDuringIteration,
      """
      The database was changed inside an enumeration of it. Set `stop` after the change, or collect the keys first and \
      change the rows afterwards.
      """, collection: collection)
  }

  static func databaseGone() -> DatabaseError {
    DatabaseError(
      .extensionFailed,
      "The `YapDatabase` that an extension was registered with is gone, and with it the types of its collections. "
        + "Keep it as long as the database is written.")
  }
}
