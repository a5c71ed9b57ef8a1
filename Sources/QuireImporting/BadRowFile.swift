// The rows that an import has passed over.

import QuireStorage

/// A new file of rows that were passed over, a JSON record in each line.
package final class BadRowFile {
  private let path: String
  private let file: NewLineFile

  /// Makes the file.
  ///
  /// - Throws: ``ImportError`` if there is something at `path`, and for what the system says.
  package init(at path: String) throws(ImportError) {
    self.path = path
    do throws(SystemError) { file = try NewLineFile(at: path) } catch { throw ImportError(error, path) }
  }

  /// Appends a row.
  package func append(_ row: BadRow) throws(ImportError) {
    do throws(SystemError) { try file.append(row.json) } catch { throw ImportError(error, path) }
  }

  /// What was appended is in the file.
  package func close() throws(ImportError) {
    do throws(SystemError) { try file.close() } catch { throw ImportError(error, path) }
  }
}
