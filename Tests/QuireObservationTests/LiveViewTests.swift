// Views on a screen.

import Foundation
import Observation
import QuireDatabase
import QuireObservation
import QuireTesting
import QuireViews
import Synchronization
import Testing

@MainActor @Suite struct LiveViewTests {
  let folder: TestFolder
  let db: Database
  let byAlbum = LiveViewTests.view("1")

  init() throws {
    folder = try TestFolder()
    db = try folder.open()
    try db.register(byAlbum)
    try db.write { tx throws in
      for number in 100..<200 {
        let song = Song(title: "\(number)", album: number < 190 ? "a1" : "a2")
        try tx[.songs].set(song, metadata: number, for: "s\(number)")
      }
    }
  }

  private static func view(_ version: String) -> AutoView<Song, Int> {
    AutoView("songs.byAlbum", over: .songs, version: version, group: { $0.album }, sortKey: { $0.title })
  }

  private func titles(_ screen: LiveView<Song, Int>, _ section: Int = 0) -> [String?] {
    screen.rows(inSection: section).map { $0.object?.title }
  }

  @Test func showsSectionsAndRows() throws {
    let screen = try LiveView(db, byAlbum, groups: ["a2", "a1"])
    #expect(screen.isReady && screen.isLive && screen.error == nil && screen.changes.isReload)
    #expect(screen.sections.map(\.id) == ["a2", "a1"] && screen.sections.map(\.count) == [10, 90])
    #expect(screen.count == 100 && titles(screen).first == "190" && titles(screen, 1).last == "189")
    #expect(Array(screen.rows(inSection: 2)).isEmpty && screen.row(at: ViewPath(section: 0, row: 10)) == nil)
    let row = try #require(screen.row(at: ViewPath(section: 1, row: 40)))
    #expect(row.key == "s140" && row.metadata == 140 && row.path == ViewPath(section: 1, row: 40))
    #expect(try screen.path(of: RowKey("songs", "s140")) == row.path)
    #expect(try screen.path(of: RowKey("songs", "s")) == nil)
    #expect(Set(screen.rows(inSection: 1).map(\.id)).count == 90)
  }

  @Test func goesOnAndTellsWhatChanged() async throws {
    let screen = try LiveView(db, byAlbum, ViewMappings(byAlbum))
    var list = screen.sections.map { section in titles(screen, section.index) }
    screen.onChanges = { diff in
      do {
        list = try diff.applied(to: list) { path in screen.row(at: path)?.object?.title }
      } catch {
        Issue.record(error)
      }
    }
    try await db.write { tx in
      try tx[.songs].set(Song(title: "000"), for: "new")
      try tx[.songs].update("s150") { $0.album = "a3" }
    }
    try await until { screen.sections.map(\.group) == ["a1", "a2", "a3"] }
    #expect(!screen.changes.isReload && screen.changes.rows.count == 2)
    #expect(list == screen.sections.map { titles(screen, $0.index) } && list[2] == ["150"])
    #expect(screen.sections.map(\.count) == [90, 10, 1] && titles(screen).first == "000")
  }

  @Test func whatDoesNotShowIsNotTold() async throws {
    var mappings = ViewMappings(byAlbum, groups: ["a2"])
    mappings.window["a2"] = .fixed(3)
    let screen = try LiveView(db, byAlbum, mappings, minimumInterval: .zero)
    #expect(titles(screen) == ["190", "191", "192"])
    let rows = screen.rows(inSection: 0)
    let changes = ChangeCounter { _ = (screen.sections, screen.rows(inSection: 0).count, screen.changes) }
    try await db.write { tx in try tx[.songs].set(Song(title: "0"), for: "other") }
    try await db.write { tx in try tx[.songs].remove("s199") }
    try await Task.sleep(for: .milliseconds(20))
    #expect(changes.count == 0 && rows.map { $0.object?.title } == ["190", "191", "192"])
    try await db.write { tx in try tx[.songs].remove("s191") }
    try await until { screen.rows(inSection: 0).map { $0.object?.title } == ["190", "192", "193"] }
    #expect(changes.count == 1)
  }

  private struct Counted: Codable, Sendable {
    static let decoded = Mutex(0)
    let number: Int

    init(number: Int) { self.number = number }

    init(from decoder: any Decoder) throws {
      number = try decoder.singleValueContainer().decode(Int.self)
      Self.decoded.withLock { $0 += 1 }
    }

    func encode(to encoder: any Encoder) throws {
      var container = encoder.singleValueContainer()
      try container.encode(number)
    }
  }

  @Test func onlyPagesThatAreAskedForAreDecoded() async throws {
    let texts = RowCollection<Counted, NoMetadata>("texts")
    let all = AutoView("texts.all", over: [texts], version: "1", grouping: .all(), sorting: .byKey())
    try await db.register(all)
    try await db.write { tx in
      for number in 10000..<20000 { try tx[texts].set(Counted(number: number), for: "\(number)") }
    }
    let before = Counted.decoded.withLock { $0 }
    let screen = try LiveView(db, all, groups: [""])
    #expect(screen.count == 10000 && Counted.decoded.withLock { $0 } == before)
    let rows = screen.rows(inSection: 0)
    #expect(rows[5000].object?.number == 15000 && rows[5001].object?.number == 15001 && rows[4999].key == "14999")
    let pages = Counted.decoded.withLock { $0 } - before
    #expect(pages > 0 && pages <= 2 * LiveRows<Counted, NoMetadata>.pageSize)
    // And what is scrolled past does not stay for ever, and is right when it comes again.
    for row in stride(from: 0, to: 10000, by: 10) { #expect(rows[row].object?.number == row + 10000) }
    #expect(rows[5000].object?.number == 15000)
  }

  @Test func sectionsPutTogetherAndUpsideDown() throws {
    var mappings = ViewMappings(byAlbum, groups: ["a1", "a2"])
    mappings.isReversed["a2"] = true
    let screen = try LiveView(db, byAlbum, mappings)
    #expect(titles(screen, 1) == (190..<200).reversed().map { "\($0)" })
    screen.updateMappings { $0.consolidate(below: 1000, as: "all") }
    #expect(screen.changes.isReload && screen.sections.map(\.group) == ["all"])
    #expect(titles(screen) == (100..<190).map { "\($0)" } + (190..<200).reversed().map { "\($0)" })
  }

  @Test func keptRowsNeverShowOthers() async throws {
    let screen = try LiveView(db, byAlbum, groups: ["a1"])
    let rows = screen.rows(inSection: 0)
    #expect(rows[0].object?.title == "100")
    try await db.write { tx in try tx[.songs].remove("s100") }
    try await until { screen.count == 89 }
    #expect(rows[0].object?.title == "100" && rows.count == 90)
    let failure = rows[80].content
    #expect(throws: DatabaseError.self) { try failure.get() }
    #expect(rows[80].key == nil && rows[80].object == nil && rows[80].path.row == 80)
    #expect(screen.rows(inSection: 0)[0].object?.title == "101")
  }

  @Test("Threads that read rows while the screen goes on get theirs, or none") func threads() async throws {
    let screen = try LiveView(db, byAlbum, ViewMappings(byAlbum, groups: ["a1"]), minimumInterval: .zero)
    for round in 0..<20 {
      let rows = screen.rows(inSection: 0)
      let titles = (round..<90).map { "\($0 + 100)" }
      let readers = Task.detached {
        await withTaskGroup(of: Int.self) { group in
          for start in 0..<4 {
            group.addTask {
              rows.indices.filter { index in
                let row = rows[(index + start * 20) % rows.count]
                if let title = row.object?.title { return title != titles[row.path.row] }
                guard case .failure(let error) = row.content else { return true }
                return (error as? DatabaseError)?.code != .viewRefused
              }.count
            }
          }
          return await group.reduce(0, +)
        }
      }
      try await db.write { tx in try tx[.songs].remove("s\(100 + round)") }
      try await until { screen.count == 89 - round }
      #expect(await readers.value == 0)
    }
  }

  // MARK: Views that come and go

  @Test func waitsForAViewThatIsNotThere() async throws {
    let other = AutoView<Song, Int>("later", over: .songs, version: "1", group: { _ in "" }, sortKey: { $0.title })
    let screen = try LiveView(db, other, ViewMappings(other))
    #expect(!screen.isReady && screen.error == nil && screen.sections.isEmpty && screen.count == 0 && screen.isLive)
    #expect(try screen.path(of: RowKey("songs", "s140")) == nil)
    try await db.register(other)
    try await until { screen.isReady }
    #expect(screen.count == 100 && screen.changes.isReload && screen.rows(inSection: 0)[7].object?.title == "107")
    try await db.unregister(extensionNamed: "later")
    try await until { !screen.isReady }
    #expect(screen.sections.isEmpty && screen.error == nil && screen.changes.isReload)
    try await db.register(other)
    try await until { screen.isReady && screen.count == 100 }
  }

  @Test func waitsForAViewThatIsBeingBuilt() async throws {
    let gate = Gate()
    let isFirst = Mutex(true)
    let other = AutoView<Song, Int>(
      "later", over: .songs, version: "1",
      group: { _ in
        if isFirst.withLock({ isFirst in
          defer { isFirst = false }
          return isFirst
        }) {
          gate.pass()
        }
        return ""
      }, sortKey: { $0.title })
    let registration = Task { [db] in try await db.register(other) }
    await gate.waitForEntries()
    let screen = try LiveView(db, other, groups: [""])
    #expect(!screen.isReady && screen.sections.isEmpty && screen.error == nil)
    screen.refresh()
    #expect(!screen.isReady && screen.error == nil)
    gate.open()
    try await registration.value
    try await until { screen.isReady }
    #expect(screen.count == 100 && screen.rows(inSection: 0)[7].object?.title == "107" && !gate.hasTimedOut)
  }

  @Test func tellsOfAnotherVersion() async throws {
    let screen = try LiveView(db, byAlbum, groups: ["a1"])
    try await db.unregister(extensionNamed: "songs.byAlbum")
    try await until { !screen.isReady }
    try await db.register(Self.view("2"))
    try await until { (screen.error as? DatabaseError)?.code == .extensionMismatch || screen.isReady }
    // Of this opening: the snapshot knows that one took the place of the other.
    #expect(screen.isReady == (screen.error == nil))
    let newer = try LiveView(db, Self.view("2"), groups: ["a1"])
    #expect(newer.isReady && newer.count == 90)
    let stale = try LiveView(db, Self.view("3"), groups: ["a1"])
    #expect(!stale.isReady && (stale.error as? DatabaseError)?.code == .extensionMismatch && stale.count == 0)
    try await db.unregister(extensionNamed: "songs.byAlbum")
    try await db.register(Self.view("3"))
    try await until { stale.isReady }
    #expect(stale.error == nil && stale.count == 90 && stale.rows(inSection: 0)[0].object?.title == "100")
  }

  // MARK: Ending

  @Test("A burst of commits is a few steps, and the last state") func bursts() async throws {
    let screen = try LiveView(db, byAlbum, ViewMappings(byAlbum, groups: ["a1"]), minimumInterval: .milliseconds(20))
    var steps = 0
    screen.onChanges = { _ in steps += 1 }
    let began = ContinuousClock.now
    for number in 1...1000 {
      try await db.write { tx in try tx[.songs].set(Song(title: "\(number)"), for: "n\(number)") }
    }
    try await until { screen.count == 1090 }
    let frames = (ContinuousClock.now - began) / .milliseconds(20)
    #expect(Double(steps) <= frames + 3)
  }

  @Test func stopsAndGoesOn() async throws {
    let screen = try LiveView(db, byAlbum, groups: ["a1"])
    screen.stop()
    #expect(!screen.isLive)
    try await db.write { tx in try tx[.songs].remove("s100") }
    try await Task.sleep(for: .milliseconds(5))
    #expect(screen.count == 90 && titles(screen).first == "100")
    screen.refresh()
    #expect(screen.count == 89 && screen.isLive)
    try await db.write { tx in try tx[.songs].remove("s101") }
    try await until { screen.count == 88 }
  }

  @Test func endsWhenWritingHasStopped() async throws {
    let disk = SimulatedDisk()
    let db = try disk.openDatabase()
    try await db.register(byAlbum)
    try await db.write { tx in try tx[.songs].set(Song(title: "Naima"), metadata: 1, for: "s1") }
    let screen = try LiveView(db, byAlbum, groups: ["a1"])
    let query = LiveQuery(db, initial: 0) { tx in tx[.songs].count }
    let row = LiveRow(db, .songs, "s1")
    try await until { query.isLoaded && row.isLoaded }
    disk.failNext(.synchronize, with: .error(EIO))
    row.edit { $0.title = "lost" }
    await row.settle()
    #expect(row.editError != nil && row.object?.title == "Naima")
    try await until { !screen.isLive && !query.isLive && !row.isLive }
    #expect(screen.error != nil && query.error != nil && row.error != nil)
    #expect(screen.rows(inSection: 0)[0].object?.title == "Naima" && query.value == 1)
  }

  private func close(_ db: Database) throws { try db.close() }

  @Test func goesWhenNobodyHoldsIt() async throws {
    weak var gone: LiveView<Song, Int>?
    do {
      let screen = try LiveView(db, byAlbum, groups: ["a1"])
      gone = screen
      #expect(screen.rows(inSection: 0)[0].key == "s100")
      try await db.write { tx in try tx[.songs].remove("s100") }
      try await until { screen.count == 89 }
    }
    try await until { gone == nil }
    // Its snapshot has gone too: nothing keeps the database from being closed.
    try await until { (try? close(db)) != nil }
  }
}
