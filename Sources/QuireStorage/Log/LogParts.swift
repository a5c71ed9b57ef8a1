// Which parts belong to a commit, and what of them a savepoint has undone.

/// Follows the records of a chain and says, at each commit, which bytes of which records it commits.
///
/// Numbers and not CSNs decide: the parts of a transaction that was rolled back bear the CSN of the one that came next,
/// and may have the same length.
///
/// Invariants:
/// 1. `count` parts have been seen since the last commit or the last part numbered 1, numbered 1 to `count`.
/// 2. `live` lists, in order, those of them of which something counts, each with its first byte's position.
struct LogParts {
  /// A record and the bytes of its body that count.
  struct Piece {
    let record: Int
    /// The position of the body's first byte among all bodies of the transaction.
    fileprivate let start: UInt64
    fileprivate(set) var range: Range<Int>
  }

  private var live: [Piece] = []
  /// Whether `live` is that of a commit.
  private var isSettled = false
  private var count = 0
  private var csn = CSN(0)
  /// The bytes of all bodies since the first part's.
  private var byteCount: UInt64 = 0
  /// What the last commit commits, itself last; valid until the next record.
  var committed: [Piece] { live }

  /// Takes the next record of the chain.
  ///
  /// - Returns: what is wrong with it, if it does not fit those before; nothing may be taken after that.
  mutating func take(_ record: Int, _ header: LogRecordHeader, undoPosition: UInt64?) -> String? {
    switch header.kind {
    case .mark:
      return header.partNumber == 0 && !header.hasUndo ? nil : "is a mark and speaks of parts"
    case .part:
      if header.partNumber == 1 || isSettled { reset() }
      guard header.partNumber == count + 1 else { return misplaced(header) }
    case .commit:
      if header.partNumber == 0 || isSettled { reset() }
      guard header.partNumber == count else { return misplaced(header) }
    }
    guard count == 0 || header.csn == csn else { return "has parts of \(csn), but is of \(header.csn)" }
    if header.hasUndo {
      guard let undoPosition, undoPosition < byteCount else { return "undoes what is not there" }
      undo(to: undoPosition)
    }
    csn = header.csn
    live.append(Piece(record: record, start: byteCount, range: header.operationsStart..<header.bodyByteCount))
    byteCount += UInt64(header.bodyByteCount)
    if header.kind == .part { count += 1 } else { isSettled = true }
    return nil
  }

  private mutating func reset() {
    live.removeAll(keepingCapacity: true)
    count = 0
    byteCount = 0
    isSettled = false
  }

  /// Drops what stands at `position` and behind it. Each piece is dropped once, so that this is linear in all records.
  private mutating func undo(to position: UInt64) {
    while let last = live.last {
      if last.start < position {
        let end = min(last.range.upperBound, Int(position - last.start))
        live[live.count - 1].range = min(last.range.lowerBound, end)..<end
        return
      }
      live.removeLast()
    }
  }

  private func misplaced(_ header: LogRecordHeader) -> String {
    header.kind == .part
      ? "is part \(header.partNumber), but \(count) stand before it"
      : "commits \(header.partNumber) parts, but \(count) stand before it"
  }
}
