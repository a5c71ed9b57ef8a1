// Taking pages apart and putting them together again: splits, merges and anything else that does not fit in place.

/// A key in two pieces: what a page's prefix holds, and the rest. Integer keys are in `integer` alone.
struct SplitKey {
  var front: UnsafeRawBufferPointer
  var back: UnsafeRawBufferPointer
  var integer: UInt64 = 0

  /// A key that is in one piece.
  init(_ key: SearchKey) {
    front = UnsafeRawBufferPointer(start: nil, count: 0)
    back = UnsafeRawBufferPointer(start: key.base, count: key.count)
    integer = key.integer
  }

  init(front: UnsafeRawBufferPointer, back: UnsafeRawBufferPointer) {
    self.front = front
    self.back = back
  }

  init(integer: UInt64) {
    front = UnsafeRawBufferPointer(start: nil, count: 0)
    back = front
    self.integer = integer
  }

  var count: Int { front.count + back.count }

  @inline(__always) subscript(_ index: Int) -> UInt8 {
    index < front.count ? front[index] : back[index &- front.count]
  }

  /// How many bytes two keys have in common at their start.
  func commonPrefixCount(with other: SplitKey) -> Int {
    let limit = min(count, other.count)
    var index = 0
    while index < limit, self[index] == other[index] { index += 1 }
    return index
  }

  /// Copies all but the first `skipped` bytes to `target`; returns how many.
  @discardableResult
  func copy(skipping skipped: Int, to target: UnsafeMutableRawPointer) -> Int {
    let fromFront = max(0, front.count - skipped)
    if fromFront > 0, let base = front.baseAddress { target.copyMemory(from: base + skipped, byteCount: fromFront) }
    let skippedBack = max(0, skipped - front.count)
    let fromBack = back.count - skippedBack
    if fromBack > 0, let base = back.baseAddress {
      (target + fromFront).copyMemory(from: base + skippedBack, byteCount: fromBack)
    }
    return fromFront + fromBack
  }

  /// The whole key.
  var bytes: [UInt8] {
    [UInt8](unsafeUninitializedCapacity: count) { buffer, used in
      used = count
      if let base = buffer.baseAddress { copy(skipping: 0, to: UnsafeMutableRawPointer(base)) }
    }
  }
}

/// An entry of a leaf, taken out of its page.
struct LeafEntry {
  var key: SplitKey
  var value: CellValue
}

/// A child of a branch, taken out of its page; the separator of a page's first child is not used.
struct BranchEntry {
  var separator: SplitKey
  var reference: UInt64
  var checksum: UInt64
  /// A word of `ChildCount`.
  var count: UInt64
}

/// The shortest key that is above `left` and not above `right`: what a branch stores to divide two pages.
enum Separator {
  static func between(_ left: SplitKey, _ right: SplitKey, keyKind: KeyKind) -> OwnedKey {
    if keyKind == .int64 { return OwnedKey(bytes: [], integer: right.integer) }
    let common = left.commonPrefixCount(with: right)
    return OwnedKey(bytes: [UInt8](right.bytes.prefix(common + 1)), integer: 0)
  }
}

/// A key that owns its bytes.
struct OwnedKey {
  let bytes: [UInt8]
  let integer: UInt64

  /// Calls `body` with the key, borrowed.
  func withSplitKey<Result>(
    _ body: (SplitKey) throws(StorageError) -> Result
  ) throws(StorageError) -> Result {
    if bytes.isEmpty { return try body(SplitKey(integer: integer)) }
    let outcome: Swift.Result<Result, StorageError> = bytes.withUnsafeBytes { buffer in
      var key = SplitKey(front: UnsafeRawBufferPointer(start: nil, count: 0), back: buffer)
      key.integer = integer
      do throws(StorageError) { return .success(try body(key)) } catch { return .failure(error) }
    }
    return try outcome.get()
  }
}

extension PageBytes {
  /// Appends the entries of a leaf to `entries`; they point into the page.
  func appendLeafEntries(to entries: inout [LeafEntry]) {
    let front = UnsafeRawBufferPointer(start: prefix, count: prefixCount)
    for index in 0..<count {
      let cell = leafCell(index)
      let bytes = UnsafeRawBufferPointer(start: cell.value, count: cell.valueCount)
      let key =
        hasIntegerKeys
        ? SplitKey(integer: heads64[index])
        : SplitKey(front: front, back: UnsafeRawBufferPointer(start: cell.key, count: cell.keyCount))
      entries.append(LeafEntry(key: key, value: CellValue(bytes, isExtent: cell.isExtent)))
    }
  }

  /// The key of entry `index` of a leaf.
  func leafKey(_ index: Int) -> SplitKey {
    if hasIntegerKeys { return SplitKey(integer: heads64[index]) }
    let cell = leafCell(index)
    return SplitKey(
      front: UnsafeRawBufferPointer(start: prefix, count: prefixCount),
      back: UnsafeRawBufferPointer(start: cell.key, count: cell.keyCount))
  }

  /// The separator in front of child `index`, which is at least 1.
  func branchKey(_ index: Int) -> SplitKey {
    if hasIntegerKeys { return SplitKey(integer: heads64[index]) }
    return SplitKey(front: UnsafeRawBufferPointer(start: prefix, count: prefixCount), back: separator(index))
  }

  /// Appends the children of a branch to `entries`; the separators point into the page.
  func appendBranchEntries(to entries: inout [BranchEntry]) {
    for index in 0..<count {
      entries.append(
        BranchEntry(
          separator: index == 0 ? SplitKey(integer: 0) : branchKey(index),
          reference: references[index], checksum: checksums[index], count: counts[index]))
    }
  }
}

/// Builds pages from entries.
enum PageEncoder {
  /// The bytes that a leaf with these entries needs.
  static func leafByteCount(_ entries: ArraySlice<LeafEntry>, keyKind: KeyKind) -> Int {
    guard let first = entries.first, let last = entries.last else { return PageLayout.headerByteCount }
    var total = PageLayout.headerByteCount + entries.count * (keyKind == .int64 ? 10 : 6)
    let prefix = keyKind == .int64 || entries.count == 1 ? 0 : first.key.commonPrefixCount(with: last.key)
    for entry in entries { total += PageLayout.leafCellHeader + entry.key.count - prefix + entry.value.count }
    return total + prefix
  }

  /// Fills `page`, whose header has been initialized, with entries that must not lie in it and must fit.
  static func encodeLeaf(_ entries: ArraySlice<LeafEntry>, into page: PageBytes, pageSize: Int) {
    guard let first = entries.first, let last = entries.last else { return }
    let hasIntegerKeys = page.hasIntegerKeys
    // A single entry keeps its key whole: as a prefix it would make the next insert rebuild the page.
    let prefix = hasIntegerKeys || entries.count == 1 ? 0 : first.key.commonPrefixCount(with: last.key)
    var top = pageSize
    top = placePrefix(of: first.key, count: prefix, in: page, top: top)
    page.count = entries.count
    let slots = page.leafSlots
    for (index, entry) in entries.enumerated() {
      let keyCount = hasIntegerKeys ? 0 : entry.key.count - prefix
      top -= PageLayout.leafCellHeader + keyCount + entry.value.count
      let cell = page.base + top
      cell.storeBytes(of: UInt16(keyCount), as: UInt16.self)
      cell.storeBytes(of: entry.value.lengthField, toByteOffset: 2, as: UInt16.self)
      let keyBase = cell + PageLayout.leafCellHeader
      if hasIntegerKeys {
        page.heads64[index] = entry.key.integer
      } else {
        entry.key.copy(skipping: prefix, to: keyBase)
        page.heads32[index] = KeyOrder.head(keyBase, keyCount)
      }
      if let base = entry.value.bytes.baseAddress, entry.value.count > 0 {
        (keyBase + keyCount).copyMemory(from: base, byteCount: entry.value.count)
      }
      slots[index] = UInt16(top)
    }
    page.cellStart = top
    page.garbage = 0
  }

  /// The bytes that a branch with these children needs.
  static func branchByteCount(_ entries: ArraySlice<BranchEntry>, keyKind: KeyKind) -> Int {
    let arrays = PageBytes.branchArraysEnd(count: entries.count, hasIntegerKeys: keyKind == .int64)
    guard keyKind == .bytes, entries.count > 1, let last = entries.last else { return arrays }
    let separators = entries.dropFirst()
    let prefix = branchPrefix(separators, last)
    var total = arrays + prefix
    for entry in separators { total += PageLayout.branchCellHeader + entry.separator.count - prefix }
    return total
  }

  private static func branchPrefix(_ separators: ArraySlice<BranchEntry>, _ last: BranchEntry) -> Int {
    guard separators.count > 1, let first = separators.first else { return 0 }
    return first.separator.commonPrefixCount(with: last.separator)
  }

  /// Fills `page`, whose header has been initialized, with children whose separators must not lie in it.
  static func encodeBranch(_ entries: ArraySlice<BranchEntry>, into page: PageBytes, pageSize: Int) {
    guard let last = entries.last else { return }
    let hasIntegerKeys = page.hasIntegerKeys
    let separators = entries.dropFirst()
    let prefix = hasIntegerKeys ? 0 : branchPrefix(separators, last)
    var top = pageSize
    if let first = separators.first { top = placePrefix(of: first.separator, count: prefix, in: page, top: top) }
    page.count = entries.count
    page.clearHeadPadding()
    let (references, checksums, counts) = (page.references, page.checksums, page.counts)
    for (index, entry) in entries.enumerated() {
      references[index] = entry.reference
      checksums[index] = entry.checksum
      counts[index] = entry.count
      if hasIntegerKeys {
        page.heads64[index] = index == 0 ? 0 : entry.separator.integer
      } else if index == 0 {
        page.heads32[0] = 0
        page.branchSlots[0] = 0
      } else {
        let keyCount = entry.separator.count - prefix
        top -= PageLayout.branchCellHeader + keyCount
        let cell = page.base + top
        cell.storeBytes(of: UInt16(keyCount), as: UInt16.self)
        entry.separator.copy(skipping: prefix, to: cell + PageLayout.branchCellHeader)
        page.heads32[index] = KeyOrder.head(cell + PageLayout.branchCellHeader, keyCount)
        page.branchSlots[index] = UInt16(top)
      }
    }
    page.cellStart = top
    page.garbage = 0
  }

  private static func placePrefix(of key: SplitKey, count: Int, in page: PageBytes, top: Int) -> Int {
    page.prefixCount = count
    page.prefixOffset = 0
    guard count > 0 else { return top }
    let offset = top - count
    for index in 0..<count { page.base.storeBytes(of: key[index], toByteOffset: offset + index, as: UInt8.self) }
    page.prefixOffset = offset
    return offset
  }
}
