// Rewriting rows: what it changes, what nobody notices of it, and how it ends.

import Foundation
import QuireDatabase
import QuireTesting
import Synchronization
import Testing

@Suite struct RewriteTests {
  private struct Stop: Error {}
  let folder: TestFolder

  init() throws { folder = try TestFolder() }

  /// A database that two older versions of the program have written.
  private func openOld(_ count: Int = 200, stepRowCount: Int = 16) throws -> Database {
    for isSecond in [false, true] {
      let db = try folder.open()
      try Tracks.fill(db, 0..<count, isSecond: isSecond)
      try db.close()
    }
    var options = Database.Options(durability: .relaxed)
    options.buildStepRowCount = stepRowCount
    return try folder.open(options)
  }

  private func check(_ tx: ReadTransaction, _ count: Int = 200) throws {
    let rows = tx[Tracks.third()]
    #expect(rows.count == count)
    for number in 0..<count {
      let row = try #require(try rows.row(Tracks.key(number)))
      #expect((row.object, row.metadata) == Tracks.expected(number))
    }
  }

  @Test func rowsOfAllVersionsBecomeTodaysAndStayWhatTheyAre() throws {
    let db = try openOld()
    let before = try db.read { tx in
      try check(tx)
      return (Tracks.versions(tx), tx[Tracks.third()].rows.map(\.rowID))
    }
    #expect(Set(before.0.values) == [0, 1])
    var reports: [Database.Progress] = []
    let result = try db.rewriteRows(of: Tracks.third()) { reports.append($0) }
    #expect(result.checkedCount == 200 && result.rewrittenCount == 200 && result.failedCount == 0)
    #expect(reports.count == 13 && reports.last?.fraction == 1)
    #expect(reports.map(\.done) == reports.map(\.done).sorted() && reports.allSatisfy { $0.total == 200 })
    #expect(reports.allSatisfy { $0.phase == .rewriting } && reports.first?.done == 16)
    try db.read { tx in
      try check(tx)
      #expect(Set(Tracks.versions(tx).values) == [2])
      #expect(tx[Tracks.third()].rows.map(\.rowID) == before.1)
      #expect(Array(tx.rawRows("tracks")).allSatisfy { $0.metadata?.first ?? 1 == 1 })
    }
    try db.checkInvariants()
    try db.close()
    // The upgrades are not needed any more, but for their number.
    let again = try folder.open()
    let strict = RowCollection<Track, Mark>(
      "tracks",
      coder: .binary.upgrading(from: TrackV1.self) { _ in throw Stop() }
        .upgrading(from: TrackV2.self) { _ in throw Stop() },
      metadataCoder: .binary.upgrading(from: MarkV1.self) { _ in throw Stop() })
    #expect(try again.read { tx in tx[strict].rows.map(\.object.title).count } == 200)
  }

  @Test func theSecondTimeNothingIsWritten() throws {
    let db = try openOld()
    try db.rewriteRows(of: Tracks.third(.lz4(above: 100)))
    let (csn, commits) = try db.read { tx in (tx.csn, db.statistics.commits) }
    let result = try db.rewriteRows(of: Tracks.third(.lz4(above: 100)))
    #expect(result.checkedCount == 200 && result.rewrittenCount == 0)
    #expect(try db.read { tx in tx.csn } == csn && db.statistics.commits == commits)
    // Nor is anything of a collection that does not exist.
    let none = try db.rewriteRows(of: .albums)
    #expect(none.checkedCount == 0 && db.statistics.commits == commits)
  }

  /// Extensions, registered or not, pins, streams and older snapshots.
  @Test func nobodyNoticesIt() throws {
    let other = RowCollection<String, String>("other")
    var index = ValueIndex<Track, Mark>("titles", { _ in Tracks.third() }) { track, mark in
      "\(track.title.prefix(9)) \(mark?.percent ?? -1)"
    }
    index.collections = .only(["tracks"])
    var absent = index
    absent.name = "absent"
    try openOld().close()
    var db = try folder.open()
    try db.register(absent)
    try db.close()
    db = try folder.open()
    try db.register(index)
    var hooks = Hooks("hooks")
    let calls = Shared(0)
    hooks.willModify = { _, _, _ in calls.withLock { $0 += 1 } }
    hooks.didModify = { _, _, _ in calls.withLock { $0 += 1 } }
    hooks.didRemove = { _, _ in calls.withLock { $0 += 1 } }
    try db.register(hooks)
    let absentBefore = try #require(try db.extensions().first { $0.name == "absent" })
    let pin = try db.pin()
    let old = try pin.read { tx in Array(tx.rawRows("tracks")) }
    try db.rewriteRows(of: Tracks.third(.lz4(above: 100)))
    #expect(calls.withLock { $0 } == 0)
    try db.read { tx throws in
      let reader = try tx.access(to: index)
      #expect(try reader.all().count == 200)
      #expect(Array(tx.rawRows("tracks")) != old)
    }
    #expect(try db.extensions().first { $0.name == "absent" } == absentBefore)
    try pin.read { tx in
      #expect(Array(tx.rawRows("tracks")) == old)
      try check(tx)
    }
    #expect(try pin.advance().isEmpty)
    try pin.read { tx in #expect(Array(tx.rawRows("tracks")) != old) }
    // A change of somebody else's is told alone.
    try db.write { tx throws in try tx[other].set("x", for: "y") }
    #expect(try pin.advance().flatMap(\.changes.collections) == ["other"])
    try db.checkInvariants()
  }

  @Test func compressionFollowsTheDescription() throws {
    let db = try openOld()
    #expect(try db.rewriteRows(of: Tracks.third(.lz4(above: 100))).rewrittenCount == 200)
    #expect(try db.rewriteRows(of: Tracks.third(.lz4(above: 100))).rewrittenCount == 0)
    let rows = try db.read { tx in Array(tx.rawRows("tracks")) }
    // Only the long ones from now on.
    #expect(try db.rewriteRows(of: Tracks.third(.none)).rewrittenCount == 40)
    #expect(try db.rewriteRows(of: Tracks.third(.lz4(above: 100))).rewrittenCount == 40)
    #expect(try db.rewriteRows(of: Tracks.third(.lz4(above: 1 << 20))).rewrittenCount == 40)
    // What does not get smaller is stored plain, and is not tried for ever.
    #expect(try db.rewriteRows(of: Tracks.third(.lz4(above: 0))).rewrittenCount == 40)
    #expect(try db.rewriteRows(of: Tracks.third(.lz4(above: 0))).rewrittenCount == 0)
    try db.read { tx in
      #expect(Array(tx.rawRows("tracks")) == rows, "the coder's bytes have changed")
      try check(tx)
    }
  }

  // MARK: Failures

  @Test func aRowThatFailsEndsTheWorkWithItsName() throws {
    let db = try openOld(60)
    let broken = Tracks.third(unreadable: [Tracks.title(31)])
    let error = #expect(throws: DatabaseError.self) { try db.rewriteRows(of: broken) }
    #expect(error?.code == .decodingFailed && error?.collection == "tracks" && error?.key == "k31")
    #expect(error?.cause as? Unreadable == Unreadable(title: Tracks.title(31)))
    try db.read { tx in
      try check(tx, 60)
      let versions = Tracks.versions(tx)
      #expect(versions["k31"] == 1 && versions["k0"] == 2)
      // What stood in front of it in the order of keys is done.
      for (key, version) in versions where key < "k31" { #expect(version == 2, "\(key)") }
    }
  }

  @Test func rowsThatFailMayBeSkippedAndAreReported() throws {
    let db = try openOld(60)
    let titles = Set([1, 7, 31, 59].map(Tracks.title))
    let broken = Tracks.third(unreadable: titles)
    let result = try db.rewriteRows(of: broken, skippingFailures: true)
    #expect(result.checkedCount == 60 && result.rewrittenCount == 56 && result.failedCount == 4)
    #expect(result.failures.map(\.key) == ["k1", "k31", "k59", "k7"])
    #expect(result.failures.allSatisfy { $0.collection == "tracks" && $0.cause is Unreadable })
    // Mended, they follow.
    try db.close()
    let again = try folder.open()
    #expect(try again.rewriteRows(of: Tracks.third(), skippingFailures: true).rewrittenCount == 4)
    try again.read { tx in try check(tx, 60) }
  }

  @Test func rowsOfALaterVersionAreNotTouched() throws {
    let db = try openOld(20)
    try db.rewriteRows(of: Tracks.third())
    try db.close()
    let older = try folder.open()
    #expect(errorCode { try older.rewriteRows(of: Tracks.second()) } == .decodingFailed)
    let result = try older.rewriteRows(of: Tracks.second(), skippingFailures: true)
    #expect(result.failedCount == 20 && result.rewrittenCount == 0)
    #expect("\(result.failures[0])".contains("never remove an upgrade"))
    try older.close()
    try folder.open().read { tx in try check(tx, 20) }
  }

  @Test func itIsRefusedWhereNothingCanBeWritten() throws {
    try openOld(20).close()
    let reader = try folder.open(Database.Options(isReadOnly: true))
    #expect(errorCode { try reader.rewriteRows(of: Tracks.third()) } == .readOnly)
    try reader.close()
    let db = try folder.open()
    let code = errorCode { try db.read { _ in _ = try db.rewriteRows(of: Tracks.third()) } }
    #expect(code == .nestedTransaction)
    #expect(errorCode { try db.rewriteRows(of: RowCollection<Track, Mark>("tracks")) } == .decodingFailed)
    #expect(errorCode { try db.rewriteRows(of: Tracks.third()) } == .collectionMismatch)
    try db.close()
    #expect(errorCode { try db.rewriteRows(of: Tracks.third()) } == .closed)
  }

  // MARK: Between steps

  @Test func stoppingKeepsWhatWasDone() async throws {
    let db = try openOld()
    #expect(throws: Stop.self) {
      try db.rewriteRows(of: Tracks.third()) { if $0.done >= 64 { throw Stop() } }
    }
    let done = try synchronously { try db.read { tx in Tracks.versions(tx).values.filter { $0 == 2 }.count } }
    #expect(done == 64)
    let task = Task { try await db.rewriteRows(of: Tracks.third()) { _ in withUnsafeCurrentTask { $0?.cancel() } } }
    task.cancel()
    await #expect(throws: CancellationError.self) { try await task.value }
    let rest = try await db.rewriteRows(of: Tracks.third())
    #expect(rest.checkedCount == 200 && rest.rewrittenCount <= 136)
    try synchronously { try db.read { tx in try check(tx) } }
  }

  @Test func writersGetTheirTurnAndAreNotUndone() throws {
    let db = try openOld()
    var model: [String: Track] = [:]
    for number in 0..<200 { model[Tracks.key(number)] = Tracks.expected(number).0 }
    var step = 0
    try db.rewriteRows(of: Tracks.third()) { _ in
      step += 1
      try db.write { tx throws in
        let rows = tx[Tracks.third()]
        for number in [step * 7, step * 11, 199 - step] {
          let (key, track) = (Tracks.key(number), Track(title: "new \(step)", seconds: number))
          switch number % 3 {
          case 0: model[key] = try rows.remove(key) ? nil : model[key]
          case 1: model[key] = try rows.replace(track, for: key) ? track : model[key]
          default:
            try rows.set(track, for: key)
            model[key] = track
          }
        }
        if step == 5 {
          // The collection goes, and another one comes in its place.
          let kept = Array(rows.rows.prefix(20))
          try rows.removeAll()
          model = [:]
          for row in kept {
            try rows.set(row.object, for: row.key)
            model[row.key] = row.object
          }
        }
      }
    }
    try db.read { tx throws in
      let rows = Dictionary(uniqueKeysWithValues: tx[Tracks.third()].rows.map { ($0.key, $0.object) })
      #expect(rows == model)
      #expect(Set(Tracks.versions(tx).values) == [2])
    }
    try db.checkInvariants()
  }

  private func synchronously<Result>(_ body: () throws -> Result) rethrows -> Result { try body() }
}
