// Rows of YapDatabase's shape, as each store has them.

internal import Foundation
internal import QuireDatabase

/// What a store of such rows must be able to do. Every call is a whole loop. Objects and metadata are handed out as
/// values of their own, arrays or `Data`: nobody keeps pointers into a database.
///
/// One thread may read while another one writes.
protocol ShapedStore: AnyObject, Sendable {
  static var name: String { get }
  /// Opens the store in an existing folder, with durable commits; `count` is how many rows it is going to have.
  init(_ folder: String, count: Int) throws
  /// Stores the rows of `range` in one transaction.
  func store(_ rows: ShapedRows, _ range: Range<Int>) throws
  /// The numbers of the rows of these keys, in their order.
  func rowIDs(of keys: [String]) throws -> [Int64]
  /// Gets the objects of these keys, one by one, in one transaction.
  func sumOfObjects(of keys: [String]) throws -> UInt64
  /// Gets whole rows, one by one, in one transaction.
  func sumOfRows(withIDs rowIDs: [Int64]) throws -> UInt64
  /// Walks through the keys, in their order.
  func digestOfKeys() throws -> ShapedDigest
  /// Walks through keys, objects and metadata.
  func digestOfRows() throws -> ShapedDigest
  /// Walks through keys and metadata.
  func digestOfMetadata() throws -> ShapedDigest
  /// Stores other objects under keys that are there, one by one, in one transaction.
  func update(_ rows: ShapedRows, _ places: ArraySlice<Int>, _ objects: [[UInt8]]) throws
  func close() throws
}

extension RowCollection where Object == [UInt8], Metadata == [UInt8] {
  /// Bytes as they are: what is compared are the stores.
  fileprivate static var shaped: Self {
    .init(ShapedRows.collection, coder: .bytes, metadataCoder: .bytes, compression: .none)
  }
}

/// Quire, as a user writes it. Sharing it between threads is safe because it holds a database and nothing else.
class QuireShapedStore: ShapedStore, @unchecked Sendable {
  class var name: String { "quire" }
  /// The cache of objects, off by default.
  class func objectCache(_ count: Int) -> ObjectCacheOptions? { nil }

  private let db: Database

  required init(_ folder: String, count: Int) throws {
    db = try Database(
      at: "\(folder)/rows.quire", options: Database.Options(objectCache: Self.objectCache(count)))
  }

  func store(_ rows: ShapedRows, _ range: Range<Int>) throws {
    try db.write { tx throws in
      for index in range {
        try tx[.shaped].set(rows.objects[index], metadata: rows.metadata[index], for: rows.keys[index])
      }
    }
  }

  func rowIDs(of keys: [String]) throws -> [Int64] {
    try db.read { tx throws in try keys.map { try tx[.shaped].rowID($0)?.rawValue ?? -1 } }
  }

  func sumOfObjects(of keys: [String]) throws -> UInt64 {
    try db.read { tx throws in
      var total: UInt64 = 0
      for key in keys {
        guard let object = try tx[.shaped].get(key) else { throw StoreFailure(description: "Quire: no \(key)") }
        total &+= sum(of: object)
      }
      return total
    }
  }

  func sumOfRows(withIDs rowIDs: [Int64]) throws -> UInt64 {
    try db.read { tx throws in
      var total: UInt64 = 0
      for rowID in rowIDs {
        guard let row = try tx[.shaped].row(withID: RowID(rowID)) else {
          throw StoreFailure(description: "Quire: no row \(rowID)")
        }
        total &+= sum(of: row.object) &+ sum(of: row.metadata ?? [])
      }
      return total
    }
  }

  func digestOfKeys() throws -> ShapedDigest {
    try db.read { tx throws in
      var digest = ShapedDigest()
      for key in tx[.shaped].keys {
        digest.add(key: key)
        digest.endRow()
      }
      return digest
    }
  }

  func digestOfRows() throws -> ShapedDigest {
    try db.read { tx throws in
      var digest = ShapedDigest()
      for row in tx[.shaped].rows {
        digest.add(key: row.key)
        row.object.withUnsafeBytes { digest.add($0) }
        row.metadata?.withUnsafeBytes { digest.add($0) }
        digest.endRow()
      }
      return digest
    }
  }

  func digestOfMetadata() throws -> ShapedDigest {
    try db.read { tx throws in
      var digest = ShapedDigest()
      for row in tx[.shaped].metadata {
        digest.add(key: row.key)
        row.metadata?.withUnsafeBytes { digest.add($0) }
        digest.endRow()
      }
      return digest
    }
  }

  func update(_ rows: ShapedRows, _ places: ArraySlice<Int>, _ objects: [[UInt8]]) throws {
    try db.write { tx throws in
      for index in places {
        try tx[.shaped].set(objects[index], metadata: rows.metadata[index], for: rows.keys[index])
      }
    }
  }

  func close() throws { try db.close() }
}

/// Quire with a cache of objects that holds all rows. Safe because the class above is.
final class QuireCachedShapedStore: QuireShapedStore, @unchecked Sendable {
  override class var name: String { "quire-cached" }
  override class func objectCache(_ count: Int) -> ObjectCacheOptions? {
    ObjectCacheOptions(countLimit: 4 * count, byteLimit: 1 << 30)
  }
}
