// Memory that outlives the transactions which use it.

internal import QuireStorage

/// Memory that transactions use one after the other.
@safe final class TransactionScratch: ReadCounter, @unchecked Sendable {
  // Sendable: safe because one transaction has it at a time.
  /// Room for a key of the key index.
  let key = UnsafeMutableRawPointer.allocate(byteCount: QuireStorage.Limits.keyByteCount, alignment: 16)
  /// Room for the engine's transaction, of either kind.
  let reading = UnsafeMutablePointer<QuireStorage.ReadTransaction>.allocate(capacity: 1)
  let writing = UnsafeMutablePointer<QuireStorage.WriteTransaction>.allocate(capacity: 1)
  /// Room for a row, and for one half of it.
  var row = RowBuilder()
  var part = RowBuilder()
  /// Room for what a coder makes.
  var encoded: [UInt8] = []
  /// Room for what a coder reads.
  let room = DecodingRoom()
  /// LZ4's memory, once something was compressed with a dictionary.
  private(set) lazy var stream = CompressionStream()
  /// Says which snapshot the transaction holds.
  let holder: SnapshotHolder
  /// How many read transactions have used it since that was passed on.
  var readCount = 0

  /// More than this is not kept for the next transaction, in bytes.
  private static let keptByteCount = 1 << 20

  init(_ holder: SnapshotHolder) { self.holder = holder }

  /// Lets go of what a long row has left.
  func trim() {
    if row.bytes.capacity > Self.keptByteCount { row = RowBuilder() }
    if part.bytes.capacity > Self.keptByteCount { part = RowBuilder() }
    if encoded.capacity > Self.keptByteCount { encoded = [] }
  }

  deinit {
    unsafe key.deallocate()
    unsafe reading.deallocate()
    unsafe writing.deallocate()
  }
}
