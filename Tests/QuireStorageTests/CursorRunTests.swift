// Runs of entries against steps of one: the same entries in the same order, whatever stops them.

import QuireTesting
import Testing

@testable import QuireStorage

@Suite struct CursorRunTests {
  private typealias Entry = (key: [UInt8], value: [UInt8])
  private struct Stop: Error {}

  /// An engine with a tree of entries, some of them too long for a page, and some keys with prefixes in common.
  private func makeEngine(
    _ keys: KeyKind, count: Int, seed: UInt64, cachePages: Int = 4096
  ) throws -> (engine: StorageEngine, tree: Tree) {
    let options = StorageOptions(pageSize: 512, cacheSize: cachePages * 512, durability: .relaxed)
    let engine = try SimulatedDisk().openEngine(options, seed: seed)
    var random = SeededRandom(seed: seed)
    let tree = try engine.write { tx in
      let tree = try tx.createTree("t", keys: keys)
      for number in 0..<count {
        let value = [UInt8](marked: number, count: random.oneIn(20) ? 600 + random.below(900) : random.below(60))
        switch keys {
        case .bytes: try tx.put(value, for: Array("\(random.oneIn(2) ? "shared front " : "")\(number)".utf8), in: tree)
        case .int64: try tx.put(value, for: Int64(number * 3 - count), in: tree)
        }
      }
      return tree
    }
    return (engine, tree)
  }

  /// All entries behind the cursor's position, by steps of one.
  private func walk(_ cursor: inout Cursor) throws -> [Entry] {
    var entries: [Entry] = []
    while try cursor.next() {
      let key = cursor.withKey { $0.withUnsafeBytes { Array($0) } }
      let entry = (key: try #require(key), value: try #require(try cursor.value))
      let both = try #require(try cursor.borrowedEntry)
      #expect(
        UnsafeRawBufferPointer(start: both.key.base, count: both.key.count).elementsEqual(entry.key)
          && (both.value.isExtent
            || UnsafeRawBufferPointer(start: both.value.base, count: both.value.count).elementsEqual(entry.value)),
        "a key and its value looked at together")
      entries.append(entry)
    }
    let behind = try cursor.borrowedEntry
    #expect(behind == nil, "behind the last entry")
    return entries
  }

  private func expect(_ found: [Entry], _ expected: some Sequence<Entry>, _ what: Comment) {
    let expected = Array(expected)
    let isSame =
      found.count == expected.count
      && zip(found, expected).allSatisfy { equal($0.key, $1.key) && equal($0.value, $1.value) }
    #expect(isSame, what)
  }

  @Test func lendsNoEntryAfterAChange() throws {
    let (engine, tree) = try makeEngine(.bytes, count: 50, seed: 3)
    try engine.write { tx in
      var cursor = try tx.cursor(tree)
      let isThere = try cursor.next() && cursor.borrowedEntry != nil
      #expect(isThere)
      try tx.put([1], for: [2], in: tree)
      var failure: StorageError?
      do throws(StorageError) { _ = try cursor.borrowedEntry } catch { failure = error }
      #expect(failure?.code == .cursorInvalidated)
    }
  }

  @Test(arguments: [KeyKind.bytes, .int64], [UInt64(1), 2]) func givesWhatStepsGive(keys: KeyKind, seed: UInt64) throws
  {
    let (engine, tree) = try makeEngine(keys, count: 900, seed: seed)
    var random = SeededRandom(seed: seed)
    try engine.read { tx in
      var stepping = try tx.cursor(tree)
      let all = try walk(&stepping)
      #expect(all.count == 900)
      var cursor = try tx.cursor(tree)
      var entries: [Entry] = []
      try cursor.forEach { key, value in
        entries.append((key.withUnsafeBytes { Array($0) }, value.withUnsafeBytes { Array($0) }))
        return true
      }
      expect(entries, all, "forEach, seed \(seed)")
      #expect(try cursor.forEach { _, _ in true } == 0 && !cursor.isOnEntry)
      // In pieces, from random places.
      for _ in 0..<30 {
        var place = random.below(all.count)
        #expect(try cursor.seek(toIndex: place))
        while place < all.count {
          let limit = random.below(100)
          var values: [[UInt8]] = []
          let given = try cursor.forEachValue(limit: limit) { value in
            values.append(value.withUnsafeBytes { Array($0) })
            return true
          }
          #expect(given == min(limit, all.count - place) && given == values.count, "seed \(seed)")
          let isRight = zip(values, all[place...]).allSatisfy { equal($0, $1.value) }
          #expect(isRight, "values from \(place) on, seed \(seed)")
          place += given
          #expect(cursor.isOnEntry == (place < all.count))
          if random.oneIn(4) { break }
        }
      }
    }
    try engine.close()
  }

  @Test(arguments: [UInt64(1), 2, 3]) func numbersAreThoseOfTheKeys(seed: UInt64) throws {
    let (engine, tree) = try makeEngine(.int64, count: 900, seed: seed)
    var random = SeededRandom(seed: seed)
    try engine.read { tx in
      var stepping = try tx.cursor(tree)
      let all = try walk(&stepping)
      for _ in 0..<30 {
        let (start, length) = (random.below(all.count), random.below(400))
        let expected = all[start...].prefix(length + 1)
        var cursor = try tx.cursor(tree)
        #expect(try cursor.seek(toIndex: start))
        var found: [Entry] = []
        func take(_ key: Int64, _ value: RawSpan) -> Bool {
          let orderedKey = UInt64(bitPattern: key) ^ 1 << 63
          found.append((withUnsafeBytes(of: orderedKey.bigEndian) { Array($0) }, value.withUnsafeBytes { Array($0) }))
          return found.count <= length
        }
        #expect(try cursor.forEachNumber(take) == expected.count)
        expect(found, expected, "from \(start), seed \(seed)")
        #expect(cursor.isOnEntry == (start + expected.count < all.count))
        // What throws is where the cursor stays.
        guard try cursor.seek(toIndex: start) else { continue }
        var count = 0
        #expect(throws: Stop.self) {
          try cursor.forEachNumber { _, _ in
            count += 1
            if count == expected.count { throw Stop() }
            return true
          }
        }
        #expect(equal(cursor.key, expected.last?.key), "seed \(seed)")
      }
    }
    let texts = try engine.write { tx in try tx.createTree("texts", keys: .bytes) }
    try engine.read { tx in
      var cursor = try tx.cursor(texts)
      #expect(throws: StorageError.self) { try cursor.forEachNumber { _, _ in true } }
    }
    try engine.close()
  }

  @Test(arguments: [UInt64(1), 2, 3]) func goesFromSpanToSpan(seed: UInt64) throws {
    let (engine, tree) = try makeEngine(.bytes, count: 900, seed: seed)
    var random = SeededRandom(seed: seed)
    try engine.read { tx in
      var stepping = try tx.cursor(tree)
      let keys = try walk(&stepping).map(\.key)
      for _ in 0..<TestSize.trials(40, divisor: 5) {
        // Bounds that are keys, and others, in order.
        let bounds = (0..<2 * (1 + random.below(60))).map { _ in
          let key = keys[random.below(keys.count)]
          return random.oneIn(3) ? key + [UInt8(random.below(3))] : Array(key.prefix(1 + random.below(key.count)))
        }.sorted { $0.lexicographicallyPrecedes($1) }
        var walking = try tx.cursor(tree)
        var counting = try tx.cursor(tree)
        for start in stride(from: 0, to: bounds.count, by: 2) {
          let (lower, upper) = (bounds[start], bounds[start + 1])
          let first = keys.first { !$0.lexicographicallyPrecedes(lower) }
          let within = keys.filter { !$0.lexicographicallyPrecedes(lower) && $0.lexicographicallyPrecedes(upper) }
          let limit = random.oneIn(4) ? random.below(9) + 1 : .max
          try lower.withUnsafeBytes { lower in
            let found = try walking.advance(to: lower) { key in key.withUnsafeBytes { Array($0) } }
            #expect(equal(found, first), "seed \(seed)")
            _ = try counting.advance(to: lower) { _ in }
          }
          try upper.withUnsafeBytes { upper in
            var found: [[UInt8]] = []
            let goesOn = try walking.forEachKey(below: upper) { key in
              found.append(key.withUnsafeBytes { Array($0) })
              return found.count < limit
            }
            #expect(found.elementsEqual(within.prefix(limit)), "seed \(seed)")
            #expect(goesOn == (within.count < limit))
            // What lies in one leaf is counted there, and nothing is passed over otherwise.
            let place = counting.key
            if let passed = try counting.skipInLeaf(below: upper) {
              #expect(passed == within.count, "seed \(seed)")
            } else {
              #expect(equal(counting.key, place), "seed \(seed)")
              _ = try counting.advance(to: upper) { _ in }
            }
            #expect(equal(counting.key, keys.first { !$0.lexicographicallyPrecedes(Array(upper)) }))
          }
        }
        var all = 0
        var cursor = try tx.cursor(tree)
        #expect(
          try cursor.forEachKey(below: nil) { _ in
            all += 1
            return true
          })
        #expect(all == keys.count && !cursor.isOnEntry)
      }
    }
    try engine.close()
  }

  @Test(arguments: [UInt64(1), 2, 3]) func stopsWhereAsked(seed: UInt64) throws {
    let (engine, tree) = try makeEngine(.bytes, count: 400, seed: seed)
    var random = SeededRandom(seed: seed)
    try engine.read { tx in
      var stepping = try tx.cursor(tree)
      let all = try walk(&stepping)
      for _ in 0..<60 {
        let (start, length) = (random.below(300), random.below(90))
        var cursor = try tx.cursor(tree)
        #expect(try cursor.seek(toIndex: start))
        var count = 0
        if random.oneIn(2) {
          let given = try cursor.forEachValue { _ in
            count += 1
            return count <= length
          }
          #expect(given == length + 1 && given == count)
          #expect(equal(cursor.key, all[start + length + 1].key), "the cursor is not behind the last, seed \(seed)")
        } else {
          #expect(throws: Stop.self) {
            try cursor.forEach { _, _ in
              if count == length { throw Stop() }
              count += 1
              return true
            }
          }
          #expect(equal(cursor.key, all[start + length].key), "the cursor is not on what threw, seed \(seed)")
        }
      }
      var cursor = try tx.cursor(tree)
      #expect(try cursor.forEachValue(limit: 0) { _ in true } == 0)
      #expect(try cursor.next() && equal(cursor.key, all[0].key), "a new cursor is not new any more")
    }
    try engine.close()
  }

  @Test func nestedReadsLeaveRunsAlone() throws {
    // A tenth of what the tree takes: nested reads push pages out while a run is lent.
    let (engine, tree) = try makeEngine(.int64, count: 4000, seed: 4, cachePages: 64)
    var copies = false
    for _ in 0..<2 {
      try engine.read { tx in
        var stepping = try tx.cursor(tree)
        let all = try walk(&stepping)
        var cursor = try tx.cursor(tree)
        var (index, wrong) = (0, 0)
        try cursor.forEach { key, value in
          let other = (index * 7919) % all.count
          let nested = try tx.value(for: integer(all[other].key), in: tree)
          let isRight =
            equal(nested, all[other].value)
            && equal(key.withUnsafeBytes { Array($0) }, all[index].key)
            && equal(value.withUnsafeBytes { Array($0) }, all[index].value)
          if !isRight { wrong += 1 }
          index += 1
          return true
        }
        #expect(index == all.count && wrong == 0)
      }
      copies = engine.core.store.lendsCopies
    }
    #expect(copies, "memory was not short")
    try engine.close()
  }

  @Test func changesOfABodyAreRefused() throws {
    let (engine, tree) = try makeEngine(.int64, count: 100, seed: 5)
    try engine.write { tx in
      var cursor = try tx.cursor(tree)
      var count = 0
      #expect(throws: StorageError.self) {
        try cursor.forEachValue { _ in
          count += 1
          if count == 10 { _ = try tx.delete(Int64(-100), in: tree) }
          return true
        }
      }
      #expect(count == 10, "the run went on over changed pages")
    }
    try engine.close()
  }

  /// In front of the first entry and behind the last one a cursor is on none, and comes back to the one it left.
  @Test(arguments: [1, 2, 300]) func turnsRoundAtTheEnds(count: Int) throws {
    let (engine, tree) = try makeEngine(.int64, count: count, seed: 5)
    let (first, last) = (Int64(-count), Int64((count - 1) * 3 - count))
    try engine.read { tx in
      var cursor = try tx.cursor(tree)
      for _ in 0..<2 {
        let begins = try cursor.next()
        #expect(begins && cursor.integerKey == first)
        for _ in 0..<2 {
          let isThere = try cursor.previous()
          let isOnEntry = cursor.isOnEntry
          #expect(!isThere && !isOnEntry, "in front of the first entry")
        }
        let returns = try cursor.next()
        #expect(returns && cursor.integerKey == first)
        let ends = try cursor.seekLast()
        #expect(ends && cursor.integerKey == last)
        for _ in 0..<2 {
          let isThere = try cursor.next()
          let isOnEntry = cursor.isOnEntry
          #expect(!isThere && !isOnEntry, "behind the last entry")
        }
        let goesBack = try cursor.previous()
        #expect(goesBack && cursor.integerKey == last)
        while try cursor.previous() {}
      }
    }
    try engine.close()
  }
}
