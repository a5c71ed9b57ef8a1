// The rows that an import has passed over.

import Foundation
import QuireStorage

/// A new file of rows that were passed over, a JSON record in each line.
package final class BadRowFile {
  private let path: String
  private var file: NewLineFile?

  /// The file at `path`, which is made when there is a row for it.
  ///
  /// - Parameter source: the file that is read.
  /// - Throws: ``ImportError`` if there is something at `path`, or SQLite may take it for a part of the source.
  package init(at path: String, besides source: String) throws(ImportError) {
    self.path = path
    if SQLiteFile.isNeighbour(path, of: URL(fileURLWithPath: source).resolvingSymlinksInPath().path) {
      throw ImportError("\(path) is a name that SQLite uses beside the source: choose another name for --skip-bad.")
    }
    if RealFileSystem().exists(path) {
      throw ImportError("\(path) is there already, and nothing is overwritten: choose another name for --skip-bad.")
    }
  }

  /// Appends a row.
  package func append(_ row: BadRow) throws(ImportError) {
    do throws(SystemError) {
      if file == nil { file = try NewLineFile(at: path) }
      try file?.append(row.json)
    } catch {
      throw ImportError(error, path)
    }
  }

  /// What was appended is in the file, durably.
  package func close() throws(ImportError) {
    guard let file else { return }
    self.file = nil
    do throws(SystemError) {
      try file.close()
      let system = RealFileSystem()
      let written = try system.open(path, .readWrite)
      defer { written.close() }
      try written.synchronize()
      try system.synchronizeDirectory(of: path)
    } catch {
      throw ImportError(error, path)
    }
  }
}
