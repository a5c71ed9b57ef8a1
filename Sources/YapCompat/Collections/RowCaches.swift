// What a connection keeps of decoded rows, and what the connections of a database share.

internal import Foundation
internal import Quire

/// The decoded objects and metadata of one connection, or those that all connections of a database share.
final class RowCaches: Sendable {
  let objects: DecodedValues
  let metadata: DecodedValues

  /// Keeps what `config` says.
  init(_ config: YapDatabaseConnectionConfig.Values) {
    objects = DecodedValues(limit: config.objectLimit)
    metadata = DecodedValues(limit: config.metadataLimit)
  }

  /// Keeps what `config` says; what is beyond goes at once.
  func setLimits(_ config: YapDatabaseConnectionConfig.Values) {
    objects.setLimit(config.objectLimit)
    metadata.setLimit(config.metadataLimit)
  }

  /// Lets go of all values.
  func removeAll() {
    objects.removeAll()
    metadata.removeAll()
  }
}

extension YapDatabaseConnectionConfig.Values {
  /// The most decoded objects of a connection; nil for any number.
  var objectLimit: Int? { Self.limit(objectCacheEnabled, objectCacheLimit) }
  /// The most decoded metadata of a connection; nil for any number.
  var metadataLimit: Int? { Self.limit(metadataCacheEnabled, metadataCacheLimit) }

  private static func limit(_ isEnabled: Bool, _ limit: UInt) -> Int? {
    guard isEnabled else { return 0 }
    return limit == 0 ? nil : Int(clamping: limit)
  }
}

/// What one half of a row is decoded by way of, for the reads of one transaction.
struct CachedHalf: Sendable {
  let policy: YapDatabasePolicy
  let own: DecodedValues
  let shared: DecodedValues
  let collection: ByteName
  /// The bridge's own object.
  let maker: ValueMaker

  /// The value of `bytes`, made by `make` where it is not there.
  ///
  /// - Parameter isOneOfMany: whether the row is read in an enumeration, which pushes nothing out of the cache.
  func value(_ bytes: [UInt8], _ key: String, isOneOfMany: Bool, _ make: () throws -> Any) rethrows -> Any {
    let place = DecodedValues.Place(collection: collection, key: ByteName(key), maker: maker)
    if let known = own.value(place, bytes) { return known }
    let value = try handedOut(place, bytes, isOneOfMany, make)
    own.keep(value, place, bytes, takesFreeRoomOnly: isOneOfMany)
    return value
  }

  /// What another connection has decoded, or a copy of it, as the policy says; else what `make` makes.
  private func handedOut(
    _ place: DecodedValues.Place, _ bytes: [UInt8], _ isOneOfMany: Bool, _ make: () throws -> Any
  ) rethrows -> Any {
    if policy == .containment { return try make() }
    if let known = shared.value(place, bytes) { return policy == .share ? known : Self.copy(of: known) ?? known }
    let value = try make()
    if policy == .share {
      shared.keep(value, place, bytes, takesFreeRoomOnly: isOneOfMany)
    } else if let copy = Self.copy(of: value) {
      // What is handed out may be changed: the shared one is nobody's.
      shared.keep(copy, place, bytes, takesFreeRoomOnly: isOneOfMany)
    }
    return value
  }

  /// A copy of an object of a class that is `NSCopying`; nil for what is none.
  static func copy(of value: Any) -> Any? {
    guard type(of: value) is AnyClass, let object = value as? any NSCopying else { return nil }
    return object.copy(with: nil)
  }
}
