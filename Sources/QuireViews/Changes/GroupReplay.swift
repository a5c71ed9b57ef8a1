// Replaying the steps of one group.

/// What became of the rows of a group, from steps whose indexes are those of their moment.
///
/// A row is followed by its place and not by its key, so that one that was inserted and removed again leaves no trace,
/// also where the removal of a whole group names no keys. O(log n) a step.
///
/// Invariants:
/// 1. A window lies within the group as it is at the step.
/// 2. Once settled, each row that was there before all steps is in one of `survivors` or of `removals`; `survivors` are
///    in order, before and after.
/// 3. Once settled, `updates` are of rows of `survivors`, in their order, one for each.
struct GroupReplay {
  /// Rows that were there before all steps and were removed by one.
  struct Removal {
    let first: Int
    let count: Int
    /// The first step that touched the row.
    var step: Int
    /// The same, or the first step that changed a neighbour of the row: what its place among the changes goes by.
    var moment: Moment
    /// The step that removed it.
    let keyStep: Int
    /// Whether that step names the row.
    let hasKey: Bool

    var indexes: Range<Int> { first..<first + count }
  }

  /// A row that a step inserted, and its index after all steps; nil once it was removed again.
  struct Arrival {
    let step: Int
    var index: Int?
  }

  /// A row that was there all the time and changed.
  struct Update {
    let old: Int
    var new: Int
    var aspects: ViewAspects
    var step: Int
    var moment: Moment
  }

  /// When something is told: after all steps before, and a row that draws a neighbour right after the neighbour's step.
  struct Moment: Comparable {
    private let order: Int

    static func step(_ step: Int) -> Moment { Moment(order: 2 * step) }
    static func neighbour(_ step: Int) -> Moment { Moment(order: 2 * step + 1) }
    /// After all steps.
    static let end = Moment(order: .max)

    private init(order: Int) { self.order = order }

    static func < (left: Self, right: Self) -> Bool { left.order < right.order }
  }

  /// Neighbouring rows that no step removed, with the first one's index before and after all steps.
  struct Stretch {
    var old: Int
    var new: Int
    var count: Int

    /// The indexes before all steps.
    var oldIndexes: Range<Int> { old..<old + count }
    /// The indexes after them.
    var newIndexes: Range<Int> { new..<new + count }
  }

  /// Made by the first step, as most groups of a view have none.
  private var rows: PieceTree?
  private let countBefore: Int
  private(set) var removals: [Removal] = []
  private(set) var arrivals: [Arrival] = []
  /// Sorted by index, once settled, and only those of rows that are still there.
  private(set) var updates: [Update] = []
  /// All rows that were there all the time, once settled.
  private(set) var survivors: [Stretch] = []
  /// The last step by which the group itself came or went.
  private(set) var sectionStep: Int?
  /// Where a flexible window stands.
  private(set) var window: WindowTracker?
  /// Whether all steps made sense in a group of the rows that it began with.
  private(set) var fits = true
  /// Where rows look that draw their neighbours, and the farthest look each way.
  private let offsets: Set<Int>
  private let up: Int
  private let down: Int
  /// By the index before all steps of a row that draws its neighbours: the first step at which one of them was another
  /// than before or changed.
  private var noticed: [Int: Int] = [:]

  /// Rows that look farther are told where the marks put them: a step costs no more looks than this.
  private static let noticeLimit = 32

  init(count: Int, window: WindowTracker?, neighbourOffsets: Set<Int> = []) {
    countBefore = count
    self.window = window
    offsets = neighbourOffsets.filter { -Self.noticeLimit...Self.noticeLimit ~= $0 }
    up = -min(offsets.min() ?? 0, 0)
    down = max(offsets.max() ?? 0, 0)
  }

  /// The moment at which a row that no step touched is told of for a neighbour's sake, if it was noticed.
  func noticeMoment(ofRow old: Int) -> Moment? { noticed.isEmpty ? nil : noticed[old].map { .neighbour($0) } }

  /// Notes the rows that look over the place `index`, in front of which something came or went, and those that look
  /// over it from `next` on.
  private mutating func notice(before index: Int, from next: Int, step: Int) {
    if offsets.isEmpty { return }
    for row in index - down..<index { notice(row, step) }
    for row in next..<next + up { notice(row, step) }
  }

  private mutating func notice(_ row: Int, _ step: Int) {
    guard row >= 0, row < count, let found = rows?.row(at: row), !found.isInserted else { return }
    if noticed[found.start] == nil { noticed[found.start] = step }
  }

  /// The number of rows now.
  var count: Int { rows?.count ?? countBefore }

  /// Carries out a step of this group.
  mutating func replay(_ operation: borrowing ViewOperation, step: Int) {
    if rows == nil { rows = PieceTree(count: countBefore) }
    switch operation {
    case .insertGroup, .removeGroup:
      sectionStep = step
    case .resetGroup(_, let expected):
      guard expected == count else { return fits = false }
      for piece in rows?.removeAll() ?? [] { note(piece, step: step, hasKey: false) }
      window?.reset()
    case .insert(_, _, let index):
      guard index >= 0, index <= count else { return fits = false }
      rows?.insert(arrivals.count, at: index)
      arrivals.append(Arrival(step: step, index: 0))
      window?.insert(at: index)
      notice(before: index, from: index + 1, step: step)
    case .remove(_, _, let index):
      guard index >= 0, index < count, let removed = rows?.remove(at: index) else { return fits = false }
      window?.remove(at: index)
      note(removed, step: step, hasKey: true)
      notice(before: index, from: index, step: step)
    case .update(_, _, let index, let aspects):
      guard index >= 0, index < count, let row = rows?.row(at: index) else { return fits = false }
      for offset in offsets { notice(index - offset, step) }
      guard !row.isInserted else { return }
      updates.append(Update(old: row.start, new: 0, aspects: aspects, step: step, moment: .step(step)))
    }
    assert(window.map { $0.upper <= count } ?? true, "a window reaches beyond its group")
  }

  private mutating func note(_ removed: PieceTree.Piece, step: Int, hasKey: Bool) {
    if removed.isInserted {
      arrivals[removed.start].index = nil
    } else {
      removals.append(
        Removal(
          first: removed.start, count: removed.length, step: step, moment: .step(step), keyStep: step, hasKey: hasKey))
    }
  }

  /// Computes the indexes after all steps. To be called once, after the last.
  mutating func settle() {
    guard let rows else {
      if countBefore > 0 { survivors = [Stretch(old: 0, new: 0, count: countBefore)] }
      return
    }
    var index = 0
    for piece in rows.pieces {
      if piece.isInserted {
        arrivals[piece.start].index = index
      } else if let last = survivors.last, last.oldIndexes.upperBound == piece.start,
        last.newIndexes.upperBound == index
      {
        survivors[survivors.count - 1].count += piece.length
      } else {
        survivors.append(Stretch(old: piece.start, new: index, count: piece.length))
      }
      index += piece.length
    }
    assert(
      survivors.reduce(0) { $0 + $1.count } + removals.reduce(0) { $0 + $1.count } == countBefore,
      "a row is neither there nor removed")
    assert(
      zip(survivors, survivors.dropFirst()).allSatisfy { $0.newIndexes.upperBound <= $1.new },
      "rows that are still there are out of order")
    if !updates.isEmpty { settleUpdates() }
    settleMoments()
  }

  /// A row whose neighbour a step changed before it was changed itself is told at that moment.
  private mutating func settleMoments() {
    for index in removals.indices {
      removals[index].moment = .step(removals[index].step)
      guard removals[index].count == 1, let moment = noticeMoment(ofRow: removals[index].first) else { continue }
      removals[index].moment = min(removals[index].moment, moment)
    }
    for index in updates.indices {
      guard let moment = noticeMoment(ofRow: updates[index].old) else { continue }
      updates[index].moment = min(updates[index].moment, moment)
    }
  }

  /// Puts the updates of a row together, and those of removed rows to their removals.
  private mutating func settleUpdates() {
    var merged: [Update] = []
    for update in updates.sorted(by: { ($0.old, $0.step) < ($1.old, $1.step) }) {
      if let last = merged.last, last.old == update.old {
        merged[merged.count - 1].aspects.formUnion(update.aspects)
      } else {
        merged.append(update)
      }
    }
    let removed = removals.indices.sorted { removals[$0].first < removals[$1].first }
    var (gone, stretch) = (removed[...], survivors[...])
    updates = merged.compactMap { update in
      while let next = stretch.first, next.oldIndexes.upperBound <= update.old { stretch.removeFirst() }
      if let home = stretch.first, home.old <= update.old {
        var update = update
        update.new = home.new + update.old - home.old
        return update
      }
      while let next = gone.first, removals[next].indexes.upperBound <= update.old { gone.removeFirst() }
      if let removal = gone.first, removals[removal].count == 1 {
        removals[removal].step = min(removals[removal].step, update.step)
      }
      return nil
    }
    assert(zip(updates, updates.dropFirst()).allSatisfy { $0.old < $1.old }, "a row is updated twice")
  }

  /// The rows that no step touched: the survivors without the updated ones.
  var untouched: [Stretch] {
    guard !updates.isEmpty else { return survivors }
    var result: [Stretch] = []
    var rest = updates[...]
    for var stretch in survivors {
      while let update = rest.first, update.old < stretch.oldIndexes.upperBound {
        rest.removeFirst()
        let before = update.old - stretch.old
        if before > 0 { result.append(Stretch(old: stretch.old, new: stretch.new, count: before)) }
        stretch.old += before + 1
        stretch.new += before + 1
        stretch.count -= before + 1
      }
      if stretch.count > 0 { result.append(stretch) }
    }
    assert(
      result.reduce(updates.count) { $0 + $1.count } == survivors.reduce(0) { $0 + $1.count },
      "a row that is still there is neither updated nor untouched")
    return result
  }
}
