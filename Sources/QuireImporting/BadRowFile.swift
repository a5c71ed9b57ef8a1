// The rows that an import has passed over.

import QuireStorage

/// A new file of rows that were passed over, a JSON record in each line.
package final class BadRowFile {
  private let path: String
  private var file: NewLineFile?

  /// The file at `path`, which is made when there is a row for it.
  ///
  /// - Throws: ``ImportError`` if there is something at `path`.
  package init(at path: String) throws(ImportError) {
    self.path = path
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

  /// What was appended is in the file.
  package func close() throws(ImportError) {
    do throws(SystemError) { try file?.close() } catch { throw ImportError(error, path) }
  }
}
