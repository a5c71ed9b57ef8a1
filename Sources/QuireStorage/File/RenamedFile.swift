// A file that got another name after it was opened.

/// An open file under the name that it has now: errors tell people where to look.
package final class RenamedFile: File {
  package let path: String
  private let file: any File

  /// Shows `file` under another path; everything else is its own.
  package init(_ file: any File, path: String) {
    self.file = file
    self.path = path
  }

  package func readSome(into buffer: UnsafeMutableRawBufferPointer, at offset: Int) throws(SystemError) -> Int {
    try file.readSome(into: buffer, at: offset)
  }
  package func writeSome(_ buffer: UnsafeRawBufferPointer, at offset: Int) throws(SystemError) -> Int {
    try file.writeSome(buffer, at: offset)
  }
  package func synchronize() throws(SystemError) { try file.synchronize() }
  package func resize(to byteCount: Int) throws(SystemError) { try file.resize(to: byteCount) }
  package func status() throws(SystemError) -> FileStatus { try file.status() }
  package func lock(_ kind: LockKind) throws(SystemError) { try file.lock(kind) }
  package func lockHolder() -> Int32? { file.lockHolder() }
  package func close() { file.close() }
}
