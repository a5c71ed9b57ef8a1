// Opening a database together with its extensions: order, progress, and an end on demand.

import Logging
import QuireDatabase
import QuireStorage
import QuireTesting
import Testing

@Suite struct OpeningExtensionTests {
  private struct Stop: Error {}
  let folder: TestFolder

  init() throws { folder = try TestFolder() }

  private func fill(_ db: Database, _ count: Int) throws {
    try db.write { tx throws in
      for number in 0..<count {
        try tx[.texts("t")].set("\(UnicodeScalar(UInt8(97 + number % 26)))\(number)", for: "k\(number)")
      }
    }
  }

  private func dependent() -> ValueIndex<String, String> {
    var index = letterIndex("dependent")
    index.dependencies = ["letters"]
    return index
  }

  @Test("Extensions are registered in the order of the list, and each step says of which it is")
  func order() throws {
    let first = try folder.open()
    try fill(first, 3000)
    try first.close()
    var told: [OpeningProgress] = []
    let db = try Database.open(at: folder.path, extensions: [letterIndex(), dependent()]) { told.append($0) }
    #expect(try db.extensions().map(\.name) == ["letters", "dependent"])
    let names = told.compactMap(\.extensionName)
    #expect(names.first == "letters" && names.last == "dependent")
    #expect(told.allSatisfy { $0.readyCount == ($0.extensionName == "letters" ? 0 : 1) && $0.extensionCount == 2 })
    #expect(told.last?.work.fraction == 1)
    #expect(told.last.map { "\($0)" } == "“dependent” (2 of 2), building: 3000 of 3000")
  }

  @Test("In the wrong order the opening fails, and leaves the database closed")
  func wrongOrder() throws {
    #expect(
      errorCode { _ = try Database.open(at: folder.path, extensions: [dependent(), letterIndex()]) }
        == .missingDependency)
    let db = try Database.open(at: folder.path, extensions: [letterIndex(), dependent()])
    #expect(try db.extensions().allSatisfy(\.isRegistered))
  }

  @Test("What progress throws ends the opening, and the next one goes on with the building from there")
  func stopped() throws {
    let first = try folder.open()
    try fill(first, 5000)
    try first.close()
    var done = 0
    #expect(throws: Stop.self) {
      _ = try Database.open(at: folder.path, extensions: [letterIndex()]) { progress in
        done = progress.work.done
        throw Stop()
      }
    }
    #expect(done > 0 && done < 5000)
    var next: Int?
    let db = try Database.open(at: folder.path, extensions: [letterIndex()]) { next = next ?? $0.work.done }
    #expect(try #require(next) > done)
    #expect(try db.read { tx in try tx.access(to: letterIndex()).all().count } == 5000)
  }

  @Test("Awaited, it runs on a thread of its own, and cancelling the task ends it")
  func awaited() async throws {
    let first = try folder.open()
    try fill(first, 5000)
    try first.close()
    let (path, steps) = (folder.path, Recorder())
    let stopped = Task {
      try await Database.open(at: path, extensions: [letterIndex()]) { progress in
        steps.append("\(progress)")
        withUnsafeCurrentTask { task in #expect(task?.unownedTaskExecutor != nil) }
        while steps.values.count == 1 { steps.append("waits for the cancellation") }
      }
    }
    while steps.values.isEmpty { await Task.yield() }
    stopped.cancel()
    let outcome = await stopped.result
    // It may have been through already.
    if case .failure(let error) = outcome { #expect(error is CancellationError) } else { try outcome.get().close() }
    let db = try await Database.open(at: path, extensions: [letterIndex()])
    #expect(try await db.read { tx in try tx.access(to: letterIndex()).all().count } == 5000)
  }

  @Test("Extensions that the list does not name stay as they are, and the logger is told")
  func forgotten() throws {
    let first = try Database.open(at: folder.path, extensions: [letterIndex(), letterIndex("other")])
    try fill(first, 10)
    try first.close()
    let lines = Shared<[DiagnosticsTests.Line]>([])
    let options = Database.Options(
      logger: Logger(label: "quire") { _ in DiagnosticsTests.Handler(lines: lines) })
    let db = try Database.open(at: folder.path, options: options, extensions: [letterIndex()])
    #expect(lines.withLock { $0.map { $0.metadata["extensions"] } } == ["other"])
    let other = try #require(try db.extensions().first { $0.name == "other" })
    #expect(!other.isRegistered && other.state == .ready)
    try db.write { tx in try tx[.texts("t")].set("new", for: "new") }
    #expect(try db.extensions().first { $0.name == "other" }?.state == .stale)
  }

  @Test("In memory, extensions are there from the first transaction on")
  func inMemory() throws {
    let db = try Database.inMemory(extensions: [letterIndex(), dependent()])
    try db.write { tx in try tx[.texts("t")].set("a", for: "k") }
    #expect(try db.read { tx in try tx.access(to: dependent()).all().count } == 1)
  }

  // MARK: Recovery

  /// What a killed process has left, with a log to be replayed.
  private func killed() throws -> SimulatedDisk {
    let disk = SimulatedDisk()
    let db = try open(disk) { _ in }
    var random = SeededRandom(seed: 1)
    for number in 0..<40 {
      try db.write { tx throws in
        for row in 0..<10 {
          let text = (0..<250).map { _ in String(random.next(), radix: 36) }.joined()
          try tx[.texts("t")].set(text, for: "\(number).\(row)")
        }
      }
    }
    return disk.processKillImage()
  }

  private func open(_ disk: SimulatedDisk, _ progress: (OpeningProgress) throws -> Void) throws -> Database {
    // So long that no checkpoint comes before the end.
    var environment = StorageEnvironment(
      fileSystem: disk, scheduling: .stepped, initialSegmentByteCount: 16 << 20)
    environment.restingSegmentByteCount = 16 << 20
    return try Database.open(
      at: "/db", options: Database.Options(maintainsWhenIdle: false), environment: environment, extensions: [],
      progress: progress)
  }

  @Test("The replay of a log tells how far it has come, and reaches its end")
  func replay() throws {
    var told: [OpeningProgress] = []
    let db = try open(try killed()) { told.append($0) }
    #expect(try db.read { tx in tx[.texts("t")].count } == 400)
    #expect(told.count > 4 && told.allSatisfy { $0.work.phase == .recovering && $0.extensionName == nil })
    #expect(told.map(\.work.done) == told.map(\.work.done).sorted())
    #expect(told.first?.work.done == 0 && told.last?.work.fraction == 1)
    #expect(try #require(told.last?.work.total) > 1 << 20)
  }

  @Test(
    "A replay that is ended, wherever it is, leaves everything to the next opening",
    .enabled(if: TestSize.hasSlowTests, "slow"))
  func stoppedReplay() throws {
    let disk = try killed()
    var count = 0
    _ = try open(disk.processKillImage()) { _ in count += 1 }
    for last in TestSize.some(1...count, of: 6) {
      let image = disk.processKillImage()
      var told = 0
      #expect(throws: Stop.self) {
        _ = try open(image) { _ in
          told += 1
          if told == last { throw Stop() }
        }
      }
      let db = try open(image) { _ in }
      #expect(try db.read { tx in tx[.texts("t")].count } == 400)
      try db.verify()
    }
  }

  @Test("Nothing is told of a file that was closed")
  func closed() throws {
    try Database.open(at: folder.path).close()
    var count = 0
    _ = try Database.open(at: folder.path) { _ in count += 1 }
    #expect(count == 0)
  }
}
