// A new database that gets its name when it is complete.

import QuireStorage

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// A database that is made under a name of its own, beside the one that it gets at the end.
struct NewDatabase {
  private let path: String
  /// The name until then.
  let temporaryPath: String

  /// A name beside `path`, at which there must be nothing.
  ///
  /// - Throws: ``ImportError`` if there is something, or if no file can be made there.
  init(for path: String) throws(ImportError) {
    if let taken = Self.takenName(of: path) {
      throw ImportError("\(taken) is there already, and nothing is overwritten: choose another name.")
    }
    self.path = path
    temporaryPath = "\(path)-new-\(String(UInt64.random(in: .min ... .max), radix: 16))"
    guard access(Self.folder(of: path), W_OK | X_OK) == 0 else {
      throw ImportError("In the folder of \(path) no file can be made: \(String(cString: strerror(errno))).")
    }
  }

  /// The folder that a path lies in.
  static func folder(of path: String) -> String {
    guard let slash = path.lastIndex(of: "/") else { return "." }
    return slash == path.startIndex ? "/" : String(path[..<slash])
  }

  private static func names(of path: String) -> [String] {
    [path] + (0..<QuireStorage.Limits.segmentFileCount).map { "\(path)-log\($0)" }
  }

  /// The first of the names of a database at which there is something, if only a link to nothing.
  private static func takenName(of path: String) -> String? {
    names(of: path).first { name in
      var status = stat()
      return lstat(name, &status) == 0
    }
  }

  /// Gives the database, which was closed, its name, durably.
  ///
  /// - Throws: ``ImportError`` if one of its names has been taken meanwhile, and for what the disk says.
  func publish() throws(ImportError) {
    if let taken = Self.takenName(of: path) { throw ImportError("\(taken) is there, and was not at the beginning.") }
    let system = RealFileSystem()
    do throws(SystemError) {
      let file = try system.open(temporaryPath, .readWrite)
      defer { file.close() }
      try system.publish(file, temporaryPath, as: path)
    } catch {
      throw ImportError("\(path): \(String(cString: strerror(error.code)))")
    }
    remove()
  }

  /// Removes the files under the first name, as far as they are there.
  func remove() {
    let system = RealFileSystem()
    for name in Self.names(of: temporaryPath) {
      do throws(SystemError) { try system.unlink(name) } catch {}
    }
  }
}
