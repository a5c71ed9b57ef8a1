// Steps in any order over a disk that fails, and where they lead.

import QuireTesting
import Testing

@testable import QuireStorage

extension FaultyWalk {
  /// Takes some step. If it throws, the next one may be another.
  func takeAnyStep(_ cursor: inout Cursor) throws {
    do {
      switch random.below(cursor.tree.keys == .bytes ? 10 : 8) {
      case 0, 1: try go(&cursor, 1)
      case 2, 3: try go(&cursor, -1)
      case 4: try goToEdge(&cursor)
      case 5: try seek(&cursor)
      case 6: try seekRank(&cursor)
      case 7: try run(&cursor)
      case 8: try span(&cursor)
      default: try skip(&cursor)
      }
    } catch let error as StorageError {
      try note(error)
    }
    try look(&cursor)
  }

  private func go(_ cursor: inout Cursor, _ step: Int) throws {
    let rank =
      switch place {
      case .nowhereYet: step > 0 ? 0 : model.count - 1
      case .at(let rank): min(max(rank + step, -1), model.count)
      case .inFrontOf(let rank): step > 0 ? rank : rank - 1
      }
    let isOnEntry = try step > 0 ? cursor.next() : cursor.previous()
    try require(isOnEntry == (0..<model.count).contains(rank), "a step to \(rank) said \(isOnEntry)")
    place = .at(rank)
  }

  private func goToEdge(_ cursor: inout Cursor) throws {
    let isFirst = random.oneIn(2)
    let isOnEntry = try isFirst ? cursor.seekFirst() : cursor.seekLast()
    try require(isOnEntry, "a tree without an end")
    place = .at(isFirst ? 0 : model.count - 1)
  }

  private func seek(_ cursor: inout Cursor) throws {
    let key = model.keys[random.below(model.count)]
    let sought = random.oneIn(2) ? key : key.dropLast() + [key[key.count - 1] &+ 1]
    let expected = model.rank(sought)
    let isFound = try cursor.tree.keys == .bytes ? cursor.seek(sought) : cursor.seek(integer(sought))
    try require(isFound == expected.isFound, "seek \(sought) found: \(isFound)")
    place = .at(expected.rank)
  }

  private func seekRank(_ cursor: inout Cursor) throws {
    let rank = random.below(model.count)
    let isThere = try cursor.seek(toIndex: rank)
    try require(isThere, "seek to \(rank) found nothing")
    place = .at(rank)
  }

  /// The entry that a run begins with.
  private var start: Int {
    switch place {
    case .nowhereYet: 0
    case .at(-1): model.count
    case .at(let rank), .inFrontOf(let rank): rank
    }
  }

  /// Where a run has left off, whether it threw or not.
  private func stand(_ cursor: borrowing Cursor, behind given: Int, from start: Int) {
    if case .at(-1) = place, given == 0 { return }
    if case .nowhereYet = place, given == 0, !cursor.isOnEntry { return }
    let rank = start + given
    place = cursor.isOnEntry || rank == model.count ? .at(rank) : .inFrontOf(rank)
  }

  private func run(_ cursor: inout Cursor) throws {
    let start = start
    let limit = random.below(40) + 1
    var given = 0
    defer { stand(cursor, behind: given, from: start) }
    if cursor.tree.keys == .int64, random.oneIn(2) {
      try cursor.forEachNumber { _, value in
        try check(nil, value, start + given)
        given += 1
        return given < limit
      }
    } else {
      try cursor.forEach(limit: limit) { key, value in
        try check(key, value, start + given)
        given += 1
        return true
      }
    }
    try require(given == min(limit, model.count - start), "a run of \(limit) from \(start) has \(given) entries")
  }

  private func span(_ cursor: inout Cursor) throws {
    if random.oneIn(2) {
      let target = random.below(model.count)
      let rank = if case .at(-1) = place { 0 } else { start }
      place = .at(try advance(&cursor, to: target, from: rank))
      return
    }
    let start = start
    let end = min(model.count, start + random.below(20))
    var given = 0
    defer { stand(cursor, behind: given, from: start) }
    _ = try model.withKey(end == model.count ? nil : end) { upper in
      try cursor.forEachKey(below: upper) { key in
        try check(key, nil, start + given)
        given += 1
        return true
      }
    }
    try require(given == end - start, "a span from \(start) to \(end) has \(given) entries")
  }

  private func skip(_ cursor: inout Cursor) throws {
    guard case .at(let rank) = place, rank >= 0 else { return }
    let end = min(model.count - 1, rank + random.below(12))
    let count = try model.withKey(end) { upper in try cursor.skipInLeaf(below: try #require(upper)) }
    guard let count else { return }
    try require(count == max(0, end - rank), "\(count) entries skipped from \(rank) to \(end)")
    place = .at(rank + count)
  }
}
