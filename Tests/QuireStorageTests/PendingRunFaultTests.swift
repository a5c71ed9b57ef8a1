// What the disk may do to the runs of puts that wait, call by call: the caller is told, the transaction can only be
// rolled back, nothing of the database has changed, nothing stays behind, and the engine works on.

import QuireStorage
import QuireTesting
import Testing

@Suite("Faults beneath runs of puts that wait") struct PendingRunFaultTests {
  private static let runPath = "/db-run0"
  private static let options = StorageOptions(pageSize: 512, cacheSize: 32 * 512, logLimit: 64 << 10)
  private static let firstCount = Int64(800)
  private static let putCount = Int64(600)
  private static let modulus = Int64(1999)

  private struct Bench {
    let disk = SimulatedDisk()
    let engine: StorageEngine
    let tree: Tree

    init() throws {
      let (firstCount, modulus) = (PendingRunFaultTests.firstCount, PendingRunFaultTests.modulus)
      engine = try Self.open(disk)
      tree = try engine.write { tx in
        let tree = try tx.createTree("t", keys: .int64)
        for number in 0..<firstCount { try tx.put([1], for: number * 7919 % modulus, in: tree) }
        return tree
      }
      try engine.checkpoint()
    }

    static func open(_ disk: SimulatedDisk) throws -> StorageEngine {
      try disk.openEngine(PendingRunFaultTests.options, putsBeforeDeferral: 0)
    }

    func fill(_ tx: borrowing WriteTransaction) throws(StorageError) {
      for number in 0..<PendingRunFaultTests.putCount {
        let key = number * 6007 % PendingRunFaultTests.modulus
        try tx.put([UInt8](marked: 2, count: 40), for: key, in: tree)
      }
    }

    /// How many entries there are and how many are of the transaction's making.
    static func contents(_ engine: StorageEngine, _ tree: Tree) throws -> [Int] {
      try engine.read { tx in
        var cursor = try tx.cursor(tree)
        var counts = [try tx.count(of: tree), 0, 0]
        while try cursor.next() {
          counts[1] += 1
          if cursor.valueByteCount == 40 { counts[2] += 1 }
        }
        return counts
      }
    }

    /// The engine must work as if nothing had happened, and leave nothing behind.
    func prove(_ text: String) throws {
      disk.capacity = nil
      let before = engine.core.context.writtenRunCount
      try engine.write { tx in try fill(tx) }
      try require(engine.core.context.writtenRunCount > before, "\(text): no runs were written")
      try require(disk.names.allSatisfy { !$0.contains("-run") }, "\(text): \(disk.names)")
      try require(disk.namelessFileCount() == 0, "\(text): a temporary file is open")
      let found = try Self.contents(engine, tree)
      try require(found == PendingRunFaultTests.after, "\(text): \(found)")
      try engine.verify()
      for broken in [engine.core.store.pool.checkInvariants(), engine.core.allocator.checkInvariants()] {
        try require(broken == nil, "\(text): \(broken ?? "")")
      }
      try engine.close()
    }
  }

  private static let before = [Int(firstCount), Int(firstCount), 0]
  private static var after: [Int] {
    let new = Set((0..<putCount).map { $0 * 6007 % modulus })
    let count = new.union((0..<firstCount).map { $0 * 7919 % modulus }).count
    return [count, count, new.count]
  }

  /// What a transaction that does not care says: the first error of its puts or its question, and that of its commit.
  private func fillGoingOverErrors(
    _ bench: Bench, asks: Bool = false
  ) throws -> (inside: StorageError?, commit: StorageError?) {
    var inside: StorageError?
    do {
      try bench.engine.write { tx in
        do throws(StorageError) {
          try bench.fill(tx)
          if asks { _ = try tx.count(of: bench.tree) }
        } catch { inside = error }
      }
      return (inside, nil)
    } catch let error as StorageError {
      return (inside, error)
    }
  }

  /// How many calls of a kind a transaction makes on the temporary file if none fails.
  private func callCount(_ kind: OperationKind, asks: Bool) throws -> Int {
    let bench = try Bench()
    bench.disk.isTracing = true
    let (inside, commit) = try fillGoingOverErrors(bench, asks: asks)
    #expect(inside == nil && commit == nil)
    return bench.disk.trace.filter { $0.operation.kind == kind && $0.operation.path == Self.runPath }.count
  }

  /// Breaks one call of a kind on the temporary file after the other, until the transaction no longer makes so many; in
  /// the short size the first one, one in the middle and the last one.
  private func breakEachCall(
    _ kind: OperationKind, _ effect: FaultEffect, code: StorageError.Code, atLeast calls: Int, asks: Bool = false
  ) throws {
    // More than there are, so that the loop ends with the calls.
    let numbers = try TestSize.isFull ? Array(0..<100_000) : TestSize.some(0..<callCount(kind, asks: asks), of: 3)
    var broken = 0
    for number in numbers {
      let bench = try Bench()
      bench.disk.failNext(kind, of: Self.runPath, skipping: number, with: effect)
      let (inside, commit) = try fillGoingOverErrors(bench, asks: asks)
      guard let first = inside ?? commit else { break }
      let text = "call \(number)"
      try require(first.code == code && first.path == Self.runPath, "\(text): \(first)")
      try require(first.message.contains("."), "\(text): \(first) has no remedy")
      try require(inside == nil || commit?.code == .transactionFailed, "\(text): \(String(describing: commit))")
      try require(commit != nil, "\(text) was committed")
      try require(bench.disk.namelessFileCount() == 0, "\(text): a temporary file is open")
      let found = try Bench.contents(bench.engine, bench.tree)
      try require(found == Self.before, "\(text): \(found)")
      broken = number + 1
      try bench.prove(text)
    }
    #expect(broken >= calls, "only \(broken) calls could be broken")
  }

  @Test("Each write of the temporary file fails", arguments: [false, true]) func writesFail(asks: Bool) throws {
    try breakEachCall(.write, .error(SystemCode.inputOutput), code: .inputOutput, atLeast: 10, asks: asks)
    try breakEachCall(.write, .errorAfter(100, SystemCode.noSpace), code: .diskFull, atLeast: 10, asks: asks)
  }

  @Test("Each read of the temporary file fails", arguments: [false, true]) func readsFail(asks: Bool) throws {
    try breakEachCall(.read, .error(SystemCode.inputOutput), code: .inputOutput, atLeast: 10, asks: asks)
  }

  @Test("The temporary file cannot be made, or keeps its name") func cannotBeMade() throws {
    try breakEachCall(.open, .error(SystemCode.tooManyFiles), code: .inputOutput, atLeast: 1)
    let bench = try Bench()
    // The first attempt is made before the file is, and goes unheeded.
    bench.disk.failNext(.unlink, of: Self.runPath, skipping: 1, with: .error(SystemCode.inputOutput))
    let (inside, _) = try fillGoingOverErrors(bench)
    #expect(inside?.code == .inputOutput)
    #expect(bench.disk.names.contains(Self.runPath))
    try bench.prove("a name that stayed")
  }

  @Test("Short reads and writes go unnoticed", arguments: [1, 7, 100]) func shortCalls(count: Int) throws {
    let bench = try Bench()
    for skipped in 0..<12 {
      bench.disk.failNext(.write, of: Self.runPath, skipping: skipped, with: .short(count))
      bench.disk.failNext(.read, of: Self.runPath, skipping: skipped, with: .short(count))
    }
    try bench.prove("short calls")
  }

  @Test("Each call on the data file and the log fails", arguments: [OperationKind.read, .write])
  func otherFilesFail(kind: OperationKind) throws {
    var broken = 0
    for number in TestSize.isFull ? Array(0..<40) : [0, 1, 2, 3, 9, 17, 33] {
      let bench = try Bench()
      let faults = bench.disk.counters.faultCount
      let name = bench.disk.names.first { $0 == "/db" }
      bench.disk.failNext(
        kind, of: number % 2 == 0 ? name : nil, skipping: number / 2 * 7, with: .error(SystemCode.inputOutput))
      let (inside, commit) = try fillGoingOverErrors(bench, asks: number % 3 == 0)
      let text = "\(kind) \(number)"
      guard bench.disk.counters.faultCount > faults else { break }
      try require(inside == nil || commit != nil, "\(text) was committed although \(String(describing: inside))")
      try require(bench.disk.namelessFileCount() == 0, "\(text): a temporary file is open")
      let expected =
        commit == nil
        ? [Self.after] : commit?.code == .outcomeUnknown ? [Self.before, Self.after] : [Self.before]
      do { try bench.engine.close() } catch {}
      let engine = try Bench.open(bench.disk)
      try engine.verify()
      let found = try Bench.contents(engine, bench.tree)
      try require(expected.contains(found), "\(text): \(found), told \(String(describing: commit))")
      try engine.close()
      broken = number + 1
    }
    #expect(broken > 3, "only \(broken) calls could be broken")
  }

  @Test("A disk that gets full anywhere") func diskIsFull() throws {
    var refused = 0
    for room in TestSize.some(Array(stride(from: 0, to: 120 << 10, by: 6000)), of: 6) {
      let bench = try Bench()
      bench.disk.capacity = bench.disk.usedByteCount + room
      let (inside, commit) = try fillGoingOverErrors(bench)
      let found = try Bench.contents(bench.engine, bench.tree)
      if let first = inside ?? commit {
        refused += 1
        try require(first.code == .diskFull, "room \(room): \(first)")
        try require(found == Self.before, "room \(room): \(found)")
      } else {
        try require(found == Self.after, "room \(room): \(found)")
      }
      try require(bench.disk.namelessFileCount() == 0, "room \(room): a temporary file is open")
      try bench.prove("room \(room)")
    }
    // The first two of the short size are the first and the fourth of all.
    #expect(refused > (TestSize.isFull ? 3 : 1))
  }

  @Test("A bit that flips in the temporary file, and a file that is cut") func fileIsDamaged() throws {
    let block = 2 * Self.options.pageSize
    let places = Array(0..<16) + [16, 17, 21, 30, 600, block, block + 8, 2 * block + 100]
    for place in TestSize.isFull ? places : [0, 5, 16, 30, block + 8, 2 * block + 100] {
      let bench = try Bench()
      let error = #expect(throws: StorageError.self) {
        try bench.engine.write { tx in
          try bench.fill(tx)
          let isDone =
            place == 30
            ? bench.disk.cutUnnamedFile(to: block + 40) : bench.disk.flipBitOfUnnamedFile(place % 8, at: place)
          try require(isDone, "there is no byte \(place)")
        }
      }
      #expect(error?.code == .inputOutput && error?.path == Self.runPath, "\(place): \(String(describing: error))")
      #expect(try Bench.contents(bench.engine, bench.tree) == Self.before)
      try bench.prove("byte \(place)")
    }
  }

  @Test("In a savepoint, the savepoint alone is lost") func savepointFails() throws {
    let bench = try Bench()
    try bench.engine.write { tx in
      try tx.put([9], for: Int64(-1), in: bench.tree)
      bench.disk.failNext(.write, of: Self.runPath, skipping: 2, with: .error(SystemCode.noSpace))
      let error = #expect(throws: StorageError.self) { try tx.savepoint { tx in try bench.fill(tx) } }
      #expect(error?.code == .diskFull)
      #expect(bench.disk.namelessFileCount() == 0)
      try bench.fill(tx)
      let value = try tx.value(for: Int64(-1), in: bench.tree)
      #expect(value == [9])
    }
    try bench.engine.verify()
    try bench.engine.close()
  }
}
