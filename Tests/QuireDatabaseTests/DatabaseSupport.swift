// What the tests of the object layer share.

import Foundation
import QuireDatabase
import QuireTesting

struct Song: Codable, Sendable, Equatable {
  var title: String, albumID: String, seconds: Int, added: Date

  init(
    _ title: String, albumID: String = "a1", seconds: Int = 200, added: Date = Date(timeIntervalSinceReferenceDate: 7)
  ) {
    self.title = title
    self.albumID = albumID
    self.seconds = seconds
    self.added = added
  }
}

struct PlayState: Codable, Sendable, Equatable { var plays: Int }

struct Album: Codable, Sendable, Equatable { var name: String }

extension RowCollection where Object == Song, Metadata == PlayState {
  static var songs: Self { .init("songs") }
}

extension RowCollection where Object == Album, Metadata == NoMetadata {
  static var albums: Self { .init("albums", coder: .json, compression: .none) }
}

extension RowCollection where Object == String, Metadata == String {
  static func texts(_ name: String) -> Self { .init(name) }
}

/// The code of the error that `body` throws, or nil.
func errorCode(_ body: () throws -> Void) -> DatabaseError.Code? {
  do { try body() } catch { return (error as? DatabaseError)?.code }
  return nil
}

/// A value that closures of several transactions share.
final class Shared<Value>: @unchecked Sendable {
  // Sendable: safe because the value is touched under the lock only.
  private let lock = NSLock()
  private var value: Value

  init(_ value: Value) { self.value = value }

  func withLock<Result>(_ body: (inout Value) throws -> Result) rethrows -> Result {
    lock.lock()
    defer { lock.unlock() }
    return try body(&value)
  }
}
