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
  /// Postings that are in no block yet, and the codes of the lengths of their rows.
  private var list = PostingList()
  private var codes: [UInt8] = []
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
    if list.count > 0 { try makeBlock() }
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
    while unsafe stream.read(into: &list, next) {
      if isTermChanged, let changes { try settleLast(changes) }
      // Of a row that was left out there is no code.
      if codes.count < list.count { codes.append(stream.lengthCode) }
      if list.count == PostingForm.blockCount { try makeBlock() }
    }
  }

  /// Has the posting that was read last left out if it was added, and those in front of it put in that are void.
  private mutating func settleLast(_ changes: SnapshotChanges) throws {
    let row = list.rowIDs[list.count - 1]
    while nextAdded < changes.added.count, changes.added[nextAdded] < row { nextAdded += 1 }
    let isAdded = nextAdded < changes.added.count && changes.added[nextAdded] == row
    let isVoidBefore = nextVoid < changes.void.count && changes.void[nextVoid] < row
    guard isAdded || isVoidBefore else { return }
    let last = list.part(list.count - 1..<list.count)
    list.removeLast()
    try addVoid(below: row, changes)
    if !isAdded { list.append(last, at: 0) }
  }

  /// Puts in postings that are void and stand for those that the snapshot does not have.
  private mutating func addVoid(below row: RowID?, _ changes: SnapshotChanges) throws {
    while nextVoid < changes.void.count, row.map({ changes.void[nextVoid] < $0 }) ?? true {
      list.append(changes.void[nextVoid], mask: 1, frequencies: [1], positions: form.hasPositions ? [0] : nil)
      codes.append(.max)
      nextVoid += 1
      if list.count == PostingForm.blockCount { try makeBlock() }
    }
  }

  // MARK: Blocks

  /// Makes a block of the postings that wait.
  private mutating func makeBlock() throws {
    assert(codes.count == list.count, "a posting lacks the length of its row")
    let lengthCodes = codes
    let made = encoder.encode(list, rows: 0..<list.count) { lengthCodes[$0] }
    makeKey(lastRow: list.rowIDs[list.count - 1].ordered)
    try blocks.append(key, made.block)
    if let apart = made.positions { try positions.append(key, apart) }
    // Limits of a term are wanted if it has a head.
    if blockCount > 0 || list.count == PostingForm.blockCount {
      for index in 0..<list.count { limits.add(form.limit(of: list, index, lengthCodes[index])) }
    }
    count += list.count
    blockCount += 1
    list.removeAll()
    codes.removeAll(keepingCapacity: true)
  }

  private mutating func makeKey(lastRow: UInt64) {
    key.removeAll(keepingCapacity: true)
    key += term
    key.append(0)
    key.appendBigEndian(lastRow)
  }
}
