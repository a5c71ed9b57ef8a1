// The blocks that make bytes of values and read them, and those that run before and after values are stored.

public import Foundation

/// Makes bytes of an object: gets collection, key and object. New type: `RowCoder`.
@preconcurrency public typealias YapDatabaseSerializer =
  @Sendable (_ collection: String, _ key: String, _ object: Any) throws -> Data
/// Makes an object of bytes: gets collection, key and bytes; nil counts as a failure. New type: `RowCoder`.
@preconcurrency public typealias YapDatabaseDeserializer =
  @Sendable (_ collection: String, _ key: String, _ data: Data) throws -> Any?
/// Puts an object into shape before it is stored; nil has the row removed. New call: `RowCollection.sanitizing(_:)`.
@preconcurrency public typealias YapDatabasePreSanitizer =
  @Sendable (_ collection: String, _ key: String, _ object: Any) throws -> Any?
/// Looks at an object that was stored. New call: `RowCollection.afterStoring(_:)`.
@preconcurrency public typealias YapDatabasePostSanitizer =
  @Sendable (_ collection: String, _ key: String, _ object: Any) throws -> Void
