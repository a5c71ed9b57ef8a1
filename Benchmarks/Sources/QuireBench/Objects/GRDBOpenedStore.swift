// Opening GRDB with twenty indexes.

#if PEER_GRDB
  internal import Foundation
  internal import GRDB

  /// Twenty indexes, as a migration makes them at the first launch; each launch asks whether it has run.
  final class GRDBOpenedStore: OpenedStore {
    static var name: String { "grdb" }

    private static func opened(_ folder: String) throws -> DatabasePool {
      let pool = try DatabasePool(path: "\(folder)/songs.sqlite")
      var migrator = DatabaseMigrator()
      migrator.registerMigration("songs") { database in
        try database.execute(sql: SQLiteRecordStore.schema)
        for number in 0..<20 {
          try database.execute(sql: "CREATE INDEX list\(number) ON catalog (plays * \(number))")
        }
      }
      try migrator.migrate(pool)
      return pool
    }

    static func make(_ folder: String, _ songs: CatalogSongs) throws {
      let pool = try opened(folder)
      try pool.write { database in
        let statement = try database.makeStatement(
          sql: "INSERT INTO catalog (key, title, artist, album, genre, year, rating, plays, added, comment) "
            + "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)")
        for index in songs.keys.indices {
          let song = songs.songs[index]
          try statement.execute(arguments: [
            songs.keys[index], song.title, song.artist, song.album, song.genre, song.year, song.rating, song.plays,
            song.added.timeIntervalSinceReferenceDate, song.comment,
          ])
        }
      }
      try pool.close()
    }

    static func open(_ folder: String) throws -> Int {
      let pool = try opened(folder)
      let count = try pool.read { database in
        try Int.fetchOne(database, sql: "SELECT count(*) FROM catalog INDEXED BY list7 WHERE plays * 7 >= 0") ?? 0
      }
      try pool.close()
      return count
    }
  }
#endif
