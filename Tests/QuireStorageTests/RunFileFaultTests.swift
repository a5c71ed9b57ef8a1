// What the disk may do to the temporary file of a bulk load, call by call: the load fails with an error that says so,
// nothing of it is committed, nothing stays behind, and the engine works on.

import QuireStorage
import QuireTesting
import Testing

/// A load that is large enough for runs, and what is in the tree before it.
private enum LoadedTree: CaseIterable {
  case empty
  case withEntries
}

@Suite struct RunFileFaultTests {
  private static let runPath = "/db-run0"
  private static let entryCount = 900
  private static let options = StorageOptions(pageSize: 512, cacheSize: 256 << 10, logLimit: 256 << 10)
  /// Runs of the smallest size: 16 pages.
  private static let load = BulkLoadOptions(bufferByteCount: 0)

  private struct Bench {
    let disk = SimulatedDisk()
    let engine: StorageEngine
    let tree: Tree

    init(_ kind: LoadedTree) throws {
      engine = try disk.openEngine(RunFileFaultTests.options)
      tree = try engine.write { tx in
        let tree = try tx.createTree("t", keys: .int64)
        guard kind == .withEntries else { return tree }
        for key in 0..<Int64(50) { try tx.put([1], for: key * 20, in: tree) }
        return tree
      }
      try engine.checkpoint()
    }

    var count: Int { get throws { try engine.read { tx in try tx.count(of: tree) } } }

    func load(_ tx: borrowing WriteTransaction) throws {
      try tx.bulkLoad(into: tree, options: RunFileFaultTests.load) { loader in
        for number in 0..<Int64(RunFileFaultTests.entryCount) {
          try loader.append([UInt8](marked: Int(number), count: 20), for: number &* 7919 % 1009)
        }
      }
    }

    /// The engine must load as if nothing had happened, and leave nothing behind.
    func prove(_ text: String) throws {
      disk.capacity = nil
      try engine.write { tx in try load(tx) }
      try require(disk.names.allSatisfy { !$0.contains("-run") }, "\(text): \(disk.names)")
      let count = try count
      try require(count >= RunFileFaultTests.entryCount, "\(text): \(count) entries")
      try engine.walkEverything()
      let open = disk.openFileCount()
      try engine.close()
      // The data file and the two of the log at the most: no temporary file has stayed open.
      try require(open <= 3, "\(text): \(open) files were open")
    }
  }

  /// The error that a load ends with in a transaction that does not care; nil if it ended well.
  private func loadGoingOverErrors(_ bench: Bench) throws -> (load: StorageError?, commit: StorageError?) {
    var found: StorageError?
    do {
      try bench.engine.write { tx in
        do { try bench.load(tx) } catch let error as StorageError { found = error }
      }
      return (found, nil)
    } catch let error as StorageError {
      return (found, error)
    }
  }

  /// Breaks one call of a kind on the temporary file after the other, until the load no longer makes so many.
  private func breakEachCall(
    _ kind: OperationKind, _ tree: LoadedTree, _ effect: FaultEffect, code: StorageError.Code, atLeast calls: Int
  ) throws {
    var broken = 0
    while true {
      let bench = try Bench(tree)
      let before = try bench.count
      bench.disk.failNext(kind, of: Self.runPath, skipping: broken, with: effect)
      let (error, refusal) = try loadGoingOverErrors(bench)
      guard let error else { break }
      let text = "call \(broken)"
      try require(error.code == code && error.path == Self.runPath, "\(text): \(error)")
      // While entries were taken nothing had changed, so that the rest may be committed; later it cannot be.
      try require(refusal == nil || refusal?.code == .transactionFailed, "\(text): \(String(describing: refusal))")
      try require(kind == .write || kind == .open || kind == .unlink || refusal != nil, "\(text) was committed")
      let after = try bench.count
      try require(after == before, "\(text): \(after) entries")
      broken += 1
      try bench.prove(text)
    }
    #expect(broken >= calls, "only \(broken) calls could be broken")
  }

  @Test("Each write of the temporary file fails", arguments: LoadedTree.allCases)
  private func writesFail(tree: LoadedTree) throws {
    try breakEachCall(.write, tree, .error(SystemCode.inputOutput), code: .inputOutput, atLeast: 5)
    try breakEachCall(.write, tree, .errorAfter(100, SystemCode.noSpace), code: .diskFull, atLeast: 5)
  }

  @Test("Each read of the temporary file fails", arguments: LoadedTree.allCases)
  private func readsFail(tree: LoadedTree) throws {
    try breakEachCall(.read, tree, .error(SystemCode.inputOutput), code: .inputOutput, atLeast: 5)
  }

  @Test("The temporary file cannot be made, or keeps its name")
  func cannotBeMade() throws {
    try breakEachCall(.open, .empty, .error(SystemCode.tooManyFiles), code: .inputOutput, atLeast: 1)
    // The first attempt is made before the file is, and goes unheeded.
    let bench = try Bench(.empty)
    bench.disk.failNext(.unlink, of: Self.runPath, skipping: 1, with: .error(SystemCode.inputOutput))
    let (error, _) = try loadGoingOverErrors(bench)
    #expect(error?.code == .inputOutput)
    #expect(bench.disk.names.contains(Self.runPath))
    try bench.prove("a name that stayed")
  }

  @Test("Short reads and writes go unnoticed", arguments: [1, 7, 100])
  func shortCalls(count: Int) throws {
    let bench = try Bench(.withEntries)
    for skipped in 0..<6 {
      bench.disk.failNext(.write, of: Self.runPath, skipping: skipped, with: .short(count))
      bench.disk.failNext(.read, of: Self.runPath, skipping: skipped, with: .short(count))
    }
    try bench.prove("short calls")
  }

  @Test("A disk that is full for the temporary file and has room for the rest", arguments: LoadedTree.allCases)
  private func diskIsFull(tree: LoadedTree) throws {
    for room in stride(from: 0, to: 40 << 10, by: 3000) {
      let bench = try Bench(tree)
      let before = try bench.count
      bench.disk.capacity = bench.disk.usedByteCount + room
      do {
        try bench.engine.write { tx in try bench.load(tx) }
      } catch let error as StorageError {
        try require(error.code == .diskFull, "room \(room): \(error)")
        let after = try bench.count
        try require(after == before, "room \(room): \(after) entries")
        // A full disk does not stop what needs no new space for its entries.
        bench.disk.capacity = bench.disk.usedByteCount + (64 << 10)
        try bench.engine.write { tx in try tx.put([9], for: Int64(-1), in: bench.tree) }
      }
      try bench.prove("room \(room)")
    }
  }

  @Test("A bit that flips in the temporary file, and a file that is cut", arguments: LoadedTree.allCases)
  private func fileIsDamaged(tree: LoadedTree) throws {
    // Header bytes of two blocks, entries, and a file that ends too early.
    let block = 16 * Self.options.pageSize
    let places = Array(0..<16) + [16, 17, 21, 30, 3000, block, block + 8, 2 * block + 100]
    for place in places {
      let bench = try Bench(tree)
      let before = try bench.count
      let error = #expect(throws: StorageError.self) {
        try bench.engine.write { tx in
          try tx.bulkLoad(into: bench.tree, options: Self.load) { loader in
            for number in 0..<Int64(Self.entryCount) {
              try loader.append([UInt8](marked: Int(number), count: 20), for: number &* 7919 % 1009)
            }
            let isDone =
              place == 30
              ? bench.disk.cutUnnamedFile(to: block + 40)
              : bench.disk.flipBitOfUnnamedFile(place % 8, at: place)
            try require(isDone, "there is no byte \(place)")
          }
        }
      }
      #expect(error?.code == .inputOutput && error?.path == Self.runPath, "\(place): \(String(describing: error))")
      #expect(try bench.count == before)
      try bench.prove("byte \(place)")
    }
  }

  @Test("A body that goes over the error of the temporary file gets no load without the entries")
  func bodyGoesOverErrors() throws {
    for skipped in 0..<8 {
      let bench = try Bench(.withEntries)
      bench.disk.failNext(.write, of: Self.runPath, skipping: skipped, with: .error(SystemCode.inputOutput))
      var refused = 0
      let error = #expect(throws: StorageError.self) {
        try bench.engine.write { tx in
          try tx.bulkLoad(into: bench.tree, options: Self.load) { loader in
            for number in 0..<Int64(Self.entryCount) {
              do throws(StorageError) {
                try loader.append([UInt8](marked: 1, count: 20), for: number &* 7919 % 1009)
              } catch { refused += 1 }
            }
          }
        }
      }
      #expect(error?.code == .inputOutput)
      #expect(try bench.count == 50)
      // The last run is written when the body has returned.
      #expect(refused > 0 || skipped > 3, "skipped \(skipped)")
      try bench.prove("write \(skipped)")
    }
  }
}
