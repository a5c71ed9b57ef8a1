// A file of SQLite's as it is found, and what is opened of it: the source is never written.

import Foundation

/// A file of SQLite's that was looked at, and the file to open for it: itself, or a copy with what stands beside it.
final class SQLiteFile {
  /// What is opened: the file, or its copy.
  let openPath: String
  /// Whether that is a copy, which SQLite may bring in order.
  let isCopy: Bool
  /// What of the write-ahead log cannot be read, if there is such.
  let lost: LeftOut?
  /// The source, without links.
  let path: String
  private let folder: String?
  private let before: [String: String]

  private static let header = Array("SQLite format 3\0".utf8)

  /// Looks at the file at `path`, and copies it into a folder beside `target` if it has a write-ahead log or a journal.
  ///
  /// - Throws: ``ImportError`` for whatever is none that can be read.
  init(_ path: String, besides target: String) throws(ImportError) {
    let found = try Self.checked(path)
    self.path = found
    before = Self.marks(found)
    try Self.checkTarget(target, found)
    lost = try Self.lostPart(found)
    let hasMore = ["-wal", "-journal"].contains { (Self.byteCount(found + $0) ?? 0) > 0 }
    isCopy = hasMore
    guard hasMore else {
      folder = nil
      openPath = found
      return
    }
    let folder = "\(target)-source-\(String(UInt64.random(in: .min ... .max), radix: 16))"
    self.folder = folder
    openPath = folder + "/copy"
    do {
      try FileManager.default.createDirectory(
        atPath: folder, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
      for ending in ["", "-wal", "-journal"] where FileManager.default.fileExists(atPath: found + ending) {
        try FileManager.default.copyItem(atPath: found + ending, toPath: openPath + ending)
      }
      // Of the copy: the source may be changed at any time.
      try Self.checkRollbackFile(openPath + "-journal", of: path)
    } catch {
      try? FileManager.default.removeItem(atPath: folder)
      if let error = error as? ImportError { throw error }
      throw ImportError(
        """
        \(path) has a write-ahead log, and could not be copied with it into \(folder) to be read: \
        \(ImportError.reason(error))
        """)
    }
  }

  /// What a journal ends with that names a journal over several databases.
  private static let severalMark: [UInt8] = [0xd9, 0xd5, 0x05, 0xf9, 0x20, 0xa1, 0x63, 0xd7]

  /// Refuses a journal that names a journal over several databases: SQLite opens and removes the file of that name,
  /// which may be any.
  ///
  /// - Throws: ``ImportError`` for such a journal, and what the disk throws.
  private static func checkRollbackFile(_ name: String, of path: String) throws {
    let markByteCount = severalMark.count
    guard let byteCount = byteCount(name), byteCount >= markByteCount else { return }
    let file = try FileHandle(forReadingFrom: URL(fileURLWithPath: name))
    defer { try? file.close() }
    try file.seek(toOffset: UInt64(byteCount - markByteCount))
    guard let end = try file.read(upToCount: markByteCount), end.elementsEqual(severalMark) else { return }
    throw ImportError(
      """
      \(path) cannot be read as it is. Its journal is of a transaction over several databases. Open it once by its \
      app, and close it.
      """)
  }

  deinit { if let folder { try? FileManager.default.removeItem(atPath: folder) } }

  /// Refuses the names of what SQLite keeps beside the source: it would take the new database for that, and remove it.
  private static func checkTarget(_ target: String, _ source: String) throws(ImportError) {
    guard isNeighbour(target, of: source) else { return }
    throw ImportError("\(target) is a name that SQLite uses beside the source: choose another name.")
  }

  /// Whether SQLite keeps something under the name `name` beside the file at `source`, which is without links.
  static func isNeighbour(_ name: String, of source: String) -> Bool {
    let url = URL(fileURLWithPath: name)
    let folder = url.deletingLastPathComponent().resolvingSymlinksInPath()
    let path = folder.appendingPathComponent(url.lastPathComponent).path
    return ["-wal", "-journal", "-shm"].contains { path.utf8.elementsEqual((source + $0).utf8) }
  }

  /// Looks through the write-ahead log.
  ///
  /// - Throws: ``ImportError`` for one of which nothing can be read.
  private static func lostPart(_ path: String) throws(ImportError) -> LeftOut? {
    let name = path + "-wal"
    guard (byteCount(name) ?? 0) > 0 else { return nil }
    let log: WriteAheadLog
    do { log = try WriteAheadLog(name) } catch {
      throw error as? ImportError ?? ImportError("\(name) cannot be read: \(ImportError.reason(error))")
    }
    guard log.isReadable else {
      throw ImportError(
        "\(name), which has the newest rows, is damaged or of another database. Copy all files of the database again.")
    }
    if log.lostFrameCount == 0 { return nil }
    return LeftOut(
      name: "the end of \(name)",
      reason: """
        \(log.lostFrameCount) pages behind its last whole commit: a commit that the app never ended, or the log is \
        damaged or cut off, and the newest rows are missing
        """)
  }

  /// Throws if the files are other ones than at the beginning, by length and time.
  func checkUnchanged() throws(ImportError) {
    guard Self.marks(path) == before else {
      throw ImportError("\(path) was written while it was read. Close the program that has it open, and begin again.")
    }
  }

  private static func marks(_ path: String) -> [String: String] {
    var marks: [String: String] = [:]
    for ending in ["", "-wal", "-journal"] {
      guard let found = try? FileManager.default.attributesOfItem(atPath: path + ending) else { continue }
      let time = (found[.modificationDate] as? Date)?.timeIntervalSinceReferenceDate
      marks[ending] = "\(found[.size] ?? 0) \(time ?? 0)"
    }
    return marks
  }

  /// How many bytes the source has, with what stands beside it.
  var byteCount: Int { ["", "-wal"].reduce(0) { $0 + (Self.byteCount(path + $1) ?? 0) } }

  private static func byteCount(_ path: String) -> Int? {
    (try? FileManager.default.attributesOfItem(atPath: path))?[.size] as? Int
  }

  /// The path without links, if there is a file of SQLite's that is all there.
  private static func checked(_ given: String) throws(ImportError) -> String {
    let path = URL(fileURLWithPath: given).resolvingSymlinksInPath().path
    var isDirectory: ObjCBool = false
    guard FileManager.default.fileExists(atPath: path, isDirectory: &isDirectory) else {
      throw ImportError("\(given): there is no such file.")
    }
    guard !isDirectory.boolValue else {
      throw ImportError("\(given) is a folder. Name the file of the database in it.")
    }
    // To open a pipe waits for who writes into it.
    guard kind(at: path) == .typeRegular else {
      throw ImportError("\(given) is no file, but a pipe or a device. Copy what it gives into a file.")
    }
    guard let file = FileHandle(forReadingAtPath: path) else {
      throw ImportError("\(given) cannot be opened: its owner must permit that it is read.")
    }
    defer { try? file.close() }
    var data: Data?
    do { data = try file.read(upToCount: 100) } catch {
      throw ImportError("\(given) cannot be read: \(ImportError.reason(error))")
    }
    // At the end of a file there is nothing, not even data without bytes.
    try check([UInt8](data ?? Data()), byteCount(path) ?? 0, given)
    try checkLinks(given, path)
    let hasIndex = FileManager.default.fileExists(atPath: path + "-shm")
    guard !hasIndex || FileManager.default.fileExists(atPath: path + "-wal") else {
      throw ImportError(
        "\(given)-shm is there without \(given)-wal, which has the newest rows. Copy all files of the database.")
    }
    return path
  }

  /// How many links may lead to each other.
  private static let mostLinks = 40

  /// Refuses a log or a journal that is a link, or that stands beside a link to the file instead of the file: it would
  /// not be read.
  private static func checkLinks(_ given: String, _ path: String) throws(ImportError) {
    func refuse(_ name: String) throws(ImportError) {
      throw ImportError(
        "\(name) is a link, or stands beside one. Copy all files of the database into one folder.")
    }
    let endings = ["-wal", "-journal"]
    for ending in endings where kind(at: path + ending) == .typeSymbolicLink { try refuse(path + ending) }
    var name = given
    for _ in 0..<mostLinks where kind(at: name) == .typeSymbolicLink {
      for ending in endings where kind(at: name + ending) != nil { try refuse(name + ending) }
      guard let next = try? FileManager.default.destinationOfSymbolicLink(atPath: name) else { return }
      let folder = URL(fileURLWithPath: name).deletingLastPathComponent()
      name = next.hasPrefix("/") ? next : folder.path + "/" + next
    }
  }

  /// What there is at a path, which may be a link that leads nowhere; nil if there is nothing.
  private static func kind(at path: String) -> FileAttributeType? {
    (try? FileManager.default.attributesOfItem(atPath: path))?[.type] as? FileAttributeType
  }

  private static func check(_ bytes: [UInt8], _ byteCount: Int, _ path: String) throws(ImportError) {
    if bytes.isEmpty { throw ImportError("\(path) is empty.") }
    guard bytes.starts(with: header) else {
      if bytes.count >= 20, bytes[16..<20].elementsEqual("T-DB".utf8) {
        throw ImportError("\(path) is a file of Realm's. Export it by its SDK as lines of JSON, for `quiredb import`.")
      }
      if bytes.prefix(16).allSatisfy({ (0x20..<0x7f).contains($0) || (0x09...0x0d).contains($0) }) {
        throw ImportError("\(path) is a text, and no file of SQLite's.")
      }
      throw ImportError(
        """
        \(path) does not begin as a file of SQLite's: it is something else, or encrypted, as by SQLCipher. Decrypt it \
        first: `sqlcipher_export` makes a plain copy.
        """)
    }
    guard bytes.count == 100 else { throw ImportError("\(path) ends within its header, after \(byteCount) bytes.") }
    guard bytes[18] <= 2, bytes[19] <= 2 else {
      throw ImportError("\(path) is of a version of SQLite's form, \(bytes[19]), that is not known here.")
    }
    func number(_ offset: Int) -> Int { bytes[offset..<offset + 4].reduce(0) { $0 << 8 | Int($1) } }
    let pageByteCount = bytes[16] == 0 && bytes[17] == 1 ? 65536 : Int(bytes[16]) << 8 | Int(bytes[17])
    guard pageByteCount >= 512, pageByteCount.nonzeroBitCount == 1 else {
      throw ImportError("\(path) is damaged: its header says that pages have \(pageByteCount) bytes.")
    }
    // How many pages there are holds where the number of the last change stands beside it.
    let expected = number(28) * pageByteCount
    guard number(24) != number(92) || byteCount >= expected else {
      throw ImportError(
        "\(path) is cut off: it has \(byteCount) of \(expected) bytes. Copy it again, or save rows by `.recover`.")
    }
  }
}
