// What the tests of the original's spelling share.

import Foundation
import Quire
import QuireTesting
import YapCompat

struct Song: Codable, Sendable, Equatable {
  var title: String
  var albumID = "a1"
}

struct PlayState: Codable, Sendable, Equatable { var plays: Int }

/// A database in a folder of its own, with collections of strings and of songs.
final class YapFixture {
  let folder: TestFolder
  let database: YapDatabase
  let connection: YapDatabaseConnection
  /// The errors that calls without one of their own have handed to `onError`.
  let errors = Recorder()

  init(_ options: YapDatabaseOptions = YapDatabaseOptions(Database.Options(durability: .relaxed))) throws {
    folder = try TestFolder()
    let errors = errors
    database = try YapDatabase(url: folder.url.appendingPathComponent("test.quire"), options: options) { error in
      errors.append((error as? DatabaseError)?.code.description ?? "\(error)")
    }
    Self.register(database)
    connection = database.newConnection()
  }

  /// Strings with strings as metadata everywhere, but songs in "songs".
  static func register(_ database: YapDatabase) {
    database.registerDefaultCodableSerialization(String.self, metadata: String.self)
    database.registerCodableSerialization(Song.self, metadata: PlayState.self, forCollection: "songs")
  }

  /// Stores `count` rows "key1" and so on.
  func fill(_ collection: String?, _ count: Int = 5) throws {
    try connection.readWrite { transaction in
      for number in 1...count {
        transaction.setObject("object", forKey: "key\(number)", inCollection: collection, withMetadata: "metadata")
      }
    }
  }
}

extension RowCollection where Object == Song, Metadata == PlayState {
  static var songs: Self { .init("songs") }
}

extension RowCollection where Object == String, Metadata == String {
  static func texts(_ name: String) -> Self { .init(name) }
}

/// The code of the error that `body` throws, or nil.
func errorCode(_ body: () throws -> Void) -> DatabaseError.Code? {
  do { try body() } catch { return (error as? DatabaseError)?.code }
  return nil
}

/// The error that `body` throws, if it is one of the database's.
func databaseError(_ body: () throws -> Void) -> DatabaseError? {
  do { try body() } catch { return error as? DatabaseError }
  return nil
}

/// Waits until something has been called so many times, without blocking a thread of the pool.
final class Gate: Sendable {
  private let stream: AsyncStream<Void>
  private let continuation: AsyncStream<Void>.Continuation

  init() { (stream, continuation) = AsyncStream.makeStream() }

  func open() { continuation.yield() }

  func wait(_ count: Int = 1) async {
    var rest = count
    for await _ in stream {
      rest -= 1
      if rest == 0 { return }
    }
  }
}

/// Whether the running code is on the main queue, which on Linux is no matter of the main thread.
enum MainQueueProbe {
  private static let key: DispatchSpecificKey<Bool> = {
    let key = DispatchSpecificKey<Bool>()
    DispatchQueue.main.setSpecific(key: key, value: true)
    return key
  }()

  /// Prepares the queue.
  static func install() { _ = key }

  static var isCurrent: Bool { DispatchQueue.getSpecific(key: key) ?? false }
}
