// A database that gets its name when it is complete.

internal import CQuirePlatform

#if canImport(Darwin)
  internal import Darwin
#elseif canImport(Glibc)
  internal import Glibc
#elseif canImport(Musl)
  internal import Musl
#elseif canImport(Android)
  internal import Android
#endif

/// A database that is made under a name of its own, beside the one that it gets at the end.
package struct NewDatabaseFile: Sendable {
  /// The name that it gets.
  package let path: String
  /// The name until then: that one, `-new-` and sixteen digits.
  package let temporaryPath: String

  /// A name beside `path`. Nothing is made, and nothing looked at.
  package init(for path: String) {
    self.path = path
    temporaryPath = "\(path)-new-\(hexadecimal(.random(in: .min ... .max)))"
  }

  private static func names(of path: String) -> [String] {
    [path] + (0..<Limits.segmentFileCount).map { LogFiles.path($0, of: path) }
  }

  /// The first of the names of the database at `path` at which there is something, if only a link to nothing. A data
  /// file beside the log of another one cannot be opened.
  package var takenName: String? {
    Self.names(of: path).first { name in
      var status = stat()
      return lstat(name, &status) == 0
    }
  }

  /// Gives the database, which was closed, its name, durably. The caller looks at `takenName` first.
  ///
  /// - Throws: the error of the call that failed; `EEXIST` if the name is taken.
  package func publish() throws(SystemError) {
    let system = RealFileSystem()
    let file = try system.open(temporaryPath, .readWrite)
    defer { file.close() }
    try system.publish(file, temporaryPath, as: path)
    remove()
  }

  /// Removes the files under the first name, as far as they are there.
  package func remove() {
    let system = RealFileSystem()
    for name in Self.names(of: temporaryPath) {
      do throws(SystemError) { try system.unlink(name) } catch {}
    }
  }
}
