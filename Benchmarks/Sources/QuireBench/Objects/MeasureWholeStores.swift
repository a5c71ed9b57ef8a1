// Reads beside a writer, opening, and the first launch after a crash.

internal import ArgumentParser
internal import Foundation
internal import QuireDatabase
internal import QuireViews
internal import Synchronization

#if canImport(Darwin)
  internal import Darwin
#elseif canImport(Glibc)
  internal import Glibc
#elseif canImport(Musl)
  internal import Musl
#elseif canImport(Android)
  internal import Android
#endif

extension ObjectsRun {
  // MARK: Reads beside a writer

  func measureReadsBesideWriter() throws {
    for run in 0..<runs {
      let rows = try shapedRows(run)
      for type in turns(Self.shapedStores, run, named: { $0.name }) where !type.name.hasSuffix("cached") {
        try withFolder { folder in
          let store = try type.init(folder, count: count)
          try store.store(rows, rows.keys.indices)
          try settle()
          try measureReads(of: store, type.name, rows)
          try store.close()
        }
      }
    }
  }

  /// Point reads, each in a transaction of its own, while another thread commits a tenth of the rows at a time.
  private func measureReads(of store: any ShapedStore, _ name: String, _ rows: ShapedRows) throws {
    let perCommit = min(10_000, count / 10)
    let commits = self.times(20)
    let finished = Atomic(false)
    let wall = Clocks.wall()
    let writer = RunningThread {
      defer { finished.store(true, ordering: .relaxed) }
      for commit in 0..<commits {
        let start = commit * perCommit % (rows.order.count - perCommit + 1)
        let objects = commit % 2 == 0 ? rows.others : rows.objects
        try store.update(rows, rows.order[start..<start + perCommit], objects)
      }
    }
    var times: [Double] = []
    var place = 0
    while !finished.load(ordering: .relaxed) {
      let index = rows.order[place % count]
      var sum: UInt64 = 0
      times.append(Double(try microsecondsOfRead(store, rows.keys[index], &sum)))
      let known = [QuireBench.sum(of: rows.objects[index]), QuireBench.sum(of: rows.others[index])]
      try expect(known.contains(sum), "\(name) gave an object that nobody stored")
      place += 7919
    }
    try writer.join()
    add("read beside a writer, median", "µs", name, median(times))
    add("read beside a writer, 99 of 100", "µs", name, quantile(times, 0.99))
    add(
      "commit of a tenth of the rows beside reads", "µs/row", name,
      Double(Clocks.wall() - wall) / Double(commits * perCommit * 1000))
  }

  private func microsecondsOfRead(_ store: any ShapedStore, _ key: String, _ sum: inout UInt64) throws -> Double {
    let start = Clocks.wall()
    sum = try store.sumOfObjects(of: [key])
    return Double(Clocks.wall() - start) / 1000
  }

  // MARK: Opening

  func measureOpening() throws {
    var stores: [any OpenedStore.Type] = [QuireOpenedStore.self]
    #if PEER_SQLITE
      stores.append(SQLiteOpenedStore.self)
    #endif
    #if PEER_GRDB
      stores.append(GRDBOpenedStore.self)
    #endif
    let songs = CatalogSongs(count: count / 10, seed: 1)
    for run in 0..<runs {
      for type in turns(stores, run, named: { $0.name }) {
        try withFolder { folder in
          try type.make(folder, songs)
          for _ in 0..<times(20) {
            var count = 0
            try time(onWall: "open with 20 extensions", "µs", type.name, 1000) { count = try type.open(folder) }
            try expect(count == songs.keys.count, "\(type.name) has \(count) songs")
          }
        }
      }
    }
  }

  // MARK: After a crash

  func measureCrashes() throws {
    for run in 0..<runs {
      let rows = try shapedRows(run)
      let expected = rows.digest(objects: rows.objects, metadata: rows.metadata)
      for type in turns(Self.shapedStores, run, named: { $0.name }) where !type.name.hasSuffix("cached") {
        try withFolder { folder in
          let child = Process()
          child.executableURL = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath()
          child.arguments = ["crash-child", type.name, folder, "\(count)", "\(run)"]
          if keysAscend { child.arguments?.append("--ascending") }
          try child.run()
          child.waitUntilExit()
          try expect(child.terminationReason == .uncaughtSignal, "\(type.name): the child was to die of a signal")
          try settle()
          var sum: UInt64 = 0
          var opened: (any ShapedStore)?
          try time(onWall: "first launch after a crash", "ms", type.name, 1_000_000) {
            let store = try type.init(folder, count: count)
            sum = try store.sumOfObjects(of: [rows.keys[count / 2]])
            opened = store
          }
          try expect(sum == QuireBench.sum(of: rows.objects[count / 2]), "\(type.name) gave a wrong object")
          let found = try opened?.digestOfRows()
          try expect(found == expected, "\(type.name) has lost rows")
          try opened?.close()
        }
      }
    }
  }
}

/// Fills a store in small durable transactions and dies in the middle of its work.
struct CrashChild: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "crash-child", abstract: "Fills a store and is killed; for the table of objects.",
    shouldDisplay: false)

  @Argument(help: "The store.")
  var store: String
  @Argument(help: "The folder of its files.")
  var folder: String
  @Argument(help: "Rows.")
  var count: Int
  @Argument(help: "The number of the run.")
  var number: Int
  @Flag(help: "Keys in their order.")
  var ascending = false

  func run() throws {
    let rows = try ShapedRows(CatalogSongs(count: count, seed: UInt64(number + 1), keysAscend: ascending))
    for type in try chosen(store, among: ObjectsRun.shapedStores, named: { $0.name }) {
      let store = try type.init(folder, count: count)
      for start in stride(from: 0, to: count, by: 100) {
        try store.store(rows, start..<min(count, start + 100))
      }
      kill(getpid(), SIGKILL)
    }
  }
}

/// A store with 20 lists or indexes that an app registers at each launch.
protocol OpenedStore: AnyObject {
  static var name: String { get }
  /// Makes it, with all that is to be opened.
  static func make(_ folder: String, _ songs: CatalogSongs) throws
  /// Opens it, makes all lists ready to be used, reads how many rows one of them has, and closes it.
  static func open(_ folder: String) throws -> Int
}

/// Twenty views.
enum QuireLists {
  static let all = (0..<20).map { number in
    AutoView("list \(number)", over: .catalog, version: "1", group: { _ in "all" }, sortKey: { $0.plays &* number })
  }
}

final class QuireOpenedStore: OpenedStore {
  static var name: String { "quire" }

  private static func opened(_ folder: String) throws -> Database {
    let db = try Database(at: "\(folder)/songs.quire")
    for list in QuireLists.all { try db.register(list) }
    return db
  }

  static func make(_ folder: String, _ songs: CatalogSongs) throws {
    let db = try opened(folder)
    try db.write { tx throws in
      for index in songs.keys.indices { try tx[.catalog].set(songs.songs[index], for: songs.keys[index]) }
    }
    try db.close()
  }

  static func open(_ folder: String) throws -> Int {
    let db = try opened(folder)
    let count = try db.read { tx throws in try tx.view(QuireLists.all[7]).count(in: "all") }
    try db.close()
    return count
  }
}

#if PEER_SQLITE
  /// Twenty indexes, which SQLite opens by itself.
  final class SQLiteOpenedStore: OpenedStore {
    static var name: String { "sqlite" }

    static func make(_ folder: String, _ songs: CatalogSongs) throws {
      let store = try SQLiteRecordStore(folder, count: songs.keys.count)
      for number in 0..<20 {
        try store.connection.run("CREATE INDEX list\(number) ON catalog (plays * \(number))")
      }
      try store.insert(songs)
      try store.close()
    }

    static func open(_ folder: String) throws -> Int {
      let store = try SQLiteRecordStore(folder, count: 0)
      let count = try store.connection.integer("SELECT count(*) FROM catalog INDEXED BY list7 WHERE plays * 7 >= 0")
      try store.close()
      return count
    }
  }
#endif
