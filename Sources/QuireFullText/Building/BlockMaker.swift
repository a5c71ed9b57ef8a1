// Making the blocks of terms whose postings come in order.

internal import QuireDatabase

/// Makes blocks, positions and heads of postings that come term by term, and row by row within one.
struct BlockMaker {
  let form: PostingForm
  let blocks: ExtensionSorter<[UInt8]>
  let positions: ExtensionSorter<[UInt8]>
  /// What has to be left out and put in; nil if nothing has changed since building began.
  private let changes: SnapshotChanges?
  private var encoder: BlockEncoder
  /// Postings that are in no block yet.
  private let postings: BlockPostings
  private var term: [UInt8] = []
  private var key: [UInt8] = []
  private var limits = LimitCollector()
  /// How many postings and blocks of the term are made.
  private var count = 0
  private var blockCount = 0
  // How far the changes of the term are taken in.
  private var isTermChanged = false
  private var nextAdded = 0
  private var nextVoid = 0

  init(
    _ form: PostingForm, blocks: ExtensionSorter<[UInt8]>, positions: ExtensionSorter<[UInt8]>,
    changes: SnapshotChanges?
  ) {
    (self.form, self.blocks, self.positions, self.changes) = (form, blocks, positions, changes)
    encoder = BlockEncoder(form)
    postings = BlockPostings(form)
  }

  // MARK: Terms

  /// Begins with a term; terms come in the order of their bytes.
  mutating func begin(_ bytes: UnsafeRawBufferPointer) throws {
    try endTerm()
    while let changed = changes?.term, unsafe changed.withUnsafeBytes({ unsafe ByteOrder.precedes($0, bytes) }) {
      try makeVoidTerm(changed)
    }
    term.removeAll(keepingCapacity: true)
    unsafe term.append(contentsOf: bytes)
    isTermChanged = changes?.term == term
    (nextAdded, nextVoid) = (0, 0)
  }

  /// Ends with the last term.
  mutating func end() throws {
    try endTerm()
    while let changed = changes?.term { try makeVoidTerm(changed) }
  }

  /// Makes the blocks of a term that no row of the snapshot has: of what is void in them.
  private mutating func makeVoidTerm(_ changed: [UInt8]) throws {
    term = changed
    isTermChanged = true
    (nextAdded, nextVoid) = (0, 0)
    try endTerm()
  }

  private mutating func endTerm() throws {
    if isTermChanged, let changes {
      try addVoid(below: nil, changes)
      try changes.advance()
      isTermChanged = false
    }
    if postings.count > 0 { try makeBlock() }
    if blockCount > 1 {
      makeKey(lastRow: 0)
      try blocks.append(key, HeadCodec(count: count, limits: limits.take() ?? .any).bytes)
    } else {
      _ = limits.take()
    }
    (count, blockCount) = (0, 0)
  }

  // MARK: Postings

  /// Takes in the postings of a stream, whose parts `next` gives.
  mutating func add(_ stream: inout PostingStream, _ next: () -> UnsafeRawBufferPointer?) throws {
    if isTermChanged, let changes { return try unsafe add(&stream, next, changes) }
    while true {
      let room = PostingForm.blockCount - postings.count
      guard unsafe stream.read(room, into: postings, next) == room else { return }
      try makeBlock()
    }
  }

  /// Takes in the postings of a stream without those that were added, and puts those in between that are void, and that
  /// the stream does not have.
  private mutating func add(
    _ stream: inout PostingStream, _ next: () -> UnsafeRawBufferPointer?, _ changes: SnapshotChanges
  ) throws {
    while let row = unsafe stream.nextRow(next) {
      while nextAdded < changes.added.count, changes.added[nextAdded] < row { nextAdded += 1 }
      try addVoid(below: row, changes)
      guard unsafe stream.read(1, into: postings, next) == 1 else { return }
      if nextVoid < changes.void.count, changes.void[nextVoid] == row {
        // It is void with this content as with any other.
        nextVoid += 1
      } else if nextAdded < changes.added.count, changes.added[nextAdded] == row {
        postings.removeLast()
      }
      if postings.isFull { try makeBlock() }
    }
  }

  /// Puts in postings that are void and stand for those that the snapshot does not have.
  private mutating func addVoid(below row: RowID?, _ changes: SnapshotChanges) throws {
    while nextVoid < changes.void.count, row.map({ changes.void[nextVoid] < $0 }) ?? true {
      postings.appendStandIn(changes.void[nextVoid])
      nextVoid += 1
      if postings.isFull { try makeBlock() }
    }
  }

  // MARK: Blocks

  /// Makes a block of the postings that wait.
  private mutating func makeBlock() throws {
    let made = encoder.encode(postings)
    makeKey(lastRow: postings.row(postings.count - 1).ordered)
    unsafe try blocks.append(key.span.bytes, made.block)
    if let apart = made.positions { unsafe try positions.append(key.span.bytes, apart) }
    // Limits of a term are wanted if it has a head.
    if blockCount > 0 || postings.isFull {
      for index in 0..<postings.count { limits.add(postings.limit(index)) }
    }
    count += postings.count
    blockCount += 1
    postings.removeAll()
  }

  private mutating func makeKey(lastRow: UInt64) {
    key.removeAll(keepingCapacity: true)
    key += term
    key.append(0)
    key.appendBigEndian(lastRow)
  }
}
