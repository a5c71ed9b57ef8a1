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
  /// Room for what it makes of that.
  @exclusivity(unchecked) var values = ValueRooms()
  /// LZ4's memory, once something was compressed with a dictionary.
  private(set) lazy var stream = CompressionStream()
  /// Says which snapshot the transaction holds.
  let holder: SnapshotHolder
  /// The engine of the transactions.
  let engine: EngineCore
  /// How many read transactions have used it since that was passed on.
  var readCount = 0

  /// More than this is not kept for the next transaction, in bytes.
  private static let keptByteCount = 1 << 20

  init(_ holder: SnapshotHolder, _ engine: EngineCore) { (self.holder, self.engine) = (holder, engine) }

  /// Lets go of what a long row has left.
  func trim() {
    if row.bytes.capacity > Self.keptByteCount { row = RowBuilder() }
    if part.bytes.capacity > Self.keptByteCount { part = RowBuilder() }
    if encoded.capacity > Self.keptByteCount { encoded = [] }
    if unsafe values.byteCount > Self.keptByteCount {
      unsafe values.deallocate()
      unsafe values = ValueRooms()
    }
  }

  deinit {
    unsafe key.deallocate()
    unsafe reading.deallocate()
    unsafe writing.deallocate()
    unsafe values.deallocate()
  }
}

/// Memory for values that a coder has made, on their way to who asked for them.
///
/// A reader begins with a room, has the value made there and ends; whoever is handed the value's place takes it out at
/// once, before anything else is read. A coder that reads itself while it makes a value begins with another room.
///
/// Invariants: outside of reads `depth` is 0; no room has a value that nobody is about to take.
@safe struct ValueRooms {
  @safe private struct Room {
    let base: UnsafeMutableRawPointer
    let byteCount: Int
    let alignment: Int

    init(byteCount: Int, alignment: Int) {
      unsafe base = .allocate(byteCount: byteCount, alignment: alignment)
      self.byteCount = byteCount
      self.alignment = alignment
    }
  }

  /// The room of a read that is in no other one, and those of the reads inside.
  private var first = Room(byteCount: 256, alignment: 16)
  private var inner: [Room] = []
  private var depth = 0

  /// A room of this size, until `end`.
  @inline(__always) mutating func begin(byteCount: Int, alignment: Int) -> UnsafeMutableRawPointer {
    depth &+= 1
    if depth == 1, byteCount <= first.byteCount && alignment <= first.alignment { return unsafe first.base }
    return unsafe beginElsewhere(byteCount, alignment)
  }

  @inline(never)
  private mutating func beginElsewhere(_ byteCount: Int, _ alignment: Int) -> UnsafeMutableRawPointer {
    // Below 0 is the first one, which does not fit.
    let index = depth &- 2
    if index >= 0 && index < inner.count {
      let room = inner[index]
      if byteCount <= room.byteCount && alignment <= room.alignment { return unsafe room.base }
    }
    let new = Room(byteCount: max(byteCount, 256), alignment: max(alignment, 16))
    if index < 0 {
      unsafe first.base.deallocate()
      first = new
    } else if index < inner.count {
      unsafe inner[index].base.deallocate()
      inner[index] = new
    } else {
      inner.append(new)
    }
    return unsafe new.base
  }

  @inline(__always) mutating func end() {
    assert(depth > 0, "a read ends that has not begun")
    depth &-= 1
  }

  /// The memory of all rooms.
  var byteCount: Int { inner.reduce(first.byteCount) { $0 + $1.byteCount } }

  /// Gives the memory back.
  func deallocate() {
    assert(depth == 0, "memory is given back that is in use")
    unsafe first.base.deallocate()
    for room in inner { unsafe room.base.deallocate() }
  }
}
