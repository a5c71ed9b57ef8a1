// What the log says of slow transactions and of snapshots that are held for long, and who holds which.

import Foundation
import Logging
import QuireDatabase
import QuireTesting
import Synchronization
import Testing

@Suite struct DiagnosticsTests {
  /// A line of the log.
  struct Line: Sendable {
    let message: String
    let metadata: [String: String]
  }

  struct Handler: LogHandler {
    let lines: Shared<[Line]>
    var metadata: Logger.Metadata = [:]
    var logLevel = Logger.Level.info
    subscript(metadataKey key: String) -> Logger.MetadataValue? {
      get { metadata[key] }
      set { metadata[key] = newValue }
    }

    func log(event: LogEvent) {
      let metadata = (event.metadata ?? [:]).mapValues { "\($0)" }
      lines.withLock { $0.append(Line(message: "\(event.level) \(event.message)", metadata: metadata)) }
    }
  }

  private struct Refusal: Error {}

  let folder: TestFolder
  let lines = Shared<[Line]>([])
  let db: Database

  init() throws {
    folder = try TestFolder()
    var options = Self.options(lines)
    options.slowTransactionThreshold = .zero
    options.heldSnapshotThreshold = .zero
    db = try folder.open(options)
    lines.withLock { $0 = [] }
  }

  private static func options(_ lines: Shared<[Line]>) -> Database.Options {
    let logger = Logger(label: "test") { _ in Handler(lines: lines) }
    return Database.Options(durability: .relaxed, logger: logger, label: "the library")
  }

  private func taken(_ kind: String) -> [Line] { lines.withLock { $0.filter { $0.metadata["kind"] == kind } } }

  // MARK: Slow transactions

  @Test func slowWritesAreLoggedWithTheirPlace() throws {
    let connection = db.makeConnection(Connection.Options(name: "import"))
    let line = "\(#line + 1)"
    try connection.write { tx throws in
      for key in ["a", "b", "c"] { try tx[.texts("t")].set("v", for: key) }
      try? tx.savepoint {
        try tx[.texts("t")].set("v", for: "undone")
        throw Refusal()
      }
    }
    let found = try #require(taken("write").first)
    #expect(taken("write").count == 1 && found.message.hasPrefix("warning A write transaction took long"))
    #expect(found.metadata["at"] == "QuireDatabaseTests/DiagnosticsTests.swift:\(line)")
    #expect(found.metadata["database"] == "the library" && found.metadata["connection"] == "import")
    // The one that was undone is none.
    #expect(found.metadata["changes"] == "3" && found.metadata["error"] == nil)
    for part in ["duration", "waiting", "closure", "commit"] {
      #expect(found.metadata[part]?.hasSuffix(" seconds") == true, "\(part): \(found.metadata[part] ?? "none")")
    }
  }

  /// Wraps `write`, and is not to blame.
  private func change(
    fileID: StaticString = #fileID, line: UInt = #line, _ body: (WriteTransaction) throws -> Void
  ) throws {
    try db.write(at: CallSite(fileID: fileID, line: line), body)
  }

  @Test func wrappersPassOnTheirPlace() throws {
    let lines = [#line + 1, #line + 2].map { "QuireDatabaseTests/DiagnosticsTests.swift:\($0)" }
    try change { tx throws in try tx[.texts("t")].set("v", for: "k") }
    try Note(id: "n1").save(in: db)
    #expect(taken("write").map { $0.metadata["at"] } == lines)
    #expect(try Note.all(in: db).count == 1)
    #expect(taken("read").first?.metadata["at"]?.hasPrefix("QuireDatabaseTests/DiagnosticsTests.swift:") == true)
  }

  private struct Note: Persistable {
    static let collection = RowCollection<Note, NoMetadata>("notes")
    var id: String
  }

  @Test func slowWritesThatFailAreLoggedWithTheirError() async throws {
    await #expect(throws: Refusal.self) { try await db.write { _ -> Void in throw Refusal() } }
    let found = try #require(taken("write").first)
    #expect(found.metadata["error"]?.contains("Refusal") == true && found.metadata["changes"] == "0")
    #expect(found.metadata["connection"] == nil)
  }

  @Test func slowReadsOfAllKindsAreLogged() async throws {
    try await db.write { tx in try tx[.texts("t")].set("v", for: "k") }
    _ = try await db.read { tx in tx.count }
    #expect(taken("read").count == 1)
    let pin = try db.pin()
    _ = try await pin.read { tx in tx.count }
    #expect(taken("read of a pinned snapshot").count == 1)
    var iterator = db.observe { tx in tx.count }.makeAsyncIterator()
    _ = try await iterator.next()
    #expect(taken("observed read").count == 1)
    for line in lines.withLock({ $0 }) {
      #expect(line.metadata["at"]?.hasPrefix("QuireDatabaseTests/DiagnosticsTests.swift:") == true)
    }
  }

  @Test(arguments: [Duration?.none, .seconds(3600)]) func othersAreNotLogged(_ threshold: Duration?) async throws {
    let folder = try TestFolder()
    var options = Self.options(lines)
    options.slowTransactionThreshold = threshold
    let db = try folder.open(options)
    try await db.write { tx in try tx[.texts("t")].set("v", for: "k") }
    _ = try await db.read { tx in tx.count }
    #expect(lines.withLock { $0.isEmpty })
  }

  // MARK: Held snapshots

  @Test func heldSnapshotsSayWhoHoldsThem() throws {
    #expect(db.heldSnapshots.isEmpty && db.oldestSnapshot == nil)
    try db.write { tx throws in try tx[.texts("t")].set("1", for: "k") }
    let pinLine = #line + 1
    let pin = try db.pin()
    try db.write { tx throws in try tx[.texts("t")].set("2", for: "k") }
    let connection = db.makeConnection(Connection.Options(name: "screen"))
    let readLine = #line + 1
    let held = try connection.read { _ in db.heldSnapshots }
    #expect(held.map(\.kind) == [.pin, .read] && held.map(\.connection) == [nil, "screen"])
    #expect(held.map(\.line) == [pinLine, readLine])
    #expect(held.allSatisfy { $0.fileID == "QuireDatabaseTests/DiagnosticsTests.swift" && $0.age >= .zero })
    #expect(held[0].csn == pin.csn && held[0].csn < held[1].csn)
    #expect("\(held[1])".contains("on “screen”"))
    let oldest = try #require(db.oldestSnapshot)
    #expect(oldest.csn == pin.csn && db.statistics.oldestCSN == pin.csn && db.heldSnapshots.count == 1)
    try pin.advance()
    #expect(db.oldestSnapshot?.csn == db.statistics.publishedCSN && db.oldestSnapshot?.line == pinLine)
  }

  @Test func whatWasReleasedIsHeldByNobody() async throws {
    try await db.write { tx in try tx[.texts("t")].set("1", for: "k") }
    do { _ = try db.pin() }
    // More at once than memory is kept for.
    try await withThrowingTaskGroup(of: Int.self) { group in
      for _ in 0..<20 { group.addTask { [db] in try await db.read { tx in tx.count } } }
      for try await count in group { #expect(count == 1) }
    }
    await #expect(throws: Refusal.self) { try await db.read { _ -> Void in throw Refusal() } }
    #expect(db.heldSnapshots.isEmpty && db.statistics.readers == 0)
  }

  @Test func backupsAreAmongThem() throws {
    try db.write { tx throws in try tx[.texts("t")].set("1", for: "k") }
    let seen = Shared([HeldSnapshot]())
    try db.backup(to: folder.path + ".copy") { [db] _ in seen.withLock { $0 = db.heldSnapshots } }
    let work = try #require(seen.withLock { $0.first })
    #expect(work.kind == .work && work.fileID == "quire.backup")
    #expect(db.heldSnapshots.isEmpty)
    try FileManager.default.removeItem(atPath: folder.path + ".copy")
  }

  @Test func heldSnapshotsAreReportedOnce() throws {
    for value in 0..<200 { try db.write { tx throws in try tx[.texts("t")].set("v", for: "k\(value)") } }
    try db.checkpoint()
    let line = "\(#line + 1)"
    let pin = try db.pin()
    for value in 0..<200 { try db.write { tx throws in try tx[.texts("t")].set("w", for: "k\(value)") } }
    try db.checkpoint()
    for value in 0..<20 { try db.write { tx throws in try tx[.texts("t")].set("x", for: "k\(value)") } }
    let found = taken("pin")
    #expect(found.count == 1)
    #expect(found.first?.message.hasPrefix("warning A snapshot is held for long") == true)
    #expect(found.first?.metadata["at"] == "QuireDatabaseTests/DiagnosticsTests.swift:\(line)")
    #expect(found.first?.metadata["commit"] == "\(pin.csn.rawValue)")
    #expect(found.first?.metadata["pages"].flatMap { Int($0) } ?? 0 > 0)
  }

  @Test func snapshotsThatKeepNothingAreNotReported() throws {
    var options = Self.options(lines)
    options.slowTransactionThreshold = nil
    let folder = try TestFolder()
    let db = try folder.open(options)
    let pin = try db.pin()
    for value in 0..<50 { try db.write { tx throws in try tx[.texts("t")].set("v", for: "k\(value)") } }
    // Not for so long.
    #expect(lines.withLock { $0.isEmpty } && pin.csn < db.statistics.publishedCSN)
  }
}
