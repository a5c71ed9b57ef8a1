// A database all of whose closures are an app's, and can be made to throw at any of their calls.

import Quire
import QuireDatabase
import QuireStorage
import QuireTesting
import Synchronization
import Testing

/// What one call into the app's code throws.
struct ThrownByApp: Error, Equatable, CustomStringConvertible {
  let number: Int
  let place: String
  var description: String { "call \(number), \(place)" }

  /// What the app has thrown behind an error that a call ends with.
  init?(in error: any Error) {
    var error: (any Error)? = error
    while let found = error {
      if let thrown = found as? ThrownByApp {
        self = thrown
        return
      }
      error = (found as? DatabaseError)?.cause
    }
    return nil
  }

  init(number: Int, place: String) { (self.number, self.place) = (number, place) }
}

/// Counts the calls into the app's code, and has one of them throw.
final class AppCalls: Sendable {
  private struct State {
    var count = 0
    var failing: Int?
    var thrown: ThrownByApp?
    var places: Set<String> = []
  }

  private let state = Latch(State())

  /// Begins to count anew; the call of this number throws, counted from 1.
  func begin(failing number: Int? = nil) {
    state.withLock { state in
      state = State(failing: number, places: state.places)
    }
  }

  /// A call has come to this place of the app's code.
  func enter(_ place: String) throws {
    let thrown = state.withLock { state -> ThrownByApp? in
      state.count += 1
      state.places.insert(place)
      guard state.count == state.failing else { return nil }
      state.thrown = ThrownByApp(number: state.count, place: place)
      return state.thrown
    }
    if let thrown { throw thrown }
  }

  /// How many calls there were.
  var count: Int { state.withLock { $0.count } }
  /// What was thrown, if the call has come that was to throw.
  var thrown: ThrownByApp? { state.withLock { $0.thrown } }
  /// Where calls ever came.
  var places: [String] { state.withLock { $0.places.sorted() } }
}

/// A row of the app.
struct Letter: Sendable, Equatable {
  var sender: String
  var rank: Int
  var text: String

  var bytes: [UInt8] { Array("\(sender)|\(rank)|\(text)".utf8) }

  init(_ sender: String, rank: Int, text: String) { (self.sender, self.rank, self.text) = (sender, rank, text) }

  init(_ bytes: RawSpan) {
    let whole = String(decoding: bytes.withUnsafeBytes { Array($0) }, as: UTF8.self)
    let parts = whole.split(separator: "|", omittingEmptySubsequences: false).map(String.init)
    self.init(parts[0], rank: Int(parts[1]) ?? 0, text: parts[2])
  }
}

/// What a transaction does.
indirect enum LetterStep: Sendable {
  case set(String, Letter, metadata: Int?)
  case update(String)
  case replaceMetadata(String, Int?)
  case touch(String)
  case remove(String)
  case removeSender(String)
  case find(Int)
  case savepoint([LetterStep])
  case removeAll

  static func draw(_ random: inout SeededRandom, depth: Int = 0) -> LetterStep {
    let key = "l\(random.below(8))"
    switch random.below(depth == 0 ? 16 : 12) {
    case 0...4:
      let letter = Letter("s\(random.below(3))", rank: random.below(9), text: "text \(random.below(1000))")
      return .set(key, letter, metadata: random.oneIn(3) ? nil : random.below(9))
    case 5, 6: return .update(key)
    case 7: return .replaceMetadata(key, random.oneIn(3) ? nil : random.below(9))
    case 8: return .touch(key)
    case 9: return .remove(key)
    case 10: return .removeSender("s\(random.below(3))")
    case 11: return .find(random.below(9))
    case 12...14: return .savepoint((0...random.below(2)).map { _ in draw(&random, depth: depth + 1) })
    default: return .removeAll
    }
  }
}

/// The app: its collections, its extensions, and what it does.
struct LetterApp {
  let calls = AppCalls()
  let letters: RowCollection<Letter, Int>
  let senders = RowCollection<String, NoMetadata>("senders")
  let log = RowCollection<Int, NoMetadata>("log")
  let view: AutoView<Letter, Int>
  let filtered: FilteredView<AutoView<Letter, Int>>
  let graph: Relationship<Letter>
  let indexes: Indexes<Letter, Int>

  init() {
    let (calls, senders) = (calls, senders)
    let coder = RowCoder<Letter>(
      encode: { letter in
        try calls.enter("encode")
        return letter.bytes
      },
      decode: { (bytes: RawSpan) in
        try calls.enter("decode")
        return Letter(bytes)
      })
    let metadataCoder = RowCoder<Int>(
      encode: { number in
        try calls.enter("encode metadata")
        return [UInt8(truncatingIfNeeded: number)]
      },
      decode: { (bytes: RawSpan) in
        try calls.enter("decode metadata")
        return bytes.withUnsafeBytes { Int($0.first ?? 0) }
      })
    let plain = RowCollection<Letter, Int>("letters", coder: coder, metadataCoder: metadataCoder)
    letters = plain.sanitizing { _, letter in
      try calls.enter("sanitizing")
      return letter
    }.afterStoring { _, _ in try calls.enter("after storing") }
    view = Self.makeView(calls, plain)
    filtered = FilteredView(
      "high", of: view,
      filter: .byRow { _, row in
        try calls.enter("filter")
        return try row.object.rank > 3
      })
    graph = Relationship<Letter>("graph", over: plain) { letter in
      try calls.enter("edges")
      let rules: EdgeRules = letter.rank % 2 == 0 ? .deleteSourceIfDestinationDeleted : .notifyIfDestinationDeleted
      return [Edge("sender", to: senders, key: letter.sender, rules: rules)]
    }.notifying(plain) { letter, _, _ in
      try calls.enter("notifying")
      return Letter("nobody", rank: 1, text: letter.text)
    }
    indexes = Indexes<Letter, Int>("letters.indexes", over: plain) {
      Index("rank", \.rank)
      Index("long", \.text).where(version: "1") { _ in
        .closure { letter, _ in
          try calls.enter("index condition")
          return letter.text.utf8.count > 6
        }
      }
    }
  }

  private static func makeView(_ calls: AppCalls, _ letters: RowCollection<Letter, Int>) -> AutoView<Letter, Int> {
    AutoView(
      "by sender", over: [letters],
      grouping: .byRow { row in
        try calls.enter("grouping")
        return try row.object.sender
      },
      sorting: .byRow { _, left, right in
        try calls.enter("sorting")
        return try (left.object.rank, left.key) < (right.object.rank, right.key)
      })
  }

  private func makeHooks() -> Hooks {
    let (calls, log) = (calls, log)
    var hooks = Hooks("hooks", collections: .only(["letters"]))
    hooks.willModify = { _, _, _ in try calls.enter("will modify") }
    hooks.didModify = { tx, change, _ in
      try calls.enter("did modify")
      try tx[log].set((try tx[log].get(change.key) ?? 0) + 1, for: change.key)
    }
    hooks.willRemove = { _, _ in try calls.enter("will remove") }
    hooks.didRemove = { tx, change in
      try calls.enter("did remove")
      try tx[log].remove(change.key)
    }
    hooks.willRemoveAll = { _ in try calls.enter("will remove all") }
    hooks.didRemoveAll = { _ in try calls.enter("did remove all") }
    return hooks
  }

  /// Opens the database of the app on a disk.
  func open(_ disk: SimulatedDisk) throws -> Database {
    calls.begin()
    let db = try disk.openDatabase(seed: 1, Database.Options(durability: .relaxed, cacheSize: 4 << 20))
    try db.register(view)
    try db.register(filtered)
    try db.register(graph)
    try db.register(indexes)
    try db.register(makeHooks())
    return db
  }

  /// Makes a database with rows.
  func make(seed: UInt64) throws -> SimulatedDisk {
    let disk = SimulatedDisk()
    let db = try open(disk)
    var random = SeededRandom(seed: seed)
    try db.write { tx throws in
      for number in 0..<3 { try tx[senders].set("sender", for: "s\(number)") }
      for number in 0..<8 where !random.oneIn(4) {
        let letter = Letter("s\(random.below(3))", rank: random.below(9), text: "text \(random.below(1000))")
        try tx[letters].set(letter, metadata: random.oneIn(3) ? nil : random.below(9), for: "l\(number)")
      }
    }
    try db.close()
    return disk
  }

  // MARK: Doing

  /// Carries out the steps in one transaction.
  ///
  /// - Parameter goesOver: whether the app goes on as if nothing was when a step fails.
  func run(_ steps: [LetterStep], in db: Database, goesOver: Bool = false) throws {
    try db.write { tx throws in
      for step in steps {
        do { try perform(step, tx) } catch { if !goesOver { throw error } }
        if !goesOver { try calls.enter("body") }
      }
    }
  }

  private func perform(_ step: LetterStep, _ tx: QuireDatabase.WriteTransaction) throws {
    switch step {
    case .set(let key, let letter, let metadata):
      if try !tx[senders].contains(letter.sender) { try tx[senders].set("again", for: letter.sender) }
      try tx[letters].set(letter, metadata: metadata, for: key)
    case .update(let key):
      try tx[letters].update(key) { letter in
        try calls.enter("update")
        letter.rank = (letter.rank + 5) % 9
      }
    case .replaceMetadata(let key, let metadata): try tx[letters].replaceMetadata(metadata, for: key)
    case .touch(let key): try tx[letters].touch(key)
    case .remove(let key): try tx[letters].remove(key)
    case .removeSender(let key): try tx[senders].remove(key)
    case .find(let rank):
      for letter in try tx[letters].find({ $0.rank >= rank }).objects where letter.rank == 8 {
        try tx[letters].touch("l1")
      }
    case .savepoint(let steps):
      try tx.savepoint {
        try calls.enter("savepoint")
        for step in steps { try perform(step, tx) }
      }
    case .removeAll: try tx[letters].removeAll()
    }
  }

  // MARK: Looking

  /// All that there is, after a check that it agrees.
  func content(of db: Database) throws -> [String] {
    calls.begin()
    try db.verify()
    try db.verify(view)
    try db.verify(filtered)
    return try db.read { tx throws in
      let graph = try tx.relationship(graph)
      try graph.checkInvariants()
      try tx.access(to: indexes).verify()
      var lines = tx[letters].rows.map { "\($0.key): \($0.object), \(String(describing: $0.metadata))" }
      lines += tx[senders].rows.map { "\($0.key): \($0.object)" } + tx[log].rows.map { "\($0.key): \($0.object)" }
      for reader in [try tx.view(view), try tx.view(filtered)] {
        for group in reader.groups { lines.append("\(group): \(reader.rows(in: group).map(\.row.key))") }
      }
      lines += graph.edges().map(\.description).sorted()
      lines += try tx[letters].find { $0.rank >= 4 }.keys.sorted()
      return lines
    }
  }
}
