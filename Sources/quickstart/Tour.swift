// The tour: its chapters, and what they share.

import Foundation
import Quire

/// Something that the tour cannot go on after.
struct TourError: Error, CustomStringConvertible {
  let description: String

  init(_ description: String) { self.description = description }
}

/// One thing that Quire can do: a title, the code that does it, and the run that proves it.
///
/// A further chapter is a file in `Chapters` and an entry in `all`. The tests compare `code` with the sources: what is
/// shown is what runs.
struct Chapter: Sendable {
  let title: String
  let code: String
  let run: @Sendable (Tour) async throws -> Void
}

/// What the chapters share: the index, the database, the screen.
///
/// Invariant: `database` is open from the first chapter to the last, but for the moments in which a child has it.
final class Tour {
  /// The path of the package index.
  let index: String
  /// The path of the database.
  let path: String
  let screen = Screen()
  private(set) var database: Database?
  /// The folder that goes with the tour; nil if the database is to be kept.
  private let folder: URL?
  /// Whether the database stays when the tour is over.
  var isKept: Bool { folder == nil }

  /// Prepares a tour of the index at `index`; makes a folder for the database if none is named.
  ///
  /// - Throws: `TourError` if there is no index, or something at `database` already.
  init(index: String, database: String?) throws {
    guard FileManager.default.fileExists(atPath: index) else {
      throw TourError("\(index): there is no such file. Run this in the folder of the repository, or name an index.")
    }
    self.index = index
    if let database {
      guard !FileManager.default.fileExists(atPath: database) else {
        throw TourError("\(database): there is something already. Name a path for a new database.")
      }
      folder = nil
      path = database
    } else {
      let folder = FileManager.default.temporaryDirectory.appendingPathComponent("quickstart-\(UUID().uuidString)")
      try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
      self.folder = folder
      path = folder.appendingPathComponent("packages.quire").path
    }
  }

  deinit {
    database = nil
    if let folder { try? FileManager.default.removeItem(at: folder) }
  }

  /// Opens the database.
  @discardableResult
  func open() throws -> Database {
    let db = try Database(at: path)
    database = db
    return db
  }

  /// Closes the database.
  func close() throws {
    try database?.close()
    database = nil
  }

  /// The open database.
  ///
  /// - Throws: `TourError` if it is closed.
  func openDatabase() throws -> Database {
    guard let database else { throw TourError("The database is closed.") }
    return database
  }

  /// What `body` returns, and how long it took.
  func timing<Result>(_ body: () throws -> Result) rethrows -> (result: Result, time: Duration) {
    let clock = ContinuousClock()
    let start = clock.now
    let result = try body()
    return (result, clock.now - start)
  }

  /// The bytes of the data file, and of the log beside it.
  func fileSizes() throws -> (data: Int, log: Int) {
    let data = URL(fileURLWithPath: path)
    let folder = data.deletingLastPathComponent()
    var sizes = (data: 0, log: 0)
    for name in try FileManager.default.contentsOfDirectory(atPath: folder.path) {
      let attributes = try FileManager.default.attributesOfItem(atPath: folder.appendingPathComponent(name).path)
      let size = (attributes[.size] as? NSNumber)?.intValue ?? 0
      if name == data.lastPathComponent {
        sizes.data = size
      } else if name.hasPrefix(data.lastPathComponent + "-log") {
        sizes.log += size
      }
    }
    return sizes
  }
}
