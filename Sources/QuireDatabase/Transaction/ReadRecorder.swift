// Noting what a transaction reads, while it reads.

internal import QuireStorage

/// Collects what one read transaction reads. For the thread that runs the transaction's closure.
///
/// A transaction that nobody observes has none: what reads then looks at a nil, and that is all that it costs.
///
/// Invariants:
/// 1. Whatever a call has looked at, also in vain, is noted before the call returns, by the call that an app or an
///    extension makes: a key, a part of a collection, a collection, an extension, or everything.
/// 2. No collection has more than `Limits.observedKeyCount` keys or `Limits.observedIntervalCount` intervals: beyond
///    that the collection counts as read as a whole.
final class ReadRecorder {
  private var reads = ReadSet()
  /// Walks that have not ended, or may be gone on with.
  private var walks: [RecordedWalk] = []
  private var treeWalks: [RecordedTreeWalk] = []
  /// How many calls run whose reads are not noted, one inside the other.
  private var suspensionCount = 0

  /// Notes that the row under `key` was looked at, and those halves of it.
  func note(_ key: String, in collection: String, _ halves: RowHalves) {
    change(collection) { reads in
      if let whole = reads.whole, whole.isSuperset(of: halves) { return }
      reads.keys[ByteString(key), default: []].formUnion(halves)
      guard reads.keys.count > Limits.observedKeyCount else { return }
      for halves in reads.keys.values { reads.takeWhole(halves) }
      reads.keys = [:]
    }
  }

  /// Notes that the rows of a whole collection were looked at.
  func noteAll(of collection: String, _ halves: RowHalves) { change(collection) { $0.takeWhole(halves) } }

  /// Notes that the rows between bounds were looked at; without bounds, in a collection that does not exist, that this
  /// is so.
  func note(_ bounds: KeyBounds?, in collection: String, _ halves: RowHalves) {
    guard let bounds else { return noteAll(of: collection, []) }
    note(bounds.interval, in: collection, halves)
  }

  private func note(_ interval: KeyInterval, in collection: String, _ halves: RowHalves) {
    if interval.lower.isEmpty, interval.upper == nil { return noteAll(of: collection, halves) }
    change(collection) { reads in
      reads.intervals[interval, default: []].formUnion(halves)
      guard reads.intervals.count > Limits.observedIntervalCount else { return }
      for halves in reads.intervals.values { reads.takeWhole(halves) }
      reads.intervals = [:]
    }
  }

  /// Begins to note how far a walk through a collection goes.
  func beginWalk(_ bounds: KeyBounds, in collection: String, _ halves: RowHalves, isReversed: Bool) -> RecordedWalk {
    let walk = RecordedWalk(bounds.interval, collection, halves, isReversed: isReversed)
    walks.append(walk)
    if walks.count > Limits.observedIntervalCount { settleWalks() }
    assert(walks.count <= Limits.observedIntervalCount, "more walks are kept than may be")
    return walk
  }

  /// Takes walks for as far as they might still go, so that they need not be kept.
  private func settleWalks() {
    for walk in walks { note(walk.interval, in: walk.collection, walk.halves) }
    walks = []
  }

  /// Notes that the list of collections was read.
  func noteNames() { reads.hasReadNames = true }

  /// Notes that something was read that depends on which rows there are at all.
  func noteAllRows() { reads.hasReadAllRows = true }

  /// Notes that extensions were looked for by their type.
  func noteRegistrations() { reads.hasReadRegistrations = true }

  /// Notes that an extension was asked for, with or without success.
  ///
  /// - Parameter notesParts: whether what is read of its trees is noted by itself.
  func note(extensionNamed name: String, notesParts: Bool = false) {
    let isNew = reads.extensions.insert(ByteString(name)).inserted
    if !notesParts {
      reads.wholeExtensions.insert(ByteString(name))
    } else if isNew {
      reads.parts[ByteString(name)] = .init()
    }
  }

  /// Notes that a part of a tree of an extension was looked at.
  func note(_ interval: ByteInterval, inTree tree: String, of extensionName: String) {
    guard suspensionCount == 0 else { return }
    reads.parts[ByteString(extensionName), default: ExtensionParts()].insert(
      interval, inTree: tree, limit: Limits.observedKeyCount)
  }

  /// Begins to note how far a walk through a tree goes; nil while nothing is noted.
  func beginWalk(inTree tree: String, of extensionName: String) -> RecordedTreeWalk? {
    guard suspensionCount == 0 else { return nil }
    let walk = RecordedTreeWalk(extensionName, tree)
    treeWalks.append(walk)
    assert(treeWalks.count <= Limits.observedKeyCount + 1, "more walks are kept than may be")
    if treeWalks.count > Limits.observedKeyCount {
      // Too many to be told apart.
      for walk in treeWalks { note(ByteInterval(lower: [], upper: nil), inTree: walk.treeName, of: walk.extensionName) }
      treeWalks = []
    }
    return walk
  }

  /// Runs `body` without noting what it reads of trees of extensions and of collections.
  func withoutNoting<Result>(_ body: () throws -> Result) rethrows -> Result {
    suspensionCount += 1
    defer { suspensionCount -= 1 }
    return try body()
  }

  /// Notes that a collection was opened, and that all that was read of it is noted otherwise.
  func noteOpened(_ collection: String) { change(collection) { _ in } }

  /// What was read, all in all.
  ///
  /// - Parameter opened: the collections that the transaction has opened: one of which nothing is noted counts as read
  ///   as a whole.
  func finish(opened: some Sequence<String>) -> ReadSet {
    assert(suspensionCount == 0, "a transaction ends in a call whose reads are not noted")
    for walk in walks where walk.hasBegun { note(walk.reached, in: walk.collection, walk.halves) }
    for name in opened where reads.collections[ByteString(name)] == nil {
      // Of a walk that never took a step nothing was seen.
      if !walks.contains(where: { $0.collection.hasSameBytes(as: name) }) { noteAll(of: name, [.object, .metadata]) }
    }
    walks = []
    for walk in treeWalks {
      if let reached = walk.reached { note(reached, inTree: walk.treeName, of: walk.extensionName) }
    }
    treeWalks = []
    return reads
  }

  private func change(_ collection: String, _ body: (inout CollectionReads) -> Void) {
    var known = reads.collections[ByteString(collection)] ?? CollectionReads()
    if suspensionCount == 0 { body(&known) }
    assert(
      known.keys.count <= Limits.observedKeyCount && known.intervals.count <= Limits.observedIntervalCount,
      "more is kept of a collection than may be")
    reads.collections[ByteString(collection)] = known
  }
}

/// A walk through a part of a collection, and how far it has gone: what lies beyond that was not read.
final class RecordedWalk {
  /// All that the walk may come to see.
  let interval: KeyInterval
  let collection: String
  let halves: RowHalves
  private let isReversed: Bool
  private(set) var hasBegun = false
  private var lastKey: String?
  private var isAtEnd = false

  init(_ interval: KeyInterval, _ collection: String, _ halves: RowHalves, isReversed: Bool) {
    self.interval = interval
    self.collection = collection
    self.halves = halves
    self.isReversed = isReversed
  }

  /// The walk has come to `key`, or to its end.
  func step(to key: String?) {
    hasBegun = true
    if let key { lastKey = key } else { isAtEnd = true }
  }

  /// What it has seen.
  var reached: KeyInterval {
    guard !isAtEnd, let lastKey else { return interval }
    let key = [UInt8](lastKey.utf8)
    if isReversed { return KeyInterval(lower: key, upper: interval.upper) }
    // The key behind the last one is the last one and a zero byte.
    return KeyInterval(lower: interval.lower, upper: key + [0])
  }
}

extension KeyBounds {
  /// The same without the collection's id in front.
  fileprivate var interval: KeyInterval {
    let prefix = lower.prefix(CollectionID.byteCount)
    return KeyInterval(
      lower: Array(lower.dropFirst(CollectionID.byteCount)),
      upper: upper.starts(with: prefix) ? Array(upper.dropFirst(CollectionID.byteCount)) : nil)
  }
}

// MARK: - Where it is called from

extension OpenedCollection {
  /// Notes that the row under `key` was looked at, if the transaction is observed.
  @inline(__always) func noteRead(_ key: String, _ halves: RowHalves) {
    if transaction.recorder != nil { noteObserved(key, halves) }
  }

  @inline(never) private func noteObserved(_ key: String, _ halves: RowHalves) {
    transaction.recorder?.note(key, in: name, halves)
  }

  /// Notes that the rows within bounds were looked at.
  func noteRead(_ bounds: KeyBounds?, _ halves: RowHalves) {
    transaction.recorder?.note(bounds, in: name, halves)
  }
}
