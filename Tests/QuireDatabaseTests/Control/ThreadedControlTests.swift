// Control sockets: tools that are well-behaved, and others, beside an app that writes.

import Dispatch
import Foundation
import QuireStorage
import QuireTesting
import Synchronization
import Testing

@testable import QuireDatabase

@Suite struct ThreadedControlTests {
  private static let rows = RowCollection<Int, NoMetadata>("rows")
  private let folder: TestFolder
  private let db: Database
  private var path: String { "\(folder.path)-control" }

  init() throws {
    folder = try TestFolder()
    db = try folder.open(Database.Options(durability: .relaxed, logLimit: 1 << 20))
    try Self.fill(db, 0)
  }

  /// Every row has the same number: half of a commit would be seen.
  private static func fill(_ db: Database, _ number: Int) throws {
    try db.write { tx throws in for key in 0..<200 { try tx[rows].set(number, for: "\(key)") } }
  }

  private func client(_ path: String? = nil) throws -> ControlClient {
    try #require(try ControlClient.connect(to: path ?? self.path))
  }

  private func openHeld(_ image: CheckpointImage) throws -> Database {
    try Database(at: folder.path, options: .init(maintainsWhenIdle: false, isReadOnly: true), held: image)
  }

  private func code(_ body: () throws -> Void) -> DatabaseError.Code? {
    do { try body() } catch { return (error as? DatabaseError)?.code }
    return nil
  }

  // MARK: Holding

  @Test func aToolReadsOneCommitWhileTheAppWrites() throws {
    let control = try db.openControl()
    let writer = Writer()
    writer.start { [db] number in
      try Self.fill(db, number)
      if number % 5 == 0 { try db.checkpoint() }
      if number % 20 == 0 { try db.compact() }
    }
    for _ in 0..<4 {
      let app = try client()
      #expect(app.process == getpid())
      let held = try openHeld(try app.hold())
      var seen: Set<Int> = []
      for _ in 0..<20 {
        try held.read { tx throws in for row in tx[Self.rows].rows { seen.insert(row.object) } }
      }
      #expect(seen.count == 1)
      try app.confirm()
      try held.close()
    }
    #expect(writer.stop() > 0)
    control.close()
    try db.close()
  }

  @Test func aHoldIsSeenAndEndsWithItsConnection() throws {
    let control = try db.openControl()
    do {
      let app = try client()
      let image = try app.hold()
      let holder = try #require(db.heldSnapshots.first)
      #expect(holder.connection == "control: pid \(getpid())" && holder.kind == .work)
      #expect(holder.csn == image.metaPage?.csn)
      #expect(code { _ = try app.hold() } == .inUse)
      try app.confirm()
      #expect(code { try self.db.close() } == nil, "closing ends the hold")
      #expect(code { try app.confirm() } == .closed)
    }
    control.close()
    let again = try folder.open()
    let other = try again.openControl()
    do {
      let app = try client()
      _ = try app.hold()
      #expect(!again.heldSnapshots.isEmpty)
    }
    #expect(comesTrue { again.heldSnapshots.isEmpty })
    other.close()
    try again.close()
  }

  @Test func aHoldIsEndedAfterItsTime() throws {
    let control = try db.openControl(options: .init(holdLimit: .milliseconds(50)))
    let app = try client()
    _ = try app.hold()
    #expect(comesTrue { self.db.heldSnapshots.isEmpty })
    #expect(code { try app.confirm() } == .closed)
    control.close()
    try db.close()
  }

  @Test func whoAsksAllTheTimeHoldsNoLonger() throws {
    let control = try db.openControl(options: .init(holdLimit: .milliseconds(50)))
    let app = try client()
    _ = try app.hold()
    #expect(comesTrue { code { _ = try app.run("info") } == .closed })
    #expect(comesTrue { db.heldSnapshots.isEmpty })
    control.close()
    try db.close()
  }

  @Test func whoReadsNothingHoldsNoLonger() throws {
    let control = try db.openControl(options: .init(holdLimit: .milliseconds(500)))
    let peer = try RawPeer(path)
    peer.say("{\"request\":\"hold\"}\n")
    while let line = peer.line(), !line.hasPrefix("{\"done\"") {}
    let began = MonotonicClock.now
    for _ in 0..<2000 where peer.socket.send(Array("{\"request\":\"info\"}\n".utf8)[...], until: 0) != .moved(0) {}
    #expect(comesTrue { db.heldSnapshots.isEmpty })
    #expect(MonotonicClock.now - began < 5_000_000_000)
    control.close()
    try db.close()
  }

  // MARK: Requests

  @Test func whatTheAppDoesForATool() throws {
    let control = try db.openControl()
    let app = try client()
    let info = try app.run("info")
    #expect(info["commit"]?.integer == Int128(db.statistics.publishedCSN.rawValue))
    let before = db.statistics.checkpoints
    _ = try app.run("checkpoint")
    #expect(db.statistics.checkpoints == before + 1)
    var phases: Set<String> = []
    #expect(try app.check(limit: 10) { phase, _, _ in phases.insert(phase) } == [])
    _ = try app.run("compact")
    #expect(code { _ = try app.run("drop everything") } == .invalidOption)
    // The connection goes on.
    _ = try app.run("info")
    control.close()
    try db.close()
  }

  /// Only the last line of an answer ends it.
  @Test func linesAreToldApart() {
    let entry = ControlAnswer.entry(CheckpointImage.Entry(id: 1, bytes: [1]))
    let progress = ControlAnswer.progress(StorageProgress(phase: .moving, done: 1, total: 2))
    for line in [
      entry, progress, ControlAnswer.defect("d"), ControlAnswer.greeting("/p", FileIdentity(device: 1, inode: 2)),
    ] {
      #expect(line["done"] == nil && line["error"] == nil)
    }
    let path = String(repeating: "\u{2}", count: 4000)
    let long = DatabaseError(.damagedRow, String(repeating: "\u{1}", count: 100_000), path: path)
    let told = ControlAnswer.failed(long)
    #expect(told.json.utf8.count < ControlStream.lineByteCount)
    #expect(ControlAnswer.error(told)?.code == .damagedRow && ControlAnswer.error(told)?.path == path)
  }

  @Test func defectsComeBack() throws {
    let bad = RowCollection<[String: Int], NoMetadata>("bad", coder: .json)
    try db.write { tx throws in
      for number in 0..<5 { try tx[bad].set([:], encoded: [UInt8(ascii: "{"), 1], for: "\(number)") }
    }
    let control = try db.openControl()
    let found = try client().check(limit: 3) { _, _, _ in }
    #expect(found.count == 3 && found.allSatisfy { $0.contains("collection “bad”") }, "\(found)")
    #expect(try client().check(limit: 3, ofPagesAlone: true) { _, _, _ in } == [])
    control.close()
    try db.close()
  }

  @Test func anAppThatHasAnotherFileOpenIsNotAsked() throws {
    let others = try TestFolder()
    let other = try others.open(Database.Options(durability: .relaxed))
    let control = try db.openControl()
    let app = try client()
    try app.checkOpen(folder.path)
    #expect(code { try app.checkOpen(others.path) } == .fileChanged)
    #expect(code { try app.checkOpen("\(others.path)-nowhere") } == .notFound)
    // The app goes on in the file that has another name now.
    try FileManager.default.moveItem(atPath: folder.path, toPath: "\(folder.path)-moved")
    try app.checkOpen("\(folder.path)-moved")
    try FileManager.default.moveItem(atPath: "\(folder.path)-moved", toPath: folder.path)
    control.close()
    try other.close()
    try db.close()
  }

  @Test func aSearchForDefectsCanBeEnded() throws {
    struct Ended: Error {}
    try db.write { tx throws in for key in 200..<1000 { try tx[Self.rows].set(0, for: "\(key)") } }
    var steps = 0
    let found = try DefectSearch(core: db.core, limit: 10).run { steps += 1 }
    #expect(found.isEmpty && steps == 3)
    #expect(throws: Ended.self) { try DefectSearch(core: db.core, limit: 10).run { throw Ended() } }
    try db.close()
  }

  // MARK: Hostile peers

  @Test func whatIsNoRequestIsRefused() throws {
    let control = try db.openControl()
    let peer = try RawPeer(path)
    #expect(try #require(peer.line()).contains("quire control"))
    let deep = String(repeating: "[", count: 20_000)
    for text in ["", "hello", "[]", "{\"request\":7}", "{\"request\":\"hold\"", "{}", "\u{0}\u{1}", deep] {
      peer.say("\(text)\n")
      #expect(peer.error() == .invalidOption, "\(text.prefix(20))")
    }
    peer.say([0xff, 0xfe, UInt8(ascii: "\n")])
    #expect(peer.error() == .invalidOption)
    peer.say("{\"request\":\"confirm\"}\n")
    #expect(peer.error() == .closed)
    // A line in three parts, and two in one.
    for part in ["{\"requ", "est\":\"in", "fo\"}\n{\"request\":\"info\"}\n"] { peer.say(part) }
    #expect(try #require(peer.line()).hasPrefix("{\"done\""))
    #expect(try #require(peer.line()).hasPrefix("{\"done\""))
    // Without an end, no more than a line is ever kept.
    _ = peer.say([UInt8](repeating: UInt8(ascii: "a"), count: 1 << 20))
    #expect(peer.error() == .invalidOption && peer.line() == nil)
    control.close()
    try db.close()
  }

  @Test func randomBytesHarmNobody() throws {
    let control = try db.openControl()
    var random = SeededRandom(seed: 28)
    for _ in 0..<30 {
      let peer = try RawPeer(path)
      let count = Int(random.next() % 300)
      peer.say((0..<count).map { _ in UInt8(truncatingIfNeeded: random.next()) })
      if random.next() % 2 == 0 { peer.say("\n") }
      // And goes, with half a line said, and nothing read.
    }
    #expect(comesTrue { (try? ControlClient.connect(to: self.path)?.run("info")) != nil })
    control.close()
    try db.close()
  }

  @Test func whoReadsNothingKeepsNobodyFromClosing() throws {
    let control = try db.openControl()
    let peer = try RawPeer(path)
    for _ in 0..<2000 where peer.socket.send(Array("{\"request\":\"info\"}\n".utf8)[...], until: 0) != .moved(0) {}
    let began = MonotonicClock.now
    try Self.fill(db, 1)
    control.close()
    #expect(MonotonicClock.now - began < 5_000_000_000)
    try db.close()
  }

  @Test func noMoreAreServedThanAreToBe() throws {
    let control = try db.openControl(options: .init(connectionLimit: 2))
    let first = try client()
    do {
      let second = try client()
      _ = try second.run("info")
      #expect(code { _ = try ControlClient.connect(to: self.path) } == .limitReached)
    }
    #expect(comesTrue { (try? ControlClient.connect(to: self.path)) != nil })
    _ = try first.run("info")
    control.close()
    try db.close()
  }

  #if os(Linux)
    @Test func aPlaceAmongThoseWhoWaitIsWaitedFor() throws {
      let listener = try LocalSocket.bound(to: path)
      try listener.listen(0)
      var waiting: [LocalSocket] = []
      let error = #expect(throws: SystemError.self) {
        while true { waiting.append(try LocalSocket.connected(to: self.path)) }
      }
      #expect(error?.code == EAGAIN && !waiting.isEmpty)
      DispatchQueue.global().asyncAfter(deadline: .now() + 0.02) { _ = listener.accept() }
      _ = try LocalSocket.connected(to: path, until: MonotonicClock.now + 10_000_000_000)
      try db.close()
    }
  #endif

  // MARK: Closing

  /// Whoever is first: no socket stays of a database that is closed.
  @Test func openingWhileTheDatabaseCloses() throws {
    var db = db
    for _ in 0..<TestSize.trials(240) {
      let (opened, group) = (db, DispatchGroup())
      let control = Latch<ControlSocket?>(nil)
      DispatchQueue.global().async(group: group) {
        let made = try? opened.openControl()
        control.withLock { $0 = made }
      }
      try? opened.close()
      group.wait()
      // Refused where the attempt was in its way.
      try opened.close()
      #expect(!folder.hasFile("test.quire-control"))
      control.withLock { $0 = nil }
      db = try folder.open()
    }
    try db.close()
  }

  @Test func closingWhileToolsAreThere() throws {
    for _ in 0..<10 {
      let control = try db.openControl()
      let clients = try (0..<4).map { _ in try client() }
      for client in clients.prefix(2) { _ = try client.hold() }
      let group = DispatchGroup()
      for _ in 0..<2 { DispatchQueue.global().async(group: group) { control.close() } }
      group.wait()
      for client in clients { #expect(code { _ = try client.run("info") } == .closed) }
      #expect(!folder.hasFile("test.quire-control") && db.heldSnapshots.isEmpty)
    }
    do { _ = try db.openControl() }
    #expect(!folder.hasFile("test.quire-control"), "the socket goes with the object")
    try db.close()
  }

  /// The tool's request waits for the transaction in which the socket is closed.
  @Test func closingInAWriteTransaction() throws {
    let control = try db.openControl()
    let peer = try RawPeer(path)
    try db.write { tx throws in
      try tx[Self.rows].set(1, for: "0")
      peer.say("{\"request\":\"hold\"}\n")
      #expect(comesTrue { db.core.storage.writerLock.waiterCount > 0 })
      control.close()
      #expect(!folder.hasFile("test.quire-control"))
    }
    control.close()
    #expect(db.heldSnapshots.isEmpty)
    try db.close()
  }

  @Test func closingTheDatabaseClosesTheSocket() throws {
    let control = try db.openControl()
    let app = try client()
    _ = try app.hold()
    try db.close()
    #expect(!folder.hasFile("test.quire-control"))
    #expect(code { try app.confirm() } == .closed)
    #expect(code { _ = try self.db.openControl() } == .closed)
    control.close()
  }
}
