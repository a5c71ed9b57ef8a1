// A place for the files of one test.

package import Foundation
package import QuireDatabase

/// A folder that goes with the value.
package final class TestFolder {
  /// Where it is.
  package let url: URL

  /// Makes the folder.
  package init() throws {
    url = FileManager.default.temporaryDirectory.appendingPathComponent("quire-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
  }

  deinit { try? FileManager.default.removeItem(at: url) }

  /// Where `open` keeps its database.
  package var path: String { url.appendingPathComponent("test.quire").path }

  /// Opens the database in the folder, and creates it the first time.
  package func open(_ options: Database.Options = Database.Options(durability: .relaxed)) throws -> Database {
    try Database(at: path, options: options)
  }

  /// Makes a file with something in it.
  package func makeFile(_ name: String) throws -> URL {
    let file = url.appendingPathComponent(name)
    try Data("something".utf8).write(to: file)
    return file
  }

  /// Whether there is a file of that name.
  package func hasFile(_ name: String) -> Bool {
    FileManager.default.fileExists(atPath: url.appendingPathComponent(name).path)
  }
}
