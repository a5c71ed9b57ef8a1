// Values that are longer than a page: written, read in whole and in part, replaced, dropped, damaged.

import QuireStorage
import QuireTesting
import Testing

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

@Suite struct ExtentTests {
  private static let pageSize = 512
  /// What a chunk takes in pages of this size.
  private static let chunk = 16 * pageSize

  /// A value in which no two places look alike.
  static func value(_ count: Int, seed: Int = 1) -> [UInt8] {
    var random = SeededRandom(seed: UInt64(seed) &* 977 &+ UInt64(count))
    // By words: by bytes it would take longer than storing them, where nothing is optimised.
    var words: [UInt64] = []
    while words.count * 8 < count { words.append(random.next()) }
    return words.withUnsafeBytes { Array(UnsafeRawBufferPointer(rebasing: $0[..<count])) }
  }

  /// Lengths around every edge: beside the key, the page, the chunk, the list behind the chunks.
  private static let lengths =
    [0, 1, 138, 139, 140, 141, 511, 512, 513, 1024]
    + [chunk - 1, chunk, chunk + 1, chunk + 496, 2 * chunk - 16, 2 * chunk, 5 * chunk + 77, 40_000]

  private func makeTree() throws -> (TinyDatabase, StorageEngine, Tree) {
    let tiny = TinyDatabase(pageSize: Self.pageSize)
    let engine = try tiny.open()
    let tree = try engine.write { tx in try tx.createTree("t", keys: .int64) }
    return (tiny, engine, tree)
  }

  @Test func everyLengthIsReadBack() throws {
    let (tiny, engine, tree) = try makeTree()
    for (index, length) in Self.lengths.enumerated() {
      try engine.write { tx in
        try tx.put(Self.value(length), for: Int64(index), in: tree)
        let own = try tx.value(for: Int64(index), in: tree)
        #expect(own == Self.value(length))
      }
    }
    try check(engine, tree)
    try engine.checkpoint()
    try engine.walkEverything(isCheckpointed: true)
    try engine.verify()
    try engine.close()
    let again = try tiny.open()
    try check(again, tree)
    try again.verify()
    try again.close()
  }

  private func check(_ engine: StorageEngine, _ tree: Tree) throws {
    try engine.read { tx in
      var cursor = try tx.cursor(tree)
      for (index, length) in Self.lengths.enumerated() {
        let (key, expected) = (Int64(index), Self.value(length))
        let isThere = try tx.contains(key, in: tree)
        let count = try tx.valueByteCount(for: key, in: tree)
        let whole = try tx.value(for: key, in: tree)
        let lent = try tx.withValue(for: key, in: tree) { $0.withUnsafeBytes { Array($0) } }
        #expect(isThere && count == length && whole == expected && lent == expected, "\(length) bytes")
        let isOn = try cursor.next()
        let shown = try cursor.withValue { $0.withUnsafeBytes { Array($0) } }
        let copied = try cursor.value
        #expect(isOn && cursor.valueByteCount == length && shown == expected && copied == expected, "\(length) bytes")
        for range in [0..<0, 0..<1, 0..<length, length / 3..<length, length / 2..<(length / 2 + 1), 7..<100_000] {
          let part = Array(expected[range.clamped(to: 0..<length)])
          let read = try tx.value(for: key, in: tree, range: range)
          let lent = try tx.withValue(for: key, in: tree, range: range) { $0.withUnsafeBytes { Array($0) } }
          let shown = try cursor.value(range: range)
          #expect(read == part && lent == part && shown == part, "\(range) of \(length) bytes")
        }
      }
      let (none, noCount) = (
        try tx.value(for: Int64(99), in: tree, range: 0..<9), try tx.valueByteCount(for: Int64(99), in: tree)
      )
      #expect(none == nil && noCount == nil)
    }
  }

  @Test func partOfAValueCostsItsChunksAlone() throws {
    let (tiny, engine, tree) = try makeTree()
    let length = 20 * Self.chunk
    try engine.write { tx in try tx.put(Self.value(length), for: Int64(1), in: tree) }
    try engine.checkpoint()
    func bytesRead(_ body: (borrowing ReadTransaction) throws -> Void) throws -> Int {
      let before = tiny.disk.counters.readByteCount
      try engine.read(body)
      return tiny.disk.counters.readByteCount - before
    }
    let list = 8 * 20
    let cases: [(Range<Int>, chunks: Int)] = [
      (0..<1, 1), (0..<Self.chunk, 1), (Self.chunk - 1..<Self.chunk + 1, 2), (100..<100, 0),
      (3 * Self.chunk + 5..<7 * Self.chunk, 4), (length - 1..<length, 1), (0..<length, 20),
    ]
    for (range, chunks) in cases {
      let count = try bytesRead { tx in _ = try tx.value(for: Int64(1), in: tree, range: range) }
      #expect(count == (chunks == 0 ? 0 : list + chunks * Self.chunk), "\(range)")
    }
    let other = try bytesRead { tx in
      let isThere = try tx.contains(Int64(1), in: tree)
      let count = try tx.valueByteCount(for: Int64(1), in: tree)
      var cursor = try tx.cursor(tree)
      let isOn = try cursor.next()
      #expect(isThere && count == length && isOn && cursor.valueByteCount == length)
    }
    #expect(other == 0)
    let twice = try bytesRead { tx in
      var cursor = try tx.cursor(tree)
      _ = try cursor.next()
      for _ in 0..<2 { try cursor.withValue { #expect($0.byteCount == length) } }
    }
    #expect(twice == list + length)
    try engine.close()
  }

  @Test func placesComeBackAfterEveryKindOfEnd() throws {
    let (_, engine, tree) = try makeTree()
    struct Stop: Error {}
    let long = Self.value(3000)
    func settle() throws {
      try engine.checkpoint()
      // What the checkpoint before freed may be given out when this one is proven, so two are needed.
      try engine.write { tx in try tx.put("x", for: Int64(-1), in: tree) }
      try engine.checkpoint()
      try engine.walkEverything(isCheckpointed: true)
      try engine.verify()
    }
    try engine.write { tx in try tx.put(long, for: Int64(0), in: tree) }
    try settle()
    let pages = engine.statistics.filePages
    for round in 0..<40 {
      // Replaced by itself, inside savepoints, undone by them, and as a whole.
      _ = try? engine.write { tx in
        try tx.put(Self.value(2000, seed: round), for: Int64(1), in: tree)
        try tx.put(Self.value(2001, seed: round), for: Int64(1), in: tree)
        try tx.savepoint { tx in
          try tx.put(long, for: Int64(1), in: tree)
          try tx.put(long, for: Int64(2), in: tree)
          _ = try tx.delete(Int64(2), in: tree)
        }
        _ = try? tx.savepoint { tx in
          try tx.put(long, for: Int64(3), in: tree)
          _ = try tx.delete(Int64(1), in: tree)
          _ = try tx.delete(Int64(0), in: tree)
          throw Stop()
        }
        let (kept, undone) = (try tx.value(for: Int64(1), in: tree), try tx.value(for: Int64(3), in: tree))
        #expect(kept == long && undone == nil)
        let isNew = try tx.insert(long, for: Int64(1), in: tree)
        #expect(!isNew)
        if round % 2 == 0 { throw Stop() }
        _ = try tx.delete(Int64(1), in: tree)
      }
      let value = try engine.read { tx in try tx.value(for: Int64(0), in: tree) }
      #expect(value == long)
      try settle()
    }
    #expect(engine.statistics.filePages < pages + 60)
    try engine.close()
  }

  @Test("A long value that a savepoint replaced is there again when the savepoint is undone")
  func undoneReplacementKeepsTheValue() throws {
    let (_, engine, tree) = try makeTree()
    let (first, other) = (Self.value(3000, seed: 1), Self.value(3000, seed: 3))
    try engine.write { tx in
      try tx.put(first, for: Int64(1), in: tree)
      #expect(throws: StorageError.self) {
        try tx.savepoint { tx in
          try tx.put(Self.value(3000, seed: 2), for: Int64(1), in: tree)
          try tx.rollback()
        }
      }
      // What takes places now must not take those of the first value.
      for key in 2..<5 as Range<Int64> { try tx.put(other, for: key, in: tree) }
      let found = try tx.value(for: Int64(1), in: tree)
      #expect(found == first)
    }
    let found = try engine.read { tx in try tx.value(for: Int64(1), in: tree) }
    #expect(found == first)
    try engine.walkEverything()
    try engine.close()
  }

  @Test func pinnedReaderKeepsItsValue() throws {
    let (_, engine, tree) = try makeTree()
    let first = Self.value(5000, seed: 1)
    try engine.write { tx in try tx.put(first, for: Int64(1), in: tree) }
    let pin = try engine.pin()
    for round in 0..<20 {
      try engine.write { tx in try tx.put(Self.value(5000, seed: 2 + round), for: Int64(1), in: tree) }
      try engine.checkpoint()
      let seen = try pin.read { tx in try tx.value(for: Int64(1), in: tree) }
      #expect(seen == first)
    }
    #expect(engine.statistics.filePages < 120)
    try engine.verify()
  }

  @Test func droppedTreeGivesUpItsExtents() throws {
    let (_, engine, tree) = try makeTree()
    for key in 0..<200 as Range<Int64> {
      try engine.write { tx in
        try tx.put(Self.value(key % 3 == 0 ? 900 : 20, seed: Int(key)), for: key, in: tree)
      }
    }
    try engine.checkpoint()
    let used = engine.statistics.filePages - engine.statistics.freePages
    try engine.write { tx in try tx.dropTree(tree) }
    try engine.checkpoint()
    try engine.walkEverything(isCheckpointed: true)
    try engine.verify()
    #expect(used > 150 && engine.statistics.filePages - engine.statistics.freePages < 10)
    try engine.close()
  }

  @Test("Leaves that merge take along that they have long values")
  func mergedLeavesHaveExtents() throws {
    let (_, engine, tree) = try makeTree()
    // Short values in front, long ones behind, and leaves that are half full.
    try engine.write { tx in
      for key in 0..<120 as Range<Int64> { try tx.put(Self.value(key < 60 ? 30 : 900), for: key, in: tree) }
      for key in stride(from: 0, to: 120, by: 2) { try tx.delete(Int64(key), in: tree) }
    }
    for key in stride(from: 1, to: 60, by: 2) {
      try engine.write { tx in _ = try tx.delete(Int64(key), in: tree) }
      try engine.walkEverything()
    }
    try engine.write { tx in try tx.dropTree(tree) }
    try engine.checkpoint()
    try engine.walkEverything(isCheckpointed: true)
    try engine.close()
  }

  @Test func valueTooLongForTheLogIsCommittedByACheckpoint() throws {
    let (tiny, engine, tree) = try makeTree()
    let long = Self.value(300_000)
    let before = engine.statistics.checkpoints
    try engine.write { tx in try tx.put(long, for: Int64(1), in: tree) }
    #expect(engine.statistics.checkpoints == before + 1)
    let crashed = try tiny.open(tiny.disk.crashImage(.allOld))
    let value = try crashed.read { tx in try tx.value(for: Int64(1), in: tree) }
    #expect(value == long)
    try crashed.verify()
  }

  @Test func valueInTheLogIsThereAfterACrash() throws {
    let (tiny, engine, tree) = try makeTree()
    let long = Self.value(9000)
    try engine.write { tx in try tx.put(long, for: Int64(1), in: tree) }
    try engine.write { tx in
      try tx.put(Self.value(9001), for: Int64(1), in: tree)
      try tx.put(Self.value(700), for: Int64(2), in: tree)
    }
    for mode in [CrashMode.allOld, .allNew] {
      let crashed = try tiny.open(tiny.disk.crashImage(mode))
      try crashed.read { tx in
        let (one, two) = (try tx.value(for: Int64(1), in: tree), try tx.value(for: Int64(2), in: tree))
        #expect(one == Self.value(9001) && two == Self.value(700))
      }
      try crashed.walkEverything(isCheckpointed: true)
      try crashed.verify()
    }
  }

  /// The longest value there is, with QUIRE_VALUE_MIB=1024; a shorter one by default, as it takes its time. On a real
  /// disk: the memory that it takes is the caller's.
  @Test func veryLongValue() throws {
    let folder = TemporaryFolder()
    let length = min((getenv("QUIRE_VALUE_MIB").flatMap { Int(String(cString: $0)) } ?? 8) << 20, Limits.valueByteCount)
    let bytes = UnsafeMutableRawBufferPointer.allocate(byteCount: length, alignment: 16)
    defer { bytes.deallocate() }
    for (index, word) in bytes.bindMemory(to: UInt64.self).indices.enumerated() {
      bytes.storeBytes(of: UInt64(index) &* 0x9e37_79b9_7f4a_7c15, toByteOffset: 8 * word, as: UInt64.self)
    }
    for _ in 0..<2 {
      let engine = try StorageEngine(at: folder.path + "/long.quire")
      let tree = try engine.write { tx in try tx.tree(named: "t") ?? tx.createTree("t", keys: .bytes) }
      if try engine.read({ tx in try tx.count(of: tree) }) == 0 {
        try engine.write { tx in try tx.put(UnsafeRawBufferPointer(bytes), for: "k", in: tree) }
      }
      let isSame = try engine.read { tx in
        try tx.withValue(for: "k", in: tree) { value in
          value.withUnsafeBytes { found in
            guard let left = found.baseAddress, let right = bytes.baseAddress else { return false }
            return found.count == length && memcmp(left, right, length) == 0
          }
        }
      }
      #expect(isSame == true)
      let middle = (length / 2 - 3)..<(length / 2 + 3)
      let part = try engine.read { tx in try tx.value(for: "k", in: tree, range: middle) }
      #expect(part == Array(bytes[middle]))
      try engine.close()
    }
  }

  @Test func borrowedValueMayBePut() throws {
    let (_, engine, tree) = try makeTree()
    let texts = try engine.write { tx in try tx.createTree("texts", keys: .bytes) }
    // Fits beside a short key and not beside a long one.
    let edge = Self.value(130)
    try engine.write { tx in
      try tx.put(edge, for: "k", in: texts)
      try tx.put(Self.value(4000), for: Int64(1), in: tree)
    }
    let longKey = String(repeating: "l", count: 90)
    try engine.write { (tx) -> Void in
      // A user's closure must not use the transaction; one who holds the bytes over a put must get them all the same.
      let lent = try #require(
        try "k".withSearchKey { (key) throws(StorageError) in try tx.lend(key, in: texts) })
      defer { tx.endLoan(lent) }
      _ = try tx.put(UnsafeRawBufferPointer(start: lent.base, count: lent.count), for: longKey, in: texts)
      let copy = try tx.value(for: longKey, in: texts)
      #expect(copy == edge)
    }
    try engine.walkEverything()
    try engine.verify()
  }
}
