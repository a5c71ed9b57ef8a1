// Building indexes: alone, beside writers, stopped and begun again.

import Foundation
import QuireDatabase
@testable import QuireIndexes
import QuireTesting
import Synchronization
import Testing

@Suite struct IndexBuildingTests {
  private struct Stopped: Error {}

  private func track(_ number: Int) -> Track {
    Track(
      title: "t\(number % 97)", year: 1900 + number % 120, rating: number % 3 == 0 ? nil : Double(number % 10),
      mood: Track.Mood.allCases[number % 3], tags: (0..<number % 4).map { "tag\($0 + number % 5)" },
      album: .init(name: "a\(number % 11)"), added: Date(timeIntervalSinceReferenceDate: Double(number)),
      score: Double(number % 13))
  }

  private func store(_ numbers: Range<Int>, in db: Database) throws {
    try db.write { tx in
      for number in numbers {
        try tx[.tracks].set(
          track(number), metadata: number % 2 == 0 ? Plays(count: number % 7) : nil, for: "k\(number)")
      }
    }
  }

  /// The index of this place among all that the tests know.
  private func number(of name: String) throws -> Int {
    try #require(Indexes<Track, Plays>.all.firstIndex { $0.name == name })
  }

  private func count(_ db: Database, year: Int) throws -> Int {
    try db.read { tx in try tx[.tracks].find { $0.year == year }.count }
  }

  @Test("A changed list builds what is new, and leaves the rest as it is", .enabled(if: TestSize.hasSlowTests, "slow"))
  func buildsWhatHasChanged() throws {
    let folder = try TemporaryFolder()
    let path = folder.path("db")
    let (title, year, tags, recent) =
      (try number(of: "title"), try number(of: "year"), try number(of: "tags"), try number(of: "recent"))
    var tree: Int?
    do {
      let db = try Database(at: path)
      try store(0..<5000, in: db)
      let first = Indexes.tracks([title, year])
      try db.register(first)
      tree = try db.read { tx in try tx.access(to: first).view.map.trees[1] }
      try db.close()
    }
    let db = try Database(at: path)
    // The columns of “tags” and “recent” are in no record yet.
    let second = Indexes.tracks([tags, year, recent])
    let seen = Mutex<Set<Int>>([])
    try db.register(second) { now in seen.withLock { _ = $0.insert(now.total) } }
    try db.read { tx in
      let reader = try tx.access(to: second)
      #expect(reader.view.map.trees[1] == tree && reader.view.map.unready.isEmpty)
      try reader.verify()
    }
    #expect(try db.read { tx in try tx[.tracks].find { $0.tags.contains("tag3") }.requireIndex().count } > 0)
    // Records of rows that were not changed meanwhile forget nothing of what is left.
    try store(100..<200, in: db)
    try db.read { tx in try tx.access(to: second).verify() }
    // The same list again: nothing is to be done.
    try db.close()
    let again = try Database(at: path)
    let before = try again.read { $0.csn }
    try again.register(second)
    #expect(try again.read { $0.csn } == before)
    try again.close()
  }

  @Test(
    "An index that is being built serves nobody, and building goes on where it was stopped",
    .enabled(if: TestSize.hasSlowTests, "slow"))
  func stopsAndGoesOn() throws {
    var options = Database.Options()
    options.buildStepRowCount = TestSize.trials(options.buildStepRowCount, divisor: 10)
    let db = try Database.inMemory(options: options)
    let rowCount = TestSize.trials(20_000, divisor: 10)
    try store(0..<rowCount, in: db)
    let indexes = Indexes.tracks()
    // Behind the steps in which rows are handed over, while entries are sorted.
    let lastCall = TestSize.isFull ? 12 : 11
    var calls = 0
    #expect(throws: Stopped.self) {
      try db.register(indexes) { _ in
        calls += 1
        if calls == lastCall { throw Stopped() }
      }
    }
    #expect(calls == lastCall)
    #expect(try count(db, year: 1950) == (rowCount + 69) / 120)
    try db.register(indexes)
    try db.read { tx in
      let reader = try tx.access(to: indexes)
      #expect(reader.view.map.unready.isEmpty)
      try reader.verify()
    }
    try db.close()
  }

  @Test(
    "What writers do while indexes are built is in them", .enabled(if: TestSize.hasSlowTests, "slow"),
    arguments: [false, true])
  func takesChangesMeanwhile(clears: Bool) throws {
    let db = try Database.inMemory()
    let count = TestSize.trials(12_000, divisor: clears ? 3 : 6)
    try store(0..<count, in: db)
    let indexes = Indexes.tracks()
    let isDone = Atomic(false)
    let writer = DispatchQueue(label: "writer")
    let group = DispatchGroup()
    writer.async(group: group) {
      var random = SeededRandom(seed: 7)
      var turn = 0
      while !isDone.load(ordering: .relaxed) {
        turn += 1
        do {
          try db.write { tx in
            for _ in 0..<20 {
              let number = random.below(count + count / 6)
              if random.below(3) == 0 {
                try tx[.tracks].remove("k\(number)")
              } else {
                try tx[.tracks].set(track(number + 1), metadata: Plays(count: random.below(9)), for: "k\(number)")
              }
            }
            if clears, turn % 40 == 20 { try tx[.tracks].removeAll() }
            // Before all rows have a record there is nothing to ask.
            guard turn % 16 == 0, let writer = try? tx.access(to: indexes) else { return }
            try writer.upkeep.checkInvariants()
          }
        } catch { Issue.record("\(error)") }
        // Leaves the processor to the builder.
        Thread.sleep(forTimeInterval: 0.001)
      }
    }
    try db.register(indexes)
    isDone.store(true, ordering: .relaxed)
    group.wait()
    try db.read { tx in
      let reader = try tx.access(to: indexes)
      #expect(reader.view.map.unready.isEmpty)
      try reader.verify()
    }
    try db.close()
  }

  @Test("Rows with the same value leave nothing of a unique index that is registered late")
  func refusesWhatIsNotUnique() throws {
    let db = try Database.inMemory()
    try store(0..<300, in: db)
    let indexes = Indexes<Track, Plays>("unique", over: .tracks) {
      Index("added", \.added).unique()
      Index("title", \.title).unique()
    }
    do {
      try db.register(indexes)
      Issue.record("rows have one title")
    } catch let error as DatabaseError {
      #expect(error.code == .extensionFailed)
      guard case .notUnique(index: "title", let keys)? = error.cause as? IndexError else {
        Issue.record("\(error)")
        return
      }
      #expect(Set(keys) == ["k0", "k97"])
    }
    #expect(try db.extensions().isEmpty)
    let good = Indexes<Track, Plays>("unique", over: .tracks) { Index("added", \.added).unique() }
    try db.register(good)
    try db.read { tx in try tx.access(to: good).verify() }
    try db.close()
  }

  @Test("What was stored before a savepoint that is undone is checked, also if it removed all rows")
  func checksWhatASavepointBringsBack() throws {
    struct Undo: Error {}
    let db = try Database.inMemory()
    try db.register(
      Indexes<Track, Plays>("unique", over: .tracks) { Index("added", \.added).unique() })
    let error = #expect(throws: DatabaseError.self) {
      try db.write { tx throws in
        for key in ["a", "b"] { try tx[.tracks].set(track(1), for: key) }
        try? tx.savepoint {
          try tx[.tracks].removeAll()
          throw Undo()
        }
      }
    }
    guard case .notUnique(index: "added", let keys)? = error?.cause as? IndexError else {
      Issue.record("\(String(describing: error))")
      return
    }
    #expect(keys == ["a", "b"])
    #expect(try db.read { tx in tx.count } == 0)
    try db.close()
  }

  @Test("An index that comes while rows are still handed over is built of them, whatever was handed over before")
  func isBuiltOfRowsToCome() throws {
    let others = RowCollection<Int, NoMetadata>("others")
    let disk = SimulatedDisk()
    var options = Database.Options(durability: .relaxed, cacheSize: 4 << 20, maintainsWhenIdle: false)
    options.buildStepRowCount = 5
    let db = try disk.openDatabase(seed: 1, options)
    try db.write { tx in for number in 0..<20 { try tx[others].set(number, for: "o\(number)") } }
    try store(0..<20, in: db)
    // The first steps hand over rows of the other collection.
    #expect(throws: Stopped.self) {
      try db.register(Indexes.tracks([try number(of: "title")])) { _ in throw Stopped() }
    }
    try db.close()
    let again = try disk.openDatabase(seed: 1, options)
    let second = Indexes.tracks([try number(of: "year"), try number(of: "title")])
    try again.register(second)
    #expect(try again.read { tx in try tx[.tracks].find { $0.year >= 1900 }.requireIndex().count } == 20)
    try again.read { tx in try tx.access(to: second).verify() }
    try again.close()
  }

  @Test("Another field of the same type, under the same version, meets no field of another index")
  func isBuiltAnewForAnotherField() throws {
    struct Pair: Codable, Sendable { var one: Int, two: Int }
    let pairs = RowCollection<Pair, NoMetadata>("pairs")
    func list(_ path: any KeyPath<Pair, Int> & Sendable) -> Indexes<Pair, NoMetadata> {
      Indexes("pairs", over: pairs) {
        Index("changed", path)
        Index("one", \.one)
      }
    }
    let folder = try TemporaryFolder()
    let db = try Database(at: folder.path("db"))
    try db.register(list(\.one))
    try db.write { tx in for number in 0..<9 { try tx[pairs].set(Pair(one: number, two: -number), for: "k\(number)") } }
    try db.close()
    let again = try Database(at: folder.path("db"))
    try again.register(list(\.two))
    try again.write { tx in try tx[pairs].set(Pair(one: 9, two: -9), for: "k9") }
    try again.read { tx throws in
      #expect(try tx[pairs].find { $0.two <= -8 }.requireIndex().keys == ["k8", "k9"])
      #expect(try tx[pairs].find { $0.one >= 8 }.requireIndex().keys == ["k8", "k9"])
      try tx.access(to: list(\.two)).verify()
    }
    try again.close()
  }

  @Test("A row that gets the value of another is refused, whichever was there first", arguments: [true, false])
  func refusesValuesOfOthers(isImmediate: Bool) throws {
    let db = try Database.inMemory()
    try db.register(
      Indexes<Track, Plays>("unique", over: .tracks) {
        Index("rating", \.rating).unique(isImmediate ? .immediate : .atCommit)
        Index("title", \.title).unique(isImmediate ? .immediate : .atCommit)
      })
    // The titles are the same as far as keys have them.
    let long = String(repeating: "t", count: 300)
    try db.write { tx in
      for (number, key) in ["a", "b", "c"].enumerated() {
        var track = track(1)
        (track.rating, track.title) = (key == "b" ? 5 : nil, long + "\(number)")
        try tx[.tracks].set(track, for: key)
      }
    }
    func index(_ body: (WritableRows<Track, Plays>) throws -> Void) -> String? {
      do { try db.write { tx in try body(tx[.tracks]) } } catch {
        if case .notUnique(let index, _)? = (error as? DatabaseError)?.cause as? IndexError { return index }
      }
      return nil
    }
    for key in ["a", "c"] { #expect(index { rows in try rows.update(key) { $0.rating = 5 } } == "rating") }
    for key in ["a", "c"] { #expect(index { rows in try rows.update(key) { $0.title = long + "1" } } == "title") }
    #expect(index { rows in try rows.update("a") { $0.title = long + "3" } } == nil)
    #expect(index { rows in try rows.update("c") { $0.title = long + "0" } } == nil)
    try db.close()
  }

  @Test("A unique index lets rows share none, and nothing else that looks like it")
  func tellsNoneFromFalse() throws {
    struct Flag: Codable, Sendable { var isOn: Bool, name: String? }
    let flags = RowCollection<Flag, NoMetadata>("flags")
    let db = try Database.inMemory()
    try db.register(
      Indexes<Flag, NoMetadata>("flags", over: flags) {
        Index("on", \.isOn).unique(.immediate)
        Index("name", \.name).unique(.immediate)
      })
    try db.write { tx in
      try tx[flags].set(Flag(isOn: false, name: nil), for: "a")
      try tx[flags].set(Flag(isOn: true, name: nil), for: "b")
    }
    #expect(throws: DatabaseError.self) {
      try db.write { tx in try tx[flags].set(Flag(isOn: false, name: "c"), for: "c") }
    }
    try db.close()
  }

  @Test("What is stored about indexes is believed only where it holds together")
  func catalogIsChecked() throws {
    var catalog = IndexCatalog()
    catalog.nextTree = 3
    catalog.nextPlace = 5
    catalog.entries = [
      .init(name: "a", signature: "x", tree: 0, isReady: true, places: [0, 2], heldPlace: nil, summary: "Int, unique"),
      .init(name: "ü", signature: "", tree: 2, isReady: false, places: [4], heldPlace: 3),
    ]
    let bytes = catalog.bytes
    #expect(IndexCatalog(bytes) == catalog)
    for count in bytes.indices { #expect(IndexCatalog(Array(bytes[..<count])) == nil) }
    var random = SeededRandom(seed: 3)
    for _ in 0..<2000 {
      var forged = bytes
      forged[random.below(forged.count)] = UInt8(random.below(256))
      // Whatever it is, reading it ends.
      _ = IndexCatalog(forged)
    }
  }

  @Test("Forged records are refused, and never read beyond their end")
  func recordsAreChecked() throws {
    var record = RowRecord()
    record.append(at: 0) { $0 += [1, 2, 3] }
    record.append(at: 3, [[], [9], [9, 9]])
    record.append(at: 300) { $0 += [UInt8](repeating: 7, count: 500) }
    record.withView { view in
      #expect(view.values(at: 0) == [[1, 2, 3]] && view.values(at: 3) == [[], [9], [9, 9]])
      #expect(view.values(at: 300).first?.count == 500 && view.values(at: 1).isEmpty && !view.knows(299))
    }
    var random = SeededRandom(seed: 5)
    for _ in 0..<5000 {
      var forged = record.bytes
      forged[random.below(12)] = UInt8(random.below(256))
      if random.below(2) == 0 { forged.removeLast(random.below(forged.count)) }
      unsafe forged.withUnsafeBytes { bytes in
        guard let view = unsafe RecordView(bytes) else { return }
        for place in [0, 3, 300, random.below(400)] { _ = view.values(at: place) }
      }
    }
  }
}
