// What every store must be able to do to be measured. Each call is one whole loop, so that what is timed is the store
// and never the call through the protocol.

/// A key-value store, opened. One thread writes; any number may read at the same moment.
protocol StoreUnderTest: AnyObject, Sendable {
  /// The name in tables and on the command line.
  static var name: String { get }
  /// Opens the store in the existing folder `directory`, creating it if the folder is empty.
  ///
  /// - Parameter cacheSize: how many bytes of pages to keep in memory, for stores that keep pages themselves.
  init(directory: String, cacheSize: Int) throws

  /// Puts the rows of `range`, one call of the store per row, `perTransaction` rows to a transaction. Each transaction
  /// is durable when the next begins.
  func put(_ rows: RowBlock, _ range: Range<Int>, perTransaction: Int) throws
  /// Puts all rows in one transaction, by whatever the store has for many rows in any order.
  func load(_ rows: RowBlock) throws
  /// Removes the rows of `range` in one transaction; every one must be there.
  func remove(_ rows: RowBlock, _ range: Range<Int>) throws
  /// Gets the keys of `range` in one read transaction; every one must be there.
  func sumOfValues(of keys: KeyList, _ range: Range<Int>) throws -> UInt64
  /// The same, by whatever call the store has for looking many keys up at once; single gets if it has none.
  func sumOfManyValues(of keys: KeyList, _ range: Range<Int>) throws -> UInt64
  /// Starts at each key of `range` and reads `length` rows in key order, all in one read transaction.
  func sumOfRanges(from keys: KeyList, _ range: Range<Int>, length: Int) throws -> UInt64
  /// Reads every row in key order.
  func scan() throws -> Contents
  /// How many times the store has asked the disk to flush since it was opened, if it counts.
  var flushes: UInt64? { get }
  /// Writes home what waits in a log, for stores that have one.
  func settle() throws
  /// Closes the store; nothing is called afterwards.
  func close() throws
}

extension StoreUnderTest {
  func settle() throws {}
  func load(_ rows: RowBlock) throws { try put(rows, 0..<rows.count, perTransaction: rows.count) }
}

/// What a store holds: how many rows, and the sum of their values.
struct Contents: Equatable {
  var count: Int
  var sum: UInt64

  /// Counts rows that the store did not hold before.
  mutating func add(_ other: Contents) {
    count += other.count
    sum &+= other.sum
  }
}

/// A failed call of a store.
struct StoreFailure: Error, CustomStringConvertible {
  let description: String
}

/// The stores that were built in, in the order of the tables: ours first.
var installedStores: [any StoreUnderTest.Type] {
  var stores: [any StoreUnderTest.Type] = []
  stores.append(QuireStore.self)
  #if canImport(CLMDB)
    stores.append(LMDBStore.self)
  #endif
  return stores
}
