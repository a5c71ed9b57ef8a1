// quire-torture register: an extension is registered over many rows, perhaps again and again after kills.

import ArgumentParser
import QuireDatabase
import QuireTesting
import Synchronization

#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Android)
  import Android
#endif

/// Builds an index over a database of objects, and says what it took.
struct Register: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Registers an index over many rows and measures it.",
    discussion: """
      Makes a database of --rows rows in the folder, if there is none, and registers an index that finds them by a \
      text in their objects. Writes a line with the share that is done after each step. May be killed at any time: \
      the next call goes on where this one was. At the end the index is compared with the rows, and the time per row \
      and the memory beyond the cache are told; more than 64 MiB of it end with status 1. --unregister takes the index \
      away again at the end.
      """)

  @Argument(help: "A folder for the database, which stays there.", completion: .directory)
  var folder: String
  @Option(help: "Rows.")
  var rows = 1_000_000
  @Option(help: "The cache in MiB.")
  var cache = 64
  @Flag(help: "Take the index away at the end.")
  var unregister = false

  mutating func validate() throws {
    if rows < 1 || rows > 1 << 30 { throw ValidationError("--rows must be 1 to 2^30.") }
    if cache < 1 || cache > 1 << 16 { throw ValidationError("--cache must be 1 to 65536.") }
  }

  private static let items = RowCollection<String, Int>("items", compression: .none)

  func run() throws {
    let path = folder + "/register.quire"
    let options = Database.Options(cacheSize: cache << 20)
    do {
      if access(path, F_OK) != 0 { try fill(path) }
      let db = try Database(at: path, options: options)
      try register(db)
      if unregister {
        let clock = ContinuousClock()
        let time = try clock.measure { try db.unregister(extensionNamed: "items.text") }
        say("unregistered in \(time)")
      }
      try db.close()
    } catch let error as DatabaseError {
      complain(error.description)
      throw ExitCode.failure
    }
  }

  /// Makes the rows under another name, so that a database that is there is whole.
  private func fill(_ path: String) throws {
    let new = path + "-filling"
    for name in [new] + (0..<8).map({ "\(new)-log\($0)" }) { unlink(name) }
    let db = try Database(at: new, options: Database.Options(durability: .relaxed))
    var random = SeededRandom(seed: 3)
    for start in stride(from: 0, to: rows, by: 10_000) {
      try db.write { tx in
        let part = (start..<min(rows, start + 10_000)).map { number in
          let text = "text \(random.next()) of a row that is about one hundred and twenty bytes long, \(number)"
          return ("item \(number)", text, number % 7)
        }
        try tx[Self.items].load(part)
      }
    }
    try db.close()
    guard rename(new, path) == 0 else {
      complain("\(new) cannot be renamed.")
      throw ExitCode.failure
    }
  }

  private func register(_ db: Database) throws {
    let before = ProcessMemory.byteCount
    let index = TextIndex(name: "items.text", collection: Self.items)
    let state = try db.extensions().first?.state
    var highest = before
    var first: Int?
    let clock = ContinuousClock()
    let time = try clock.measure {
      try db.register(index) { progress in
        if first == nil { first = progress.done }
        highest = max(highest, ProcessMemory.byteCount)
        say("\(Int(progress.fraction * 1000)) of 1000")
      }
    }
    try check(db, index)
    let microseconds = Double(time.components.attoseconds) / 1e12 + Double(time.components.seconds) * 1e6
    let beyond = Double(highest - (cache << 20)) / Double(1 << 20)
    say(
      """
      \(rows) rows; was \(state.map { "\($0)" } ?? "new"), went on at row \(first ?? rows); \(time), \
      \(rounded(microseconds / Double(rows))) µs per row; at the most \
      \(rounded(Double(highest) / Double(1 << 20))) MiB, \
      \(rounded(max(0, beyond))) of 64 MiB beyond the cache
      """)
    if beyond > 64 { throw ExitCode.failure }
  }

  /// Throws unless the index has every row under its text, and nothing else.
  private func check(_ db: Database, _ index: TextIndex) throws {
    try db.read { tx in
      let reader = try tx.access(to: index)
      var count = 0
      for row in tx[Self.items].rows {
        count += 1
        guard try reader.rowID(row.object) == row.rowID else {
          complain("\(row.rowID) is not in the index.")
          throw ExitCode.failure
        }
      }
      guard try reader.entries.count == count, count == rows else {
        complain("The index has \(try reader.entries.count) entries for \(count) rows.")
        throw ExitCode.failure
      }
    }
  }

  private func rounded(_ number: Double) -> String { "\((number * 100).rounded() / 100)" }

  private func say(_ line: String) {
    // At once: the reader of this may kill the process after any line.
    let bytes = Array("\(line)\n".utf8)
    _ = bytes.withUnsafeBytes { write(1, $0.baseAddress, $0.count) }
  }
}

/// Finds rows by their object, a text.
struct TextIndex: DatabaseExtension {
  static let kind = "quire-torture.textIndex"

  let name: String
  let collection: RowCollection<String, Int>

  var collections: CollectionFilter { .only([collection.name]) }
  var halves: ChangedHalves { .object }

  func makeReader(_ store: ExtensionStore) throws -> Reader { try Reader(store) }
  func makeWriter(_ store: ExtensionStore) throws -> Writer { try Writer(self, store) }

  struct Reader {
    /// The text, a zero byte, and the row's id.
    let entries: ExtensionTree<[UInt8]>
    let texts: ExtensionTree<RowID>

    init(_ store: ExtensionStore) throws {
      entries = try store.tree("entries", of: [UInt8].self)
      texts = try store.tree("texts", of: RowID.self)
    }

    /// The first row of a text.
    func rowID(_ text: String) throws -> RowID? {
      let prefix = Array(text.utf8) + [0]
      let cursor = try entries.cursor()
      guard try cursor.seek(prefix), let key = cursor.key, key.starts(with: prefix) else { return nil }
      return RowID(orderedBytes: Array(key.dropFirst(prefix.count)))
    }
  }

  final class Writer: ExtensionWriter {
    let index: TextIndex
    let store: ExtensionStore
    let reader: Reader
    let needsWillChange = false

    init(_ index: TextIndex, _ store: ExtensionStore) throws {
      self.index = index
      self.store = store
      reader = try Reader(store)
    }

    func willBuild(_ reason: ExtensionBuildReason) throws { try store.removeEverything() }

    func build(_ row: RowChange) throws { try insert(row) }

    func didChange(_ change: RowChange) throws {
      guard let rowID = change.rowID else { return }
      if let old = try reader.texts.value(for: rowID) {
        try reader.entries.remove(old + [0] + rowID.orderedBytes)
        try reader.texts.remove(rowID)
      }
      if change.kind != .remove { try insert(change) }
    }

    private func insert(_ change: RowChange) throws {
      guard let rowID = change.rowID, let text = try change.object(in: index.collection) else { return }
      let bytes = Array(text.utf8)
      try reader.entries.put([], for: bytes + [0] + rowID.orderedBytes)
      try reader.texts.put(bytes, for: rowID)
    }
  }
}
