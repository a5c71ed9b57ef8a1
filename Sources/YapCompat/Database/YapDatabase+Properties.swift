// What a database tells about itself, and settings that have lost their meaning.

public import Foundation
internal import Quire

extension YapDatabase {
  /// Where `init()` keeps its file: `yapdb.quire` in the folder for an app's files. New call: none; choose a path.
  public static var defaultDatabaseURL: URL {
    let folders = FileManager.default.urls(for: .applicationSupportDirectory, in: .userDomainMask)
    let folder = folders.first ?? FileManager.default.temporaryDirectory
    let name = Bundle.main.bundleIdentifier
    return (name.map { folder.appendingPathComponent($0) } ?? folder).appendingPathComponent("yapdb.quire")
  }

  /// Opens the database at `defaultDatabaseURL`, or creates it, and its folder. New call: `Database(at:options:)` with
  /// a path of the app's choice.
  ///
  /// - Throws: as `Database(at:options:)`; what the system says if the folder cannot be made.
  public convenience init() throws {
    let url = Self.defaultDatabaseURL
    try FileManager.default.createDirectory(at: url.deletingLastPathComponent(), withIntermediateDirectories: true)
    try self.init(url: url)
  }

  /// Where the file is. New call: `Database.path`.
  public var databaseURL: URL { URL(fileURLWithPath: quire.path) }

  /// Where the first segment of the log is, of up to eight that are numbered from 0. New call: none; `Database.backup`
  /// copies a database, and `Database.close` leaves nothing in the log.
  public var databaseURL_wal: URL { URL(fileURLWithPath: quire.path + "-log0") }

  /// Where the original kept memory that processes share. New call: none, as there is no such file.
  @available(*, deprecated, message: "There is no such file: one process at a time has the database open.")
  public var databaseURL_shm: URL { URL(fileURLWithPath: quire.path + "-shm") }

  /// The path of the file, as before version 3. New call: `Database.path`.
  public var databasePath: String { quire.path }

  /// The path of the first segment of the log, as before version 3. New call: none.
  public var databasePath_wal: String { databaseURL_wal.path }

  /// Where the original kept memory that processes share. New call: none, as there is no such file.
  @available(*, deprecated, message: "There is no such file: one process at a time has the database open.")
  public var databasePath_shm: String { quire.path + "-shm" }

  /// The number of the newest commit: grows with every one, though not always by one, and is kept in the file. A
  /// transaction that only touches rows leaves it. New call: `ReadTransaction.csn`, `Database.statistics.publishedCSN`.
  public var snapshot: UInt64 { quire.statistics.publishedCSN.rawValue }

  /// The version of SQLite. New call: none.
  @available(*, deprecated, message: "There is no SQLite below: the engine is Quire's own.")
  public var sqliteVersion: String { "none" }

  /// How many idle handles to SQLite were kept. New call: none.
  @available(*, deprecated, message: "Connections cost nothing and are not pooled: drop the setting.")
  public var maxConnectionPoolCount: UInt {
    get { 5 }
    set {}
  }

  /// How long idle handles to SQLite were kept, in seconds. New call: none.
  @available(*, deprecated, message: "Connections cost nothing and are not pooled: drop the setting.")
  public var connectionPoolLifetime: TimeInterval {
    get { 90 }
    set {}
  }
}
