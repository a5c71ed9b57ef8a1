// A drawn database whose rows of all its commits are known, and what can be said of what was salvaged of it.

import Foundation
import QuireDatabase
import QuireStorage
import QuireTesting

/// A database in a folder, with the bytes of each row as it is and as it ever was.
struct SalvagedHistory {
  private struct Note: Codable, Sendable { var title: String, year: Int, tags: [String] }

  private static let songs = RowCollection<Note, Int>("songs", compression: .dictionary(above: 16))
  private static let notes = RowCollection<Note, NoMetadata>("notes", coder: .json)
  private static let blobs = RowCollection<[UInt8], NoMetadata>("blobs", coder: .bytes, compression: .none)

  let folder: TestFolder
  /// The rows of the newest commit.
  private(set) var rows: [Int64: [UInt8]] = [:]
  /// All that rows ever were.
  private(set) var ever: [Int64: [[UInt8]]] = [:]
  /// The ids of trees by their names.
  private(set) var trees: [String: UInt64] = [:]
  /// Whether the log has commits that the data file does not have.
  let hasLog: Bool

  /// The files as they stand, to be damaged.
  private(set) var files: [String: [UInt8]] = [:]
  var path: String { folder.path }

  /// - Parameters:
  ///   - size: how many rows a transaction stores at the most.
  ///   - keepsLog: whether data file and log both have commits for certain; otherwise that is drawn.
  init(_ random: inout SeededRandom, size: Int = 60, keepsLog: Bool = false) throws {
    folder = try TestFolder()
    let isLogDrawn = random.oneIn(2)
    hasLog = keepsLog || isLogDrawn
    let feeds = random.oneIn(3) ? [ChangeFeed("feed", keeping: .newValues)] : []
    let db = try folder.open(Database.Options(durability: .relaxed, maintainsWhenIdle: false, feeds: feeds))
    let count = 4 + random.below(6)
    for number in 0..<count {
      try db.write { tx throws in try Self.change(tx, size, &random) }
      try take(db)
      if number == count / 2 {
        try db.trainDictionary(for: Self.songs)
        try take(db)
      }
      let isDrawn = random.oneIn(3)
      if isDrawn || (keepsLog && number == count / 2), !(hasLog && number == count - 1) { try db.checkpoint() }
    }
    try db.flush()
    if !hasLog { try db.close() }
    for name in try FileManager.default.contentsOfDirectory(atPath: folder.url.path) {
      files[name] = [UInt8](try Data(contentsOf: folder.url.appendingPathComponent(name)))
    }
    if hasLog { try db.close() }
    try restore(files)
  }

  private static func change(_ tx: QuireDatabase.WriteTransaction, _ size: Int, _ random: inout SeededRandom) throws {
    for _ in 0...random.below(size) {
      let key = "k\(random.below(4 * size))"
      let note = Note(title: "A title like many others, \(random.below(1000))", year: random.below(3000), tags: ["t"])
      switch random.below(8) {
      case 0, 1, 2: try tx[songs].set(note, metadata: random.below(9), for: key)
      case 3, 4: try tx[notes].set(note, for: key)
      case 5:
        let length = random.pick([10, 3000, 9000, 70_000])
        let first = UInt8(truncatingIfNeeded: random.next())
        let bytes = Array(ramp[Int(first)..<Int(first) + length])
        try tx[blobs].set(bytes, for: "b\(random.below(size))")
      case 6: try tx[songs].remove(key)
      default: try tx[notes].remove(key)
      }
    }
  }

  /// Bytes that count up, again and again.
  private static let ramp = (0..<71_000).map { UInt8(truncatingIfNeeded: $0) }

  /// Takes the rows of a commit.
  private mutating func take(_ db: Database) throws {
    let before = rows
    rows = try Self.rows(db.engine)
    for (row, bytes) in rows where !equal(before[row], bytes) { ever[row, default: []].append(bytes) }
    trees = try db.engine.read { tx in
      Dictionary(
        uniqueKeysWithValues: tx.treeNames.compactMap { name in tx.tree(named: name).map { (name, $0.id.rawValue) } })
    }
  }

  /// The rows of a database by their numbers.
  static func rows(_ engine: StorageEngine) throws -> [Int64: [UInt8]] {
    try engine.read { tx in
      guard let tree = tx.tree(named: "quire.rows") else { return [:] }
      var rows: [Int64: [UInt8]] = [:]
      var cursor = try tx.cursor(tree)
      while try cursor.next(), let key = try cursor.readIntegerKey() { rows[key] = try cursor.value }
      return rows
    }
  }

  // MARK: Damage

  /// Damages the files of the data file and the log in a drawn way, and says what was done.
  func damage(_ random: inout SeededRandom) throws -> SalvageDamage {
    var (files, damage) = (files, SalvageDamage())
    guard var data = files["test.quire"] else { return damage }
    let pageCount = data.count / 4096
    func zero(_ page: Int) {
      data.replaceSubrange(page * 4096..<(page + 1) * 4096, with: repeatElement(0, count: 4096))
    }
    for _ in 0...random.below(4) {
      let page = 2 + random.below(pageCount - 2)
      switch random.below(12) {
      case 0...3:
        zero(page)
        damage.pages.insert(page)
      case 4...6:
        data[page * 4096 + random.below(4096)] ^= 1 << UInt8(random.below(8))
        damage.pages.insert(page)
      case 7, 8:
        let other = 2 + random.below(pageCount - 2)
        let (a, b) = (page * 4096..<(page + 1) * 4096, other * 4096..<(other + 1) * 4096)
        let copy = Array(data[a])
        data.replaceSubrange(a, with: Array(data[b]))
        data.replaceSubrange(b, with: copy)
        damage.pages.formUnion([page, other])
      case 9:
        zero(random.below(2))
        damage.isWide = true
      case 10:
        data.removeLast(4096 * random.below(pageCount / 2))
        damage.isWide = true
        files["test.quire"] = data
        try restore(files)
        return damage
      default:
        guard let log = files.keys.filter({ $0.contains("-log") }).sorted().first, var bytes = files[log] else {
          continue
        }
        for _ in 0..<4 where bytes.count > 4096 { bytes[4096 + random.below(min(bytes.count, 1 << 17) - 4096)] ^= 1 }
        files[log] = bytes
        damage.isWide = true
      }
    }
    files["test.quire"] = data
    try restore(files)
    return damage
  }

  /// Puts files where the database is.
  func restore(_ files: [String: [UInt8]]) throws {
    for name in try FileManager.default.contentsOfDirectory(atPath: folder.url.path) {
      try FileManager.default.removeItem(at: folder.url.appendingPathComponent(name))
    }
    for (name, bytes) in files { try Data(bytes).write(to: folder.url.appendingPathComponent(name)) }
  }

  /// How many rows the damaged pages can have at the most; nil if that cannot be said.
  func rowLimit(_ damage: SalvageDamage) -> Int? {
    guard !damage.isWide, let data = files["test.quire"] else { return nil }
    var limit = 0
    for page in damage.pages {
      let start = page * 4096
      let header = Array(data[start..<start + 48])
      func number(_ offset: Int, _ count: Int) -> UInt64 {
        header[offset..<offset + count].reversed().reduce(0) { $0 << 8 | UInt64($1) }
      }
      guard number(8, 8) == UInt64(page), 1...4 ~= header[32] else {
        // A part of a long value, or free.
        limit += 1
        continue
      }
      let tree = number(24, 8)
      // Of a page that is no leaf, what is below is found by looking at all pages. Without a dictionary any number of
      // rows is lost.
      if tree == trees["quire.dictionaries"] { return nil }
      if tree == trees["quire.rows"], header[32] == 1 { limit += Int(number(36, 2)) }
    }
    return limit
  }
}

/// Whether two byte strings are the same; fast in debug builds, too.
private func equal(_ left: [UInt8]?, _ right: [UInt8]) -> Bool {
  guard let left, left.count == right.count else { return false }
  return memcmp(left, right, left.count) == 0
}

/// What was done to files.
struct SalvageDamage {
  /// Pages that were damaged.
  var pages: Set<Int> = []
  /// Whether more than pages is damaged: a meta page, the length, the log.
  var isWide = false
}

/// What salvaging a history has given.
struct SalvagedResult {
  var rows: [Int64: [UInt8]]
  var findings: [SalvageFinding]

  /// All that is wrong with it.
  func problems(_ history: SalvagedHistory) -> [String] {
    var problems: [String] = []
    // What else is lost of content says nothing of rows.
    let isBehind = findings.contains {
      $0.kind == .lostCommits || ($0.kind == .lostContent && $0.reason.contains("catalog"))
    }
    var told: [SalvageFinding.Kind: Set<Int64>] = [:]
    for finding in findings { if let row = finding.row { told[finding.kind, default: []].insert(row) } }
    let ranges = findings.filter { $0.kind == .lostRows }
    for (row, bytes) in rows {
      guard history.ever[row]?.contains(where: { equal($0, bytes) }) == true else {
        problems.append("row \(row) never was like this")
        continue
      }
      if !equal(history.rows[row], bytes), told[.oldRow]?.contains(row) != true, !isBehind {
        problems.append("row \(row) is old, and nothing says so")
      }
    }
    for row in history.rows.keys where rows[row] == nil && told[.lostRow]?.contains(row) != true && !isBehind {
      let isCovered = ranges.contains { $0.firstRow ?? .min <= row && row < $0.endRow ?? .max }
      if !isCovered { problems.append("row \(row) is lost, and nothing says so") }
    }
    return problems
  }
}
