// What every store must be able to do to be measured. Each call is one whole loop, so that what is timed is the store
// and never the call through the protocol.

/// A key-value store, opened. Any number of threads may put and read at the same moment.
protocol StoreUnderTest: AnyObject, Sendable {
  /// The name in tables and on the command line.
  static var name: String { get }
  /// Rows of the table that this store is left out of: those that it has nothing for, and those that nobody who uses
  /// it would ask about.
  static var skippedRows: Set<String> { get }
  /// How many seconds after a commit the store may begin, without being asked, to tidy its files.
  static var secondsUntilTidying: Double { get }
  /// Opens the store in the existing folder `directory`, creating it if the folder is empty.
  init(directory: String, options: StoreOptions) throws
  /// What was measured, as the store itself tells it.
  var version: String { get }

  /// Puts the rows of `range`, one call of the store per row, `perTransaction` rows to a transaction. Each transaction
  /// is acknowledged, as durable as the store was opened for, when the next begins.
  func put(_ rows: RowBlock, _ range: Range<Int>, perTransaction: Int) throws
  /// Puts all rows in one transaction into an empty store, by whatever the store has for many rows in any order.
  func load(_ rows: RowBlock) throws
  /// Puts the rows of all blocks that `next` gives, until it gives none, in one transaction, one call of the store per
  /// row; nothing is stored if `next` throws.
  func putInOneTransaction(_ next: () throws -> RowBlock?) throws
  /// The same by a call that the store has for more rows than memory holds, in any order.
  ///
  /// - Returns: false if it has none; then `next` was not asked.
  func loadInAnyOrder(_ next: () throws -> RowBlock?) throws -> Bool
  /// Removes the rows of `range` in one transaction; every one must be there.
  func remove(_ rows: RowBlock, _ range: Range<Int>) throws
  /// Gets the keys of `range` in one read transaction; every one must be there.
  func sumOfValues(of keys: KeyList, _ range: Range<Int>) throws -> UInt64
  /// The same, by whatever call the store has for looking many keys up at once; single gets if it has none.
  func sumOfManyValues(of keys: KeyList, _ range: Range<Int>) throws -> UInt64
  /// Starts at each key of `range` and reads `length` rows in key order, all in one read transaction.
  func sumOfRanges(from keys: KeyList, _ range: Range<Int>, length: Int) throws -> UInt64
  /// Begins a read transaction, runs `body` while it stays open, and then reads every row in key order, as the
  /// transaction sees it. `body` must not write on this thread.
  func scan(after body: () throws -> Void) throws -> Contents
  /// How many rows there are, exactly, by the store's fastest way to know.
  func count() throws -> Int
  /// How many times the store has asked the disk to flush since it was opened, if it counts.
  var flushes: UInt64? { get }
  /// Writes home what waits in a log, for stores that have one.
  func settle() throws
  /// Makes the files as small as the store can.
  func compact() throws
  /// Closes the store; nothing is called afterwards.
  func close() throws
}

extension StoreUnderTest {
  static var skippedRows: Set<String> { [] }
  static var secondsUntilTidying: Double { 0 }
  var flushes: UInt64? { nil }
  func settle() throws {}
  func load(_ rows: RowBlock) throws { try put(rows, 0..<rows.count, perTransaction: rows.count) }
  func loadInAnyOrder(_ next: () throws -> RowBlock?) throws -> Bool { false }
  func sumOfManyValues(of keys: KeyList, _ range: Range<Int>) throws -> UInt64 {
    try sumOfValues(of: keys, range)
  }
  func scan() throws -> Contents { try scan(after: {}) }
}

/// How a store is opened: the same for all in one row of the table.
struct StoreOptions {
  /// Bytes of pages or blocks to keep in memory, for stores that keep them themselves.
  var cacheSize: Int
  var durability = CommitDurability.full
  /// Whether the store may tidy its files when it has nothing else to do.
  var tidiesWhenIdle = true
}

/// What a commit waits for.
enum CommitDurability {
  /// The disk: it survives the death of the machine.
  case full
  /// The system: it survives the death of the process.
  case relaxed
}

/// What a store holds: how many rows, and the sum of their values.
struct Contents: Equatable {
  var count = 0
  var sum: UInt64 = 0

  /// Counts rows that the store did not hold before.
  mutating func add(_ other: Contents) {
    count += other.count
    sum &+= other.sum
  }

  /// Counts one value.
  @inline(__always) mutating func add(_ value: UnsafeRawBufferPointer) {
    count += 1
    sum &+= QuireBench.sum(of: value)
  }
}

/// A failed call of a store.
struct StoreFailure: Error, CustomStringConvertible {
  let description: String
}
