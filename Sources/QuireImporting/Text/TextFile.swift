// A text to import: a file, or what comes through standard input.

import Foundation

/// A text that is read once from its beginning to its end.
final class TextFile {
  /// What messages call it.
  let name: String
  private let handle: FileHandle
  private let path: String?
  private let before: String?

  /// The file at `path`, or standard input where that is `-`.
  ///
  /// - Throws: ``ImportError`` for what is no file, or cannot be read.
  init(_ path: String) throws(ImportError) {
    guard path != "-" else {
      (name, self.path, before, handle) = ("standard input", nil, nil, .standardInput)
      return
    }
    var isDirectory: ObjCBool = false
    guard FileManager.default.fileExists(atPath: path, isDirectory: &isDirectory) else {
      throw ImportError("\(path): there is no such file.")
    }
    guard !isDirectory.boolValue else { throw ImportError("\(path) is a folder. Name the file in it.") }
    guard let handle = FileHandle(forReadingAtPath: path) else {
      throw ImportError("\(path) cannot be opened: its owner must permit that it is read.")
    }
    (name, self.path, self.handle) = (path, path, handle)
    before = Self.mark(path)
  }

  /// Some of the bytes that follow, at most `count`; none at the end.
  func read(_ count: Int) throws -> [UInt8] {
    do { return [UInt8](try handle.read(upToCount: count) ?? Data()) } catch {
      throw ImportError("\(name) cannot be read: \(ImportError.reason(error))")
    }
  }

  /// Throws if the file is another one than at the beginning, by length and time.
  func checkUnchanged() throws(ImportError) {
    guard let path, Self.mark(path) != before else { return }
    throw ImportError("\(path) was written while it was read. Begin again when it is complete.")
  }

  private static func mark(_ path: String) -> String? {
    // What is no file, such as a pipe, has no length and no time that would tell.
    guard let found = try? FileManager.default.attributesOfItem(atPath: path),
      found[.type] as? FileAttributeType == .typeRegular
    else { return nil }
    return "\(found[.size] ?? 0) \((found[.modificationDate] as? Date)?.timeIntervalSinceReferenceDate ?? 0)"
  }
}
