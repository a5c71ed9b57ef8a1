// The names on the simulated disk. Kept sorted, so that nothing drawn from a seed depends on a dictionary's order.

/// A map from full paths to inode numbers.
struct NameTable: Sendable {
  private(set) var entries: [(path: String, inode: Int)] = []

  /// The inode under `path`; nil stands for "no such name". O(names), of which a disk has a handful.
  subscript(path: String) -> Int? {
    get { entries.first { $0.path == path }?.inode }
    set {
      if let index = entries.firstIndex(where: { $0.path == path }) {
        if let newValue { entries[index].inode = newValue } else { entries.remove(at: index) }
      } else if let newValue {
        let index = entries.firstIndex { $0.path > path } ?? entries.count
        entries.insert((path, newValue), at: index)
      }
    }
  }

  /// Whether any name leads to `inode`.
  func holds(_ inode: Int) -> Bool { entries.contains { $0.inode == inode } }

  /// The directory part of a path, as the real file system takes it.
  static func directory(of path: String) -> String {
    guard let slash = path.utf8.lastIndex(of: UInt8(ascii: "/")) else { return "." }
    return slash == path.startIndex ? "/" : String(path[..<slash])
  }
}

/// A name that came or went, or leads elsewhere, since its directory was synced.
struct PendingName: Sendable {
  var sequence: Int
  var directory: String
  var path: String
  /// Nil if the name went.
  var inode: Int?
}
