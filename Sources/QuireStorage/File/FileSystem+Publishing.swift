// Giving a complete file its name.

extension FileSystem {
  /// Makes a file durable, and gives it a name beside the one that it has, durably. If that fails it has no such name.
  ///
  /// - Throws: the error of the call that failed; `EEXIST` if the name is taken.
  package func publish(_ file: any File, _ temporary: String, as path: String) throws(SystemError) {
    try file.synchronize()
    try link(temporary, to: path)
    do throws(SystemError) { try synchronizeDirectory(of: path) } catch {
      // Whether the name will survive is unknown; nobody has been told of it, so it goes.
      do throws(SystemError) { try unlink(path) } catch {}
      throw error
    }
  }
}
