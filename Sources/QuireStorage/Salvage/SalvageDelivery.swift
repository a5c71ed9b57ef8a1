// One tree's entries on their way to those who asked for them: with the log over them, and long values read.

/// Merges the entries of a tree in the data file with what the log says of it.
struct SalvageDelivery {
  private let tree: SalvagedTree
  private let pages: SalvagePages
  private let options: SalvageOptions
  /// What entries of the log are worth.
  private let logStanding: SalvageStanding
  private var overlay: SalvageOverlay
  private let body: (SalvagedEntry) throws -> Void
  private var key: [UInt8] = []
  private var pointKey: [UInt8] = []
  /// Long values that are lost.
  var losses: [SalvageLoss] { list.losses }
  private var list = SalvageLossList()

  init(
    _ tree: SalvagedTree, _ pages: SalvagePages, _ options: SalvageOptions, _ changes: SalvageChanges,
    logStanding: SalvageStanding, _ body: @escaping (SalvagedEntry) throws -> Void
  ) {
    self.tree = tree
    self.pages = pages
    self.options = options
    self.logStanding = logStanding
    self.body = body
    overlay = SalvageOverlay(changes)
  }

  /// Takes an entry of a page; entries come in the order of the keys. Returns whether the key needs no older version.
  ///
  /// - Parameter olderMayFollow: whether the entry is of a lost range, which is told; otherwise nothing else tells of a
  ///   value that cannot be read.
  mutating func take(
    _ page: PageBytes, _ index: Int, _ standing: SalvageStanding, olderMayFollow: Bool
  ) throws -> Bool {
    if standing == .mayBeOld, !options.includesStale { return true }
    let split = page.leafKey(index)
    let count = tree.keyKind == .int64 ? 8 : split.count
    if key.count != count { key = [UInt8](repeating: 0, count: count) }
    key.withUnsafeMutableBytes { buffer in
      guard let base = buffer.baseAddress else { return }
      if tree.keyKind == .int64 {
        base.storeBytes(of: split.integer.bigEndian, as: UInt64.self)
      } else {
        split.copy(skipping: 0, to: base)
      }
    }
    if try passPoints(upTo: key) { return true }
    if key.withUnsafeBytes({ overlay.newestDeletion(of: $0) }) != nil { return true }
    let cell = page.leafCell(index)
    guard cell.isExtent else {
      try deliver(key, UnsafeRawBufferPointer(start: cell.value, count: cell.valueCount), standing)
      return true
    }
    let value: (bytes: UnsafeRawBufferPointer, isProven: Bool)
    do throws(SalvageDefect) { value = try pages.value(cell.extent) } catch {
      guard standing != .mayBeOld || !olderMayFollow else { return false }
      loseValue(cell.extent, error.text)
      return true
    }
    try deliver(key, value.bytes, value.isProven ? standing : .unverified)
    return true
  }

  /// Delivers what the log has behind the last entry.
  mutating func finish() throws { _ = try passPoints(upTo: nil) }

  /// Delivers what the log has below `key`; returns whether it speaks of `key` itself.
  private mutating func passPoints(upTo key: [UInt8]?) throws -> Bool {
    while let point = overlay.nextPoint(&pointKey) {
      let order = key.map { SalvageKey.compare(pointKey, $0) } ?? -1
      if order > 0 { return false }
      overlay.advance()
      let deletion = pointKey.withUnsafeBytes { overlay.newestDeletion(of: $0) }
      if let value = point.value, deletion.map({ $0 < point.order }) ?? true {
        if logStanding == .current || options.includesStale { try deliver(pointKey, value, logStanding) }
      }
      if order == 0 {
        passed = pointKey
        return true
      }
    }
    return key.map { passed == $0 } ?? false
  }

  /// The last key of the log that an entry has met: older versions of the entry may follow.
  private var passed: [UInt8]?

  private func deliver(_ key: [UInt8], _ value: UnsafeRawBufferPointer, _ standing: SalvageStanding) throws {
    try key.withUnsafeBytes { bytes in
      let integer = tree.keyKind == .int64 && bytes.count == 8
      let ordered = integer ? UInt64(bigEndian: bytes.loadUnaligned(as: UInt64.self)) : 0
      try body(
        SalvagedEntry(
          key: bytes, integerKey: integer ? KeyOrder.key(ordered) : nil, value: value, standing: standing))
    }
  }

  private mutating func loseValue(_ extent: ExtentReference, _ reason: String) {
    let upper = SalvageKey.successor(key, tree.keyKind)
    list.add(
      SalvageLoss(
        kind: .value, tree: tree.id, page: extent.first, lower: key, upper: upper, count: 1, reason: reason))
  }
}
