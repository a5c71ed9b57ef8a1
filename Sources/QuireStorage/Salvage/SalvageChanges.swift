// What the log says of one tree, laid over the tree's entries in the order of their keys.

internal import HeapModule

/// A put or a delete of one key, in the memory of the log.
struct SalvagePoint {
  /// The key's bytes; none of an integer.
  let key: UnsafeRawBufferPointer
  /// An integer key in its ordered form.
  let integer: UInt64
  /// Nil if the key was deleted.
  let value: UnsafeRawBufferPointer?
  /// Where among all operations it stands.
  let order: Int

  func compare(_ other: SalvagePoint) -> Int {
    integer != other.integer ? (integer < other.integer ? -1 : 1) : SalvageKey.compare(key, other.key)
  }
}

/// The changes of a tree that the log tells of.
struct SalvageChanges {
  /// A deletion of a range; its keys are in the form of `SalvagedEntry.key`.
  fileprivate struct Range: Comparable {
    let lower: [UInt8]
    let upper: [UInt8]?
    let order: Int

    /// No two stand at one place among all operations.
    static func == (left: Range, right: Range) -> Bool { left.order == right.order }
    static func < (left: Range, right: Range) -> Bool { left.order < right.order }
  }

  let keyKind: KeyKind
  fileprivate private(set) var points: [SalvagePoint] = []
  fileprivate private(set) var ranges: [Range] = []

  init(_ keyKind: KeyKind) { self.keyKind = keyKind }

  mutating func put(_ key: LogOperation.SearchKeyBytes, _ value: UnsafeRawBufferPointer?, order: Int) {
    switch key {
    case .bytes(let bytes):
      guard keyKind == .bytes else { return }
      points.append(SalvagePoint(key: bytes, integer: 0, value: value, order: order))
    case .int64(let key):
      guard keyKind == .int64 else { return }
      let none = UnsafeRawBufferPointer(start: nil, count: 0)
      points.append(SalvagePoint(key: none, integer: KeyOrder.ordered(key), value: value, order: order))
    }
  }

  mutating func deleteRange(
    from lower: LogOperation.SearchKeyBytes?, to upper: LogOperation.SearchKeyBytes?, order: Int
  ) {
    ranges.append(Range(lower: lower.map(Self.bytes) ?? [], upper: upper.map(Self.bytes), order: order))
  }

  /// Forgets everything: no entry from before is left.
  mutating func removeAll() {
    points.removeAll(keepingCapacity: true)
    ranges.removeAll(keepingCapacity: true)
  }

  private static func bytes(_ key: LogOperation.SearchKeyBytes) -> [UInt8] {
    switch key {
    case .bytes(let bytes): Array(bytes)
    case .int64(let key): SalvageKey.bytes(ordered: KeyOrder.ordered(key))
    }
  }

  /// Puts everything into the order of the keys; of several operations on one key the last stays.
  mutating func settle() {
    points.sort { left, right in
      let order = left.compare(right)
      return order != 0 ? order < 0 : left.order < right.order
    }
    var kept = 0
    for index in points.indices {
      if index + 1 < points.count, points[index].compare(points[index + 1]) == 0 { continue }
      points[kept] = points[index]
      kept += 1
    }
    points.removeSubrange(kept...)
    assert(zip(points, points.dropFirst()).allSatisfy { $0.compare($1) < 0 }, "a key has two operations")
    ranges.sort { SalvageKey.compare($0.lower, $1.lower) < 0 }
  }
}

/// Goes through the changes of a tree as its keys go by.
struct SalvageOverlay {
  private let changes: SalvageChanges
  private var point = 0
  private var range = 0
  /// The deletions whose lower bound has gone by.
  private var active = HeapModule.Heap<SalvageChanges.Range>()

  /// - Parameter changes: settled.
  init(_ changes: SalvageChanges) { self.changes = changes }

  /// The next key that the log speaks of, in the form of `SalvagedEntry.key`, copied to `buffer`; nil behind the last.
  func nextPoint(_ buffer: inout [UInt8]) -> SalvagePoint? {
    guard point < changes.points.count else { return nil }
    let next = changes.points[point]
    buffer.removeAll(keepingCapacity: true)
    if changes.keyKind == .int64 {
      withUnsafeBytes(of: next.integer.bigEndian) { buffer.append(contentsOf: $0) }
    } else {
      buffer.append(contentsOf: next.key)
    }
    return next
  }

  mutating func advance() { point += 1 }

  /// Where the newest deletion of a range that holds `key` stands among all operations; nil if none does. Keys must
  /// come in their order.
  mutating func newestDeletion(of key: UnsafeRawBufferPointer) -> Int? {
    while range < changes.ranges.count, Self.order(changes.ranges[range].lower, key) <= 0 {
      active.insert(changes.ranges[range])
      range += 1
    }
    while let top = active.max {
      guard let upper = top.upper, Self.order(upper, key) <= 0 else { return top.order }
      active.removeMax()
    }
    return nil
  }

  private static func order(_ bound: [UInt8], _ key: UnsafeRawBufferPointer) -> Int {
    bound.withUnsafeBytes { SalvageKey.compare($0, key) }
  }
}
