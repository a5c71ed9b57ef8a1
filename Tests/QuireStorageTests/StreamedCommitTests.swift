// Transactions whose records go out in parts while they run, and what becomes of the parts.

import QuireStorage
import QuireTesting
import Testing

@Suite struct StreamedCommitTests {
  private static let options = StorageOptions(pageSize: 512, cacheSize: 4 << 20, logLimit: 64 << 10)

  private func open(
    _ disk: SimulatedDisk, partByteCount: Int = 200, segmentByteCount: Int = 64 << 10
  ) throws -> StorageEngine {
    try disk.openEngine(Self.options, segmentByteCount: segmentByteCount, partByteCount: partByteCount)
  }

  /// What a tree holds: for each key the mark of its value.
  private func content(_ engine: StorageEngine) throws -> [Int64: UInt8] {
    try engine.read { tx in
      guard let tree = tx.tree(named: "t") else { return [:] }
      var content: [Int64: UInt8] = [:]
      var cursor = try tx.cursor(tree)
      while try cursor.next() { content[cursor.integerKey ?? -1] = try cursor.value?.first ?? 0 }
      return content
    }
  }

  private func put(_ keys: Range<Int64>, _ mark: UInt8, _ tx: borrowing WriteTransaction) throws {
    let found = tx.tree(named: "t")
    let tree = try #require(found)
    for key in keys { try tx.put([UInt8](repeating: mark, count: 30), for: key, in: tree) }
  }

  private func expected(_ keys: Range<Int64>, _ mark: UInt8) -> [Int64: UInt8] {
    Dictionary(uniqueKeysWithValues: keys.map { ($0, mark) })
  }

  @Test("A long transaction goes out in parts, with one flush and no checkpoint")
  func streams() throws {
    let disk = SimulatedDisk()
    let engine = try open(disk)
    try engine.write { tx in _ = try tx.createTree("t", keys: .int64) }
    let before = engine.statistics
    try engine.write { tx in
      try put(0..<400, 7, tx)
      #expect(engine.core.context.log.partCount > 50)
      #expect(engine.core.context.log.bodyByteCount <= 200)
    }
    let after = engine.statistics
    #expect(after.flushes == before.flushes + 1 && after.checkpoints == before.checkpoints)
    let log = try #require(try Inspector(at: "/db", fileSystem: disk.processKillImage()).log())
    #expect(log.scan.records.count { $0.header.kind == .part } > 50 && log.defect == nil)
    #expect(try content(open(disk.processKillImage())) == expected(0..<400, 7))
  }

  @Test("A commit of one part is the record that it always was")
  func shortRecordsStayAsTheyWere() throws {
    let disk = SimulatedDisk()
    let engine = try disk.openEngine(StorageOptions())
    let tree = try engine.write { tx in try tx.createTree("t", keys: .int64) }
    let before = engine.statistics
    try engine.write { tx in try tx.put([UInt8](repeating: 1, count: 174), for: Int64(1000), in: tree) }
    #expect(engine.statistics.logBytes - before.logBytes == 256)
    #expect(engine.statistics.flushes == before.flushes + 1)
  }

  @Test("Parts go over into the next segment, and the checkpoint that they owe comes with the next first part")
  func goesOverSegments() throws {
    let disk = SimulatedDisk()
    // Too long for a third one within the limit.
    let engine = try open(disk, partByteCount: 1 << 20, segmentByteCount: 24 << 10)
    try engine.write { tx in _ = try tx.createTree("t", keys: .int64) }
    let first = try #require(engine.core.log.with { $0?.current.descriptor.number })
    try engine.write { tx in
      try put(0..<700, 3, tx)
      #expect(!engine.core.context.log.isGivenUp && engine.core.context.log.partCount > 3)
      #expect(
        engine.core.log.with({ $0?.current.descriptor.number }) == first + 1 && engine.core.log.with { $0?.next == nil }
      )
    }
    #expect(try content(open(disk.processKillImage())) == expected(0..<700, 3))
    // There is room for a while.
    #expect(engine.core.log.owesCheckpoint && !engine.core.stepCheckpoint() && engine.statistics.checkpoints == 0)
    try engine.write { tx in
      try put(0..<700, 4, tx)
      #expect(!engine.core.context.log.isGivenUp && engine.core.context.log.partCount > 3)
    }
    #expect(engine.statistics.checkpoints == 1)
    #expect(try content(open(disk.processKillImage())) == expected(0..<700, 4))
    try engine.close()
  }

  @Test(
    "Without room for a part the transaction commits by checkpoint, and its parts are void", arguments: [true, false])
  func givesUp(isRolledBack: Bool) throws {
    let disk = SimulatedDisk()
    let engine = try open(disk, segmentByteCount: 16 << 10)
    try engine.write { tx in _ = try tx.createTree("t", keys: .int64) }
    do {
      try engine.write { tx in
        try put(0..<2000, 3, tx)
        #expect(engine.core.context.log.isGivenUp)
        if isRolledBack { try tx.rollback() }
      }
    } catch let error as StorageError where error.code == .rolledBack {}
    let all = isRolledBack ? [:] : expected(0..<2000, 3)
    #expect(try content(open(disk.processKillImage())) == all)
    try engine.write { tx in try put(0..<3, 9, tx) }
    #expect(try content(open(disk.processKillImage())) == all.merging(expected(0..<3, 9)) { $1 })
    try engine.close()
  }

  @Test("A savepoint undoes what is in parts already", arguments: [64, 100, 200, 333, 1000])
  func savepointsOverParts(partByteCount: Int) throws {
    let disk = SimulatedDisk()
    let engine = try open(disk, partByteCount: partByteCount)
    try engine.write { tx in _ = try tx.createTree("t", keys: .int64) }
    func undone(_ tx: borrowing WriteTransaction, _ body: (borrowing WriteTransaction) throws -> Void) throws {
      do {
        try tx.savepoint { tx in
          try body(tx)
          throw Mismatch("on purpose")
        }
      } catch is Mismatch {}
    }
    for step in 0..<20 {
      let keys = Int64(step)
      try engine.write { tx in
        try put(0..<keys, 1, tx)
        try undone(tx) { tx in
          try put(0..<40, 2, tx)
          try tx.savepoint { tx in try put(100..<110, 3, tx) }
          try undone(tx) { tx in try put(0..<30, 4, tx) }
          try put(200..<(200 + keys), 5, tx)
        }
        try undone(tx) { tx in try put(0..<(3 * keys), 6, tx) }
        try put(50..<(50 + keys), 7, tx)
        try tx.savepoint { tx in try put(70..<90, 8, tx) }
      }
      var all = expected(0..<keys, 1)
      all.merge(expected(50..<(50 + keys), 7)) { $1 }
      all.merge(expected(70..<90, 8)) { $1 }
      #expect(try content(engine) == all)
      #expect(try content(open(disk.processKillImage())) == all)
    }
  }

  @Test("Everything undone is nothing to commit")
  func undoneFromTheStart() throws {
    let engine = try open(SimulatedDisk())
    try engine.write { tx in _ = try tx.createTree("t", keys: .int64) }
    let before = engine.statistics.commits
    try engine.write { tx in
      try? tx.savepoint { tx in
        try put(0..<100, 1, tx)
        throw Mismatch("on purpose")
      }
    }
    #expect(engine.statistics.commits == before)
    try engine.write { tx in try put(0..<100, 2, tx) }
    #expect(try content(engine) == expected(0..<100, 2))
  }

  @Test("Parts of a transaction that was rolled back do not come back with its CSN, whatever crash comes (A1)")
  func voidPartsStayVoid() throws {
    var cut = 0
    while true {
      let disk = SimulatedDisk()
      let engine = try open(disk)
      try engine.write { tx in _ = try tx.createTree("t", keys: .int64) }
      let start = disk.changeCount
      disk.powerOff(beforeChange: start + cut)
      var states: [[Int64: UInt8]] = [[:]]
      var durable = 0
      do {
        // Equal lengths throughout, so that old parts would fit where new ones are.
        for round in 0..<4 {
          let mark = UInt8(10 * round)
          try? engine.write { tx in
            try put(0..<20, mark + 1, tx)
            try tx.rollback()
          }
          states.append(expected(0..<20, mark + 2))
          try engine.write { tx in try put(0..<20, mark + 2, tx) }
          durable = states.count - 1
          if round == 1 { engine.core.appendQuietMark() }
        }
      } catch {
        #expect(disk.isPoweredOff, "\(error)")
      }
      let isCut = disk.isPoweredOff
      disk.powerOff()
      for mode in [CrashMode.allNew, .allOld] + (0..<12).map({ .random(UInt64($0)) }) {
        let found = try content(open(disk.crashImage(mode)))
        let index = try #require(states.lastIndex(of: found), "cut \(cut), \(mode): \(found)")
        #expect(index >= durable, "cut \(cut), \(mode)")
      }
      if !isCut { break }
      cut += 1
    }
    #expect(cut > 25)
  }

  @Test("A checkpoint in the midst of a transaction makes it commit by checkpoint", arguments: [true, false])
  func checkpointInBetween(isRolledBack: Bool) throws {
    let disk = SimulatedDisk()
    let engine = try open(disk)
    try engine.write { tx in _ = try tx.createTree("t", keys: .int64) }
    try engine.write { tx in try put(0..<10, 1, tx) }
    try? engine.write { tx in
      try put(10..<40, 2, tx)
      #expect(engine.core.beginCheckpointInTransaction())
      #expect(engine.core.context.log.isGivenUp)
      try put(40..<80, 2, tx)
      while engine.core.stepCheckpoint() {}
      let image = try content(open(disk.processKillImage()))
      #expect(image == expected(0..<10, 1))
      if isRolledBack { try tx.rollback() }
    }
    var all = expected(0..<10, 1)
    if !isRolledBack { all.merge(expected(10..<80, 2)) { $1 } }
    #expect(try content(engine) == all)
    #expect(try content(open(disk.processKillImage())) == all)
    // One that does not stream goes on as before.
    try engine.write { tx in
      try put(0..<1, 5, tx)
      engine.core.beginCheckpointInTransaction()
      #expect(!engine.core.context.log.isGivenUp)
    }
    all[0] = 5
    #expect(try content(open(disk.processKillImage())) == all)
  }

  @Test("A write that fails in a part stops all writing, and nothing of the transaction is there", arguments: 0..<8)
  func failingPart(index: Int) throws {
    let disk = SimulatedDisk()
    let engine = try open(disk)
    try engine.write { tx in _ = try tx.createTree("t", keys: .int64) }
    try engine.write { tx in try put(0..<3, 1, tx) }
    disk.failNext(.write, of: "/db-log0", skipping: index, with: .errorAfter(40, SystemCode.inputOutput))
    #expect(throws: StorageError.self) { try engine.write { tx in try put(0..<60, 2, tx) } }
    #expect(engine.core.queue.failure != nil)
    #expect(throws: StorageError.self) { try engine.write { tx in try put(0..<1, 3, tx) } }
    #expect(try content(engine) == expected(0..<3, 1))
    for image in [disk.processKillImage(), disk.crashImage(.allOld), disk.crashImage(.random(7))] {
      #expect(try content(open(image)) == expected(0..<3, 1))
    }
  }

  @Test("A burst is marked although parts of a transaction that was rolled back stand behind it (A12)")
  func marksBehindVoidParts() throws {
    let disk = SimulatedDisk()
    let engine = try open(disk)
    try engine.write { tx in _ = try tx.createTree("t", keys: .int64) }
    try engine.write { tx in try put(0..<3, 1, tx) }
    try? engine.write { tx in
      try put(0..<60, 2, tx)
      try tx.rollback()
    }
    // The first look only remembers how far the log was durable.
    while !engine.core.appendQuietMark() {}
    let log = try #require(try Inspector(at: "/db", fileSystem: disk.processKillImage()).log())
    #expect(log.scan.records.last?.header.kind == .mark)
    #expect(log.scan.durableLSN == engine.core.queue.durableLSN)
    #expect(try content(open(disk.processKillImage())) == expected(0..<3, 1))
  }

  @Test("A value longer than a part makes a longer part, and one that was borrowed survives the wait for room")
  func longAndBorrowedValues() throws {
    let disk = SimulatedDisk()
    let options = StorageOptions(pageSize: 4096, cacheSize: 4 << 20, logLimit: 64 << 10)
    let engine = try disk.openEngine(options, segmentByteCount: 64 << 10, partByteCount: 100)
    let tree = try engine.write { tx in try tx.createTree("t", keys: .bytes) }
    try engine.write { tx in
      for index in 0..<20 { try tx.put([UInt8](marked: index, count: 700), for: "key\(index)", in: tree) }
      // A tree's own bytes as key and value.
      for index in 0..<20 {
        let value = try tx.value(for: "key\(index)", in: tree)
        try tx.put(try #require(value), for: "copy\(index)", in: tree)
        try tx.delete("key\(index)", in: tree)
      }
    }
    let again = try disk.processKillImage().openEngine(options)
    try again.read { tx in
      for index in 0..<20 {
        let value = try tx.value(for: "copy\(index)", in: tree)
        #expect(value == [UInt8](marked: index, count: 700))
      }
      let count = try tx.count(of: tree)
      #expect(count == 20)
    }
  }
}
