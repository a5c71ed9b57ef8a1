// The listings of “Testing your app”, and of the types that it is about.

import Quire
import QuireTesting

private typealias Song = ExtensionListings.Song
private typealias PlayState = ExtensionListings.PlayState

extension RowCollection where Object == Song, Metadata == PlayState {
  fileprivate static var songs: Self { .init("songs") }
}

struct PlayTotal: DatabaseExtension {
  static let kind = "com.example.playTotal"
  let name = "songs.plays"
  let collections = CollectionFilter.only(["songs"])
  var halves = ChangedHalves.object

  func makeReader(_ store: ExtensionStore) throws -> Int { try store.value("total") ?? 0 }
  func makeWriter(_ store: ExtensionStore) throws -> PlayWriter { try PlayWriter(store) }
}

final class PlayWriter: ExtensionWriter {
  let store: ExtensionStore
  let plays: ExtensionTree<RowID>

  init(_ store: ExtensionStore) throws {
    self.store = store
    plays = try store.tree("plays", of: RowID.self)
  }

  func willBuild(_ reason: ExtensionBuildReason) throws { try store.removeEverything() }

  func didChange(_ change: RowChange) throws {
    guard let rowID = change.rowID else { return }
    let before = try plays.value(for: rowID).flatMap { Int.fromExtensionBytes($0) } ?? 0
    let after = try change.metadata(in: .songs)?.plays ?? 0
    try store.set((store.value("total") ?? 0) + after - before, for: "total")
    try plays.put(after.extensionBytes, for: rowID)
    if change.kind == .remove { try plays.remove(rowID) }
  }

  func didClearAll() throws {
    try store.removeAllEntries()
    try store.set(0, for: "total")
  }
}

enum TestingListings {
  static func testPlays(_ total: PlayTotal) throws {
    var test = CrashTest()
    test.add(.songs) { random in
      Song(title: "Song \(random.below(9))")
    } metadata: { random in
      random.oneIn(3) ? nil : PlayState(plays: random.below(9))
    }
    test.add(total) { tx, total in
      try tx.access(to: total)
    } expected: { rows, _ in
      rows[.songs].values.reduce(0) { $0 + ($1.metadata?.plays ?? 0) }
    }
    try test.run()
  }

  static func testWords() throws {
    var test = CrashTest()
    test.add(.songs) { random in
      Song(title: ["Blue Train", "Night Train", "Blue in Green"][random.below(3)])
    } metadata: { random in
      random.oneIn(2) ? PlayState(plays: random.below(9)) : nil
    }
    test.add(WordIndex()) { tx, index in
      try tx.access(to: index).rows(with: "train").compactMap { try tx.key(of: $0)?.key }.sorted()
    } expected: { rows, _ in
      rows[.songs].filter { $0.value.object.title.hasSuffix("Train") }.keys.sorted()
    }
    try test.run()
  }

  static func lose() throws -> ExtensionListings.Song? {
    let song = Song(title: "Blue Train")
    let disk = SimulatedDisk()
    let db = try disk.openDatabase()
    try db.write { tx in try tx[.songs].set(song, for: "s1") }
    let after = disk.crashImage(seed: 42)  // what the machine may find when it is switched on again
    let found = try after.openDatabase().read { tx in try tx[.songs].get("s1") }
    return found
  }

  struct RuleIsBroken: Error { let cut: Int }

  static func cutPower(_ total: PlayTotal, _ song: ExtensionListings.Song) throws {
    for cut in 0..<40 {
      let disk = SimulatedDisk()
      let db = try disk.openDatabase(extensions: [total])
      disk.powerOff(beforeChange: disk.changeCount + cut)
      var told = 0  // so many songs were acknowledged
      do {
        for number in 1..<10 {
          try db.write { tx in try tx[.songs].set(song, metadata: PlayState(plays: 1), for: "s\(number)") }
          told = number
        }
      } catch {}
      let after = try disk.crashImage(seed: UInt64(cut)).openDatabase(extensions: [total])
      let (count, plays) = try after.read { tx in (tx[.songs].count, try tx.access(to: total)) }
      guard count >= told, plays == count else { throw RuleIsBroken(cut: cut) }
    }
  }

  static func refuse(_ disk: SimulatedDisk) {
    disk.refuse(.sync, after: 2)  // the third sync from now on fails
  }
}
