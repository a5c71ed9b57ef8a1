// What one transaction over rows did and saw, as the thread that ran it tells.

import QuireDatabase

/// Where a row is: the numbers of its collection and of its key.
struct RowPlace: Hashable, Comparable, Sendable, CustomStringConvertible {
  let collection: Int
  let key: Int

  init(_ collection: Int, _ key: Int) { (self.collection, self.key) = (collection, key) }

  /// The place of a row by its names; nil if they are not such names.
  init?(_ row: RowKey) {
    guard let collection = Self.collection(named: row.collection), let key = Self.key(named: row.key) else {
      return nil
    }
    self.init(collection, key)
  }

  static func < (left: Self, right: Self) -> Bool { (left.collection, left.key) < (right.collection, right.key) }

  /// Names are in the order of their numbers.
  static func collectionName(_ number: Int) -> String { "c\(number)" }
  static func collection(named name: String) -> Int? { name.first == "c" ? Int(name.dropFirst()) : nil }
  static func keyName(_ number: Int) -> String { "k\(10_000 + number)" }
  static func key(named name: String) -> Int? { name.first == "k" ? Int(name.dropFirst()).map { $0 - 10_000 } : nil }

  var keyName: String { Self.keyName(key) }
  var description: String { "\(Self.collectionName(collection))/\(keyName)" }
}

/// Which transaction wrote a value, and as its how manyth: each is given once in a history.
struct RowMark: Hashable, Codable, Sendable, CustomStringConvertible {
  let rawValue: UInt64

  init(transaction: Int, change: Int) { rawValue = UInt64(transaction) << 16 | UInt64(change) }

  /// Text that depends on the mark, so that values are of many lengths, and none is another's.
  func text(longest: Int) -> String {
    let word = "\(rawValue)."
    let length = Int((rawValue &* 0x9e37_79b9_7f4a_7c15) >> 40) % longest
    return String(repeating: word, count: length / word.utf8.count)
  }

  var description: String { "\(RowRecord.name(Int(rawValue >> 16))):\(rawValue & 0xffff)" }
}

/// An object that tells who wrote it.
struct MarkedObject: Codable, Hashable, Sendable {
  var mark: RowMark
  var text: String

  init(_ mark: RowMark, longest: Int) { (self.mark, text) = (mark, mark.text(longest: longest)) }
}

/// Metadata that tell who wrote them.
struct MarkedMetadata: Codable, Hashable, Sendable {
  var mark: RowMark
}

/// What a row holds, by those who wrote it.
struct RowContent: Hashable, Sendable, CustomStringConvertible {
  var object: RowMark
  var metadata: RowMark?

  var description: String { "\(object)" + (metadata.map { " with \($0)" } ?? "") }
}

/// One call in a transaction, with what it returned.
enum RowStep: Sendable {
  // Changes.
  case set(RowPlace, RowContent)
  case replace(RowPlace, RowMark, isThere: Bool)
  case replaceMetadata(RowPlace, RowMark?, isThere: Bool)
  case touch(RowPlace, isThere: Bool)
  case remove(RowPlace, isThere: Bool)
  case removeAll(Int, count: Int)
  /// A savepoint begins, and ends in either way.
  case savepoint, kept, undone

  // Looks.
  case object(RowPlace, RowMark?)
  case metadata(RowPlace, RowMark?)
  case row(RowPlace, RowContent?)
  case isThere(RowPlace, Bool)
  /// The number of rows of a collection, and of those with keys in a range.
  case count(Int, Range<Int>?, Int)
  case keys(Int, [Int])
  /// All rows of a collection.
  case rows(Int, [Int: RowContent])
  /// All metadata of a collection.
  case allMetadata(Int, [Int: RowMark?])
  /// The collections that have rows, and the number of all rows.
  case collections([Int], Int)
}

/// What the stream of commits tells of a transaction.
struct ToldCommit: Sendable {
  var number: UInt64
  /// The rows that it names, and the collections that were cleared.
  var rows: Set<RowPlace>
  var cleared: Set<Int>
}

/// One transaction.
struct RowRecord: Sendable {
  /// What the thread was told of a transaction that writes.
  enum Outcome: Hashable, Sendable {
    case acknowledged
    /// It may be there or not.
    case unknown
    /// The database has thrown.
    case refused
    /// Its own closure has thrown.
    case rolledBack
  }

  /// A step of a pinned snapshot that led to the one that was read: where it began, and the commits that were told of.
  struct Passed: Sendable {
    var start: UInt64
    var commits: [(id: Int, number: UInt64)]
  }

  /// The thread and a number that it gives once.
  let id: Int
  /// When the thread asked for it, and when it was told of its end, in nanoseconds of one clock.
  var began: UInt64
  var ended: UInt64
  /// The commit whose state it saw: a transaction that writes builds on it. Nil if it has not begun.
  var snapshot: UInt64?
  var steps: [RowStep] = []
  /// Nil for one that reads.
  var outcome: Outcome?
  /// What the stream told of it by the time it was acknowledged.
  var told: ToldCommit?
  var passed: Passed?
  /// Whether it was read after a power cut that may take what no call has made durable.
  var isOfPowerCut = false
  /// What it is called beside its number.
  var label = ""

  init(thread: Int, number: Int, began: UInt64) {
    id = thread << 16 | number
    (self.began, ended) = (began, began)
  }

  static func name(_ id: Int) -> String { "\(id >> 16).\(id & 0xffff)" }

  /// What messages call it.
  var name: String {
    let snapshot = snapshot.map { "\($0)" } ?? "nothing"
    guard let outcome else { return "the read \(Self.name(id))\(label) at \(snapshot)" }
    return "the write \(Self.name(id))\(label) on \(snapshot) (\(outcome))"
  }
}

/// What else there was in a history.
struct RowEvents: Sendable {
  /// Calls that have made durable what was acknowledged before them: when each began and ended.
  var flushes: [(began: UInt64, ended: UInt64)] = []
  /// When somebody heard of a commit by the stream.
  var heard: [(time: UInt64, number: UInt64)] = []
  /// The transactions that the stream told of, with their numbers, in its order.
  var told: [(id: Int, number: UInt64)] = []
  /// Whether calls to the disk have failed: the stream may then end before what was acknowledged last.
  var hasFaults = false
}
